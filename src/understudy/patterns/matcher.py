"""A pattern with conditions, run over a text in linear time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import re2

from understudy.patterns.linear import Spans, has, options, spans_of

_MEMORY: Final = 64 << 20
# So many matches that are all excused are no accident, and to weigh each would take long.
MAX_EXCUSED: Final = 2_000
# A match may run over a whole text; the checks on it read this much.
MAX_WEIGHED: Final = 20_000

_BLANKS: Final = b" \t\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternSpec:
    """A pattern with conditions on what matched; all regular expressions are RE2's."""

    regex: str
    # Each must be found in what matched.
    also: Sequence[str] = ()
    # None may be found in what matched.
    unless: Sequence[str] = ()
    # None may be found in the line it begins on.
    unless_line: Sequence[str] = ()
    # Every group must have caught the same text.
    same_groups: bool = False


class Matcher:
    """A pattern with its conditions, compiled once."""

    def __init__(self, pattern: PatternSpec) -> None:
        self._regex = compiled(pattern.regex)
        self._also = tuple(map(compiled, pattern.also))
        self._unless = tuple(map(compiled, pattern.unless))
        self._unless_line = tuple(map(compiled, pattern.unless_line))
        self._same_groups = pattern.same_groups
        self._is_plain = not (self._also or self._unless or self._unless_line or self._same_groups)

    def starts(self, text: bytes) -> Iterator[int]:
        """The start of each match that meets the conditions."""
        for count, spans in enumerate(spans_of(self._regex, text)):
            if self._is_plain or count >= MAX_EXCUSED or self._counts(text, spans):
                yield _said_at(text, *spans[0])

    def _counts(self, text: bytes, spans: Spans) -> bool:
        start, end = spans[0]
        found = text[start : min(end, start + MAX_WEIGHED)]
        return (
            all(has(regex, found) for regex in self._also)
            and not any(has(regex, found) for regex in self._unless)
            and not (self._unless_line and self._is_excused_by_line(text, start))
            and not (self._same_groups and not _are_same(text, spans[1:]))
        )

    def _is_excused_by_line(self, text: bytes, start: int) -> bool:
        low = max(text.rfind(b"\n", 0, start) + 1, start - MAX_WEIGHED)
        high = text.find(b"\n", start, start + MAX_WEIGHED)
        line = text[low : high if high >= 0 else start + MAX_WEIGHED]
        return any(has(regex, line) for regex in self._unless_line)


@cache
def compiled(regex: str) -> Any:
    """A pattern of RE2; letters match in either case unless it says `(?-i)`."""
    return re2.compile(f"(?im:{regex})", options(_MEMORY))


def _said_at(text: bytes, start: int, end: int) -> int:
    """Where the match says something: what comes before a command may be the end of a line."""
    while start < end - 1 and text[start] in _BLANKS:
        start += 1
    return start


def _are_same(text: bytes, groups: Spans) -> bool:
    caught = {text[start:end] for start, end in groups if start >= 0}
    return len(caught) == 1
