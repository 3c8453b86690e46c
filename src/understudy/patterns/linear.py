"""RE2 as we use it: whatever the pattern, a search takes time in proportion to the text."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import re2

_ANYWHERE: Final = re2._Anchor.UNANCHORED  # noqa: SLF001

Span = tuple[int, int]
Spans = Sequence[Span]


def options(max_memory: int) -> Any:
    """Bounded in memory, and silent where that does not suffice."""
    chosen = re2.Options()
    chosen.max_mem = max_memory
    chosen.log_errors = False
    return chosen


def spans_of(pattern: Any, text: bytes) -> Iterator[Spans]:
    """Where the groups of each match stand, one match after the other."""
    # The library's own way through all matches costs more than to search a line.
    match, at, end = pattern._regexp.Match, 0, len(text)  # noqa: SLF001
    while at <= end:
        spans = match(_ANYWHERE, text, at, end)
        if spans[0][0] < 0:
            return
        yield spans
        at = max(spans[0][1], at + 1)


def has(pattern: Any, text: bytes) -> bool:
    """Whether the pattern is anywhere in the text."""
    return bool(pattern._regexp.Match(_ANYWHERE, text, 0, len(text))[0][0] >= 0)  # noqa: SLF001
