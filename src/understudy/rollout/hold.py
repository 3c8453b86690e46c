"""Holding a rollout where it is, and letting it go on."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from understudy.core.errors import coded_error
from understudy.rollout.changes import RolloutChanges
from understudy.rollout.model import Rollout, RolloutEventName
from understudy.rollout.stages import LIVE, Stage

# What can be held: what is on its way.
ON_ITS_WAY: Final = LIVE - {Stage.ACTIVE}
UNSAID: Final = "held by hand"
OVER: Final = "the attempt that the daemon held it for is over"


def hold(changes: RolloutChanges, rollout: Rollout, reason: str | None) -> Rollout:
    """Let a rollout go no further; what somebody holds already stays as it is."""
    if rollout.status not in ON_ITS_WAY:
        raise coded_error(
            "rollout/rollout_not_on_its_way",
            status=str(rollout.status),
            skill_name=rollout.skill_name,
        )
    if rollout.held_reason is not None and rollout.is_held_by_hand:
        return rollout
    # What the daemon holds is taken over: it would go on by itself with the next attempt.
    return _held(changes, rollout, reason or UNSAID, by_hand=True)


def hold_for_review(
    changes: RolloutChanges, rollout: Rollout, reason: str, *, run_ids: Sequence[str]
) -> Rollout:
    """Hold a rollout because of what runs did, and have people look at it.

    One that is active stays in force: that it is held says that somebody is to decide on it.
    """
    if rollout.held_reason is not None:
        return rollout
    held = _held(changes, rollout, reason, by_hand=False)
    changes.ask(held, RolloutEventName.HOLD, reason, run_ids=run_ids)
    return held


def release(changes: RolloutChanges, rollout: Rollout, reason: str | None) -> Rollout:
    """Let a held rollout go on; one that is free stays as it is."""
    if rollout.held_reason is None:
        return rollout
    free = replace(rollout, held_reason=None, is_held_by_hand=False)
    return changes.change(rollout, free, RolloutEventName.RELEASE, reason=reason)


def end_with_attempt(changes: RolloutChanges, rollout: Rollout) -> Rollout:
    """Let go what the daemon held because of an attempt that is over; a person's hold stays."""
    return rollout if rollout.is_held_by_hand else release(changes, rollout, OVER)


def _held(changes: RolloutChanges, rollout: Rollout, reason: str, *, by_hand: bool) -> Rollout:
    held = replace(rollout, held_reason=reason, is_held_by_hand=by_hand)
    return changes.change(rollout, held, RolloutEventName.HOLD, reason=reason)
