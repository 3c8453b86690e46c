"""Taking a skill back: by a person, with its learning, or because it does worse than it did."""

from collections.abc import Sequence
from dataclasses import replace

from understudy.rollout.changes import Changes
from understudy.rollout.holding import end_with_attempt
from understudy.rollout.model import EventName, Rollout
from understudy.rollout.stages import ROLLOUT, Stage


def revoke(changes: Changes, rollout: Rollout, reason: str | None) -> Rollout:
    """Take a rollout back; one that is revoked already stays as it was."""
    if not rollout.is_live:
        return rollout
    free = end_with_attempt(changes, rollout)
    return changes.change(free, _ended(changes, free, reason), EventName.REVOKE, reason=reason)


def demote(
    changes: Changes, rollout: Rollout, reason: str, *, run_ids: Sequence[str] = ()
) -> Rollout:
    """Take an active skill back because it does worse than its baseline, and tell people so."""
    if rollout.status is not Stage.ACTIVE:
        return rollout
    free = end_with_attempt(changes, rollout)
    demoted = replace(_ended(changes, free, reason), is_demoted=True)
    demoted = changes.change(free, demoted, EventName.DEMOTE, reason=reason)
    changes.ask(demoted, EventName.DEMOTE, reason, run_ids=run_ids)
    return demoted


def _ended(changes: Changes, rollout: Rollout, reason: str | None) -> Rollout:
    ROLLOUT.check(rollout.status, Stage.REVOKED)
    return replace(
        rollout,
        status=Stage.REVOKED,
        revoked_at_ms=changes.now_ms,
        revoked_reason=reason,
    )
