"""Roll back an active or revoked skill to an earlier active version whose source learning is valid."""

import re
from collections.abc import Sequence
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
# How many versions a refusal names.
LISTED: Final = 20
# The stages that can be rolled back from.
FROM: Final = frozenset({Stage.ACTIVE, Stage.REVOKED})
# A revision number, within the integer range of both databases.
NUMBER: Final = re.compile(r"[0-9]{1,9}")


def roll_back(
    changes: RolloutChanges,
    skill_name: str,
    reason: str | None,
    *,
    to_version: str | None = None,
    is_taken: IsTaken,
) -> Rollout:
    """Activate an earlier active version; an active skill is revoked first, in the same unit."""
    unit = changes.unit
    # Lock order: names before rows.
    hold_name(unit, skill_name)
    # Lock order: the learning before its rollout, so the rollout is read again after that.
    found, snapshot = target_of(unit, skill_name, to_version, now_ms=changes.now_ms, lock=True)
    rollout = _require_or_revoked_remnant(unit, skill_name, lock=True)
    if rollout.revision != found.revision:
        raise coded_error("rollout/rollout_changed_meanwhile", skill_name=skill_name)
    rollout = changes.revoke(rollout, reason)
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


def target_of(
    unit: "Unit", skill_name: str, to_version: str | None, *, now_ms: int, lock: bool = False
) -> tuple[Rollout, Snapshot]:
    """The rollout, and the version that a rollback would activate; `lock` locks its learning."""
    found = _require_or_revoked_remnant(unit, skill_name)
    _require_free_to_go_back(found)
    snapshot = _choose(unit, found, to_version, now_ms=now_ms)
    _require_source(unit, snapshot, to_version, now_ms=now_ms, lock=lock)
    return found, snapshot


def _require_or_revoked_remnant(unit: "Unit", skill_name: str, *, lock: bool = False) -> Rollout:
    found = get_or_revoked_remnant(unit, skill_name, lock=lock)
    if found is None:
        raise coded_error("rollout/rollout_not_found", skill_name=skill_name)
    return found


def _require_free_to_go_back(rollout: Rollout) -> None:
    if rollout.status not in FROM:
        raise coded_error(
            "rollout/rollback_refused",
            status=str(rollout.status),
            skill_name=rollout.skill_name,
        )
    if rollout.held_reason is not None and not rollout.is_live:
        raise coded_error(
            "rollout/rollback_refused:held",
            status=str(rollout.status),
            skill_name=rollout.skill_name,
        )


def _choose(unit: "Unit", rollout: Rollout, to_version: str | None, *, now_ms: int) -> Snapshot:
    """The named version, or else the newest one that may be activated again."""
    name = rollout.skill_name
    snapshots = unit.rollouts.active_snapshots(name, limit=MOST_SNAPSHOTS)
    if not snapshots and not rollout.is_live:
        raise coded_error("rollout/no_rollback_snapshot", skill_name=name)
    if to_version is not None:
        return _named(unit, rollout, to_version, snapshots)
    earlier = [it for it in snapshots if not rollout.is_live or it.record.attempt < rollout.attempt]
    sources = ((it, unit.learnings.get(it.record.source_learning_id)) for it in earlier)
    fit = [it for it, learning in sources if _is_valid_source(learning, now_ms=now_ms)]
    demoted = unit.rollouts.demoted(name)
    better = [it for it in fit if it.record.fingerprint not in demoted]
    if better:
        return better[0]
    if rollout.is_live:
        versions = _listed(snapshots)
        raise coded_error(
            "rollout/no_rollback_snapshot:earlier", skill_name=name, versions=versions
        )
    if not fit:
        raise coded_error("rollout/rollback_refused:source_gone", skill_name=name)
    # A demoted definition comes back only if no other was ever active.
    return fit[0]


def _named(unit: "Unit", rollout: Rollout, wanted: str, snapshots: Sequence[Snapshot]) -> Snapshot:
    """The active version with this number in the history, else the newest with this label, else the
    one at this place: 1 is the first that was ever active."""
    name = rollout.skill_name
    number = int(wanted) if NUMBER.fullmatch(wanted) else 0
    at = unit.rollouts.snapshot(name, number)
    if at is None or at.record.status is not Stage.ACTIVE:
        at = next((it for it in snapshots if it.record.definition.version == wanted), None)
    places = sorted(snapshots, key=lambda it: it.record.attempt)
    # An active version that nothing happened to yet has no snapshot, and is the newest.
    own = {str(rollout.revision), rollout.definition.version, str(len(places) + 1)}
    if at is None and wanted not in own and 0 < number <= len(places):
        at = places[number - 1]
    is_current = wanted in own if at is None else at.record.tried == rollout.tried
    if rollout.is_live and is_current:
        raise coded_error(
            "rollout/rollback_refused:current",
            status=str(rollout.status),
            skill_name=name,
            version=wanted,
        )
    if at is None:
        versions = _listed(snapshots)
        raise coded_error(
            "rollout/rollback_version_not_found",
            skill_name=name,
            version=wanted,
            versions=versions,
        )
    return at


def _listed(snapshots: Sequence[Snapshot]) -> str:
    """The versions that a rollback can name, newest first."""
    labels = ((it.number, it.record.definition.version) for it in snapshots[:LISTED])
    return ", ".join(f"{no} ({label})" if label else str(no) for no, label in labels) or "-"


def _require_source(
    unit: "Unit", snapshot: Snapshot, to_version: str | None, *, now_ms: int, lock: bool
) -> None:
    learning = unit.learnings.get(snapshot.record.source_learning_id, lock=lock)
    if _is_valid_source(learning, now_ms=now_ms):
        return
    name = snapshot.skill_name
    if to_version is None:
        raise coded_error("rollout/rollback_refused:source_gone", skill_name=name)
    raise coded_error(
        "rollout/rollback_refused:version_source_gone",
        skill_name=name,
        version=to_version,
        learning_id=snapshot.record.source_learning_id,
    )


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
