"""RE2 searches: linear time in the length of the text, whatever the pattern."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import re2

_ANYWHERE: Final = re2._Anchor.UNANCHORED  # noqa: SLF001

Span = tuple[int, int]
Spans = Sequence[Span]


def options(max_memory: int) -> Any:
    """RE2 options with a memory limit and without error logging."""
    chosen = re2.Options()
    chosen.max_mem = max_memory
    chosen.log_errors = False
    return chosen


def spans_of(pattern: Any, text: bytes) -> Iterator[Spans]:
    """The spans of the groups of each match, in order."""
    # The library's own `finditer` costs more than searching a line.
    match, at, end = pattern._regexp.Match, 0, len(text)  # noqa: SLF001
    while at <= end:
        spans = match(_ANYWHERE, text, at, end)
        if spans[0][0] < 0:
            return
        yield spans
        at = max(spans[0][1], at + 1)


def has(pattern: Any, text: bytes) -> bool:
    """Whether a pattern matches anywhere in a text."""
    return bool(pattern._regexp.Match(_ANYWHERE, text, 0, len(text))[0][0] >= 0)  # noqa: SLF001
