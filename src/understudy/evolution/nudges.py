"""When a run is told how much of its budget is used, so that nothing worth keeping is lost."""

from collections.abc import Mapping, Set
from typing import Final, Literal

from understudy.i18n.catalogue import say

Nudge = Literal["70", "90"]

# The tenths of the budget from which each is due; at most one in an iteration, the later one first.
TENTHS: Final[tuple[tuple[Nudge, int], ...]] = (("90", 9), ("70", 7))
_KEYS: Final[Mapping[Nudge, str]] = {"70": "skill.nudge_70_pct", "90": "skill.nudge_90_pct"}


def nudge_due(
    iteration: int, max_iterations: int, *, sent: Set[str], tools_removed: bool
) -> Nudge | None:
    """What to say before this iteration's model call, counted from 1; only in whole numbers.

    Without tools the advice could not be followed, so it is not given.
    """
    if max_iterations <= 0 or tools_removed:
        return None
    for nudge, tenths in TENTHS:
        if nudge in sent:
            # Nor does an earlier one follow a later one.
            return None
        if iteration * 10 >= max_iterations * tenths:
            return nudge
    return None


def nudge_text(nudge: Nudge, locale: str | None) -> str:
    """The words of it; they begin with `[System]` in every language."""
    return say(locale, _KEYS[nudge])
