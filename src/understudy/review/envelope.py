"""How far a judge may go from what the policy said: towards caution, and never beyond it."""

from collections.abc import Mapping
from typing import Final

from understudy.learnings.model import Action

# What a judge may answer, by what the policy said; where it said manual_review, nobody is asked.
ALLOWED: Final[Mapping[Action, tuple[Action, ...]]] = {
    Action.MANUAL_REVIEW: (Action.MANUAL_REVIEW,),
    Action.REJECT: (Action.REJECT, Action.MANUAL_REVIEW),
    Action.PUBLISH_PROVISIONAL: (
        Action.REJECT,
        Action.MANUAL_REVIEW,
        Action.PUBLISH_PROVISIONAL,
    ),
    Action.PUBLISH_ACTIVE: (
        Action.REJECT,
        Action.MANUAL_REVIEW,
        Action.PUBLISH_PROVISIONAL,
        Action.PUBLISH_ACTIVE,
    ),
}

# What an answer beyond that counts as, by what the policy said.
BEYOND: Final[Mapping[Action, Action]] = {
    Action.MANUAL_REVIEW: Action.MANUAL_REVIEW,
    Action.REJECT: Action.MANUAL_REVIEW,
    Action.PUBLISH_PROVISIONAL: Action.PUBLISH_PROVISIONAL,
    Action.PUBLISH_ACTIVE: Action.MANUAL_REVIEW,
}


def clamp(baseline: Action, said: Action) -> Action:
    """What a judge's answer comes to."""
    return said if said in ALLOWED[baseline] else BEYOND[baseline]
