"""What a user's own message means for an offer: yes, no, their own wish for a skill, or nothing."""

from enum import StrEnum
from typing import Final

from understudy.evolution.answers import is_accepting, is_declining
from understudy.evolution.requests.skill_requests import asks_for_skill

# Nobody answers at such length; what is longer agrees to nothing.
MAX_CHARS: Final = 20_000


class Consent(StrEnum):
    """What a message says about making a skill."""

    ACCEPT = "accept"
    DECLINE = "decline"
    REQUEST = "request"


# In this order: the first that applies is what it means.
READINGS: Final = (
    (Consent.ACCEPT, is_accepting),
    (Consent.DECLINE, is_declining),
    (Consent.REQUEST, asks_for_skill),
)


def reads_as(text: str) -> Consent | None:
    """How a message reads, in any language that we speak; None where it leaves a doubt."""
    if len(text) > MAX_CHARS:
        return None
    return next((meaning for meaning, applies in READINGS if applies(text)), None)
