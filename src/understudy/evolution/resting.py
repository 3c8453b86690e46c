"""What was suggested and is not said again yet."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from understudy.evolution.suggestions import SuggestionState
from understudy.evolution.usage_rules import WINDOW_MS, group_of, same_subject

# After somebody has decided, the same is not said again for so long.
COOLDOWN_MS: Final = WINDOW_MS


class Resting:
    """Finds out whether something waits for a decision, or had one not long ago."""

    def __init__(self, made: Iterable[SuggestionState], *, now_ms: int) -> None:
        self._subjects: dict[tuple[str, str], list[str]] = defaultdict(list)
        for each in made:
            if _rests(each, now_ms=now_ms):
                self._subjects[each.rule, group_of(each.rule, each.subject)].append(each.subject)

    def has(self, rule: str, subject: str) -> bool:
        """Whether the same is not to be said again."""
        near = self._subjects.get((rule, group_of(rule, subject)), ())
        return any(same_subject(rule, subject, each) for each in near)


def _rests(made: SuggestionState, *, now_ms: int) -> bool:
    return made.is_open or (made.decided_at_ms or made.at_ms) + COOLDOWN_MS > now_ms
