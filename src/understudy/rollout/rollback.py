"""Roll back a revoked skill to the newest active snapshot whose source learning is still valid."""

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from understudy.core.errors import coded_error
from understudy.learnings.model import Learning
from understudy.rollout.changes import RolloutChanges
from understudy.rollout.model import (
    ROLLOUT,
    IsTaken,
    Rollout,
    RolloutEventName,
    Snapshot,
    Stage,
    get_or_revoked_remnant,
)
from understudy.rollout.name_clashes import hold_name
from understudy.rollout.promotion import source_blockers

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# How many active snapshots a rollback considers, newest first.
MOST_SNAPSHOTS: Final = 200


def roll_back(
    changes: RolloutChanges, skill_name: str, reason: str | None, *, is_taken: IsTaken
) -> Rollout:
    """Activate the latest active snapshot whose source learning is still valid."""
    unit = changes.unit
    found = _require_or_revoked_remnant(unit, skill_name)
    # Lock order: names before rows.
    hold_name(unit, skill_name)
    _require_free_to_go_back(found)
    snapshot = _choose(unit, found, now_ms=changes.now_ms)
    # Lock order: the learning before its rollout, so the rollout is read again after that.
    _require_source(unit, snapshot, now_ms=changes.now_ms)
    rollout = _require_or_revoked_remnant(unit, skill_name, lock=True)
    if rollout.revision != found.revision:
        raise coded_error("rollout/rollout_changed_meanwhile", skill_name=skill_name)
    learning_id = snapshot.record.source_learning_id
    other = unit.rollouts.live_name_of(learning_id)
    if other is not None:
        raise coded_error("rollout/already_promoted", skill_name=other, learning_id=learning_id)
    if unit.rollouts.live_called(skill_name) is not None or is_taken(unit, skill_name):
        raise coded_error("rollout/skill_already_exists", skill_name=skill_name)
    ROLLOUT.check(rollout.status, Stage.ACTIVE)
    return changes.change(
        rollout,
        _restored(changes, rollout, snapshot.record),
        RolloutEventName.ROLLBACK,
        reason=reason,
    )


def _require_or_revoked_remnant(unit: "Unit", skill_name: str, *, lock: bool = False) -> Rollout:
    found = get_or_revoked_remnant(unit, skill_name, lock=lock)
    if found is None:
        raise coded_error("rollout/rollout_not_found", skill_name=skill_name)
    return found


def _require_free_to_go_back(rollout: Rollout) -> None:
    if rollout.is_live:
        raise coded_error(
            "rollout/rollback_refused",
            status=str(rollout.status),
            skill_name=rollout.skill_name,
        )
    if rollout.held_reason is not None:
        raise coded_error(
            "rollout/rollback_refused:held",
            status=str(rollout.status),
            skill_name=rollout.skill_name,
        )


def _choose(unit: "Unit", rollout: Rollout, *, now_ms: int) -> Snapshot:
    """The newest snapshot that may be activated again."""
    snapshots = unit.rollouts.active_snapshots(rollout.skill_name, limit=MOST_SNAPSHOTS)
    if not snapshots:
        raise coded_error("rollout/no_rollback_snapshot", skill_name=rollout.skill_name)
    sources = ((it, unit.learnings.get(it.record.source_learning_id)) for it in snapshots)
    fit = [it for it, learning in sources if _is_valid_source(learning, now_ms=now_ms)]
    if not fit:
        raise coded_error("rollout/rollback_refused:source_gone", skill_name=rollout.skill_name)
    # A demoted definition comes back only if no other was ever active.
    demoted = unit.rollouts.demoted(rollout.skill_name)
    return next((it for it in fit if it.record.fingerprint not in demoted), fit[0])


def _require_source(unit: "Unit", snapshot: Snapshot, *, now_ms: int) -> None:
    learning = unit.learnings.get(snapshot.record.source_learning_id, lock=True)
    if not _is_valid_source(learning, now_ms=now_ms):
        raise coded_error("rollout/rollback_refused:source_gone", skill_name=snapshot.skill_name)


def _is_valid_source(learning: Learning | None, *, now_ms: int) -> bool:
    return learning is not None and not source_blockers(learning, now_ms=now_ms)


def _restored(changes: RolloutChanges, rollout: Rollout, record: Rollout) -> Rollout:
    """The rollout as it was in a snapshot, with the attempt and evidence of that time."""
    return replace(
        rollout,
        status=Stage.ACTIVE,
        source_learning_id=record.source_learning_id,
        source_scope=record.source_scope,
        definition=record.definition,
        digest=changes.transactions.mounts.digest(record.definition),
        attempt=record.attempt,
        attempt_began_at_ms=record.attempt_began_at_ms,
        promoted_at_ms=record.promoted_at_ms,
        promoted_by=record.promoted_by,
        revoked_at_ms=None,
        revoked_reason=None,
        is_demoted=False,
    )
