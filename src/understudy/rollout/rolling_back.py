"""Rolling back: a revoked skill is in force again as it last was, if that is still known."""

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from understudy.learnings.model import Learning
from understudy.rollout import refusals
from understudy.rollout.changes import Changes
from understudy.rollout.lookup import get_or_revoked_remnant
from understudy.rollout.model import EventName, IsTaken, Rollout, Snapshot
from understudy.rollout.sources import unfit
from understudy.rollout.stages import ROLLOUT, Stage
from understudy.rollout.taken import hold_name

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# How many of the times that it was in force are looked at, newest first.
MOST_SNAPSHOTS: Final = 200


def roll_back(
    changes: Changes, skill_name: str, reason: str | None, *, is_taken: IsTaken
) -> Rollout:
    """Put the latest active snapshot in force whose own learning still stands."""
    unit = changes.unit
    found = _require_or_revoked_remnant(unit, skill_name)
    # Names are held before rows everywhere.
    hold_name(unit, skill_name)
    _require_free_to_go_back(found)
    snapshot = _choose(unit, found, now_ms=changes.now_ms)
    # As everywhere the learning is held first, so what was found has to be looked at once more.
    _require_source(unit, snapshot, now_ms=changes.now_ms)
    rollout = _require_or_revoked_remnant(unit, skill_name, lock=True)
    if rollout.revision != found.revision:
        raise refusals.changed_meanwhile(skill_name)
    learning_id = snapshot.record.source_learning_id
    other = unit.rollouts.live_name_of(learning_id)
    if other is not None:
        raise refusals.already_promoted(learning_id, other)
    if unit.rollouts.live_called(skill_name) is not None or is_taken(unit, skill_name):
        raise refusals.name_taken(skill_name)
    ROLLOUT.check(rollout.status, Stage.ACTIVE)
    return changes.change(
        rollout, _restored(changes, rollout, snapshot.record), EventName.ROLLBACK, reason=reason
    )


def _require_or_revoked_remnant(unit: "Unit", skill_name: str, *, lock: bool = False) -> Rollout:
    found = get_or_revoked_remnant(unit, skill_name, lock=lock)
    if found is None:
        raise refusals.no_rollout(skill_name)
    return found


def _require_free_to_go_back(rollout: Rollout) -> None:
    if rollout.is_live:
        raise refusals.rollback_needs_revoked(rollout)
    if rollout.held_reason is not None:
        raise refusals.rollback_is_held(rollout)


def _choose(unit: "Unit", rollout: Rollout, *, now_ms: int) -> Snapshot:
    """The newest snapshot that may be in force again."""
    snapshots = unit.rollouts.active_snapshots(rollout.skill_name, limit=MOST_SNAPSHOTS)
    if not snapshots:
        raise refusals.no_way_back(rollout.skill_name)
    fit = [it for it in snapshots if _is_fit(unit, it.record, now_ms=now_ms)]
    if not fit:
        raise refusals.source_is_gone(rollout.skill_name)
    # What was demoted comes back only where nothing else was ever in force, however long ago.
    demoted = unit.rollouts.demoted(rollout.skill_name)
    return next((it for it in fit if it.record.fingerprint not in demoted), fit[0])


def _is_fit(unit: "Unit", record: Rollout, *, now_ms: int) -> bool:
    return _stands(unit.learnings.get(record.source_learning_id), now_ms=now_ms)


def _require_source(unit: "Unit", snapshot: Snapshot, *, now_ms: int) -> None:
    learning = unit.learnings.get(snapshot.record.source_learning_id, lock=True)
    if not _stands(learning, now_ms=now_ms):
        raise refusals.source_is_gone(snapshot.skill_name)


def _stands(learning: Learning | None, *, now_ms: int) -> bool:
    return learning is not None and not unfit(learning, now_ms=now_ms)


def _restored(changes: Changes, rollout: Rollout, record: Rollout) -> Rollout:
    """A rollout that is as it was, with the evidence it had then."""
    return replace(
        rollout,
        status=Stage.ACTIVE,
        source_learning_id=record.source_learning_id,
        source_scope=record.source_scope,
        definition=record.definition,
        digest=changes.mounts.digest(record.definition),
        attempt=record.attempt,
        attempt_began_at_ms=record.attempt_began_at_ms,
        promoted_at_ms=record.promoted_at_ms,
        promoted_by=record.promoted_by,
        revoked_at_ms=None,
        revoked_reason=None,
        is_demoted=False,
    )
