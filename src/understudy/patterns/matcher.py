"""A pattern with conditions, run over a text in linear time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import re2

from understudy.patterns.linear import Spans, has, options, spans_of

_MEMORY: Final = 64 << 20
# So many excused matches are deliberate, and checking each takes long: later ones count.
MAX_EXCUSED: Final = 2_000
# A match may span a whole text; its conditions are checked on this many bytes.
MAX_WEIGHED: Final = 20_000

_BLANKS: Final = b" \t\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternSpec:
    """An RE2 pattern with conditions on its match."""

    regex: str
    # Each must match within the match.
    also: Sequence[str] = ()
    # None may match within the match.
    unless: Sequence[str] = ()
    # None may match on the line where the match begins.
    unless_line: Sequence[str] = ()
    # Every group must have the same text.
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
    """A compiled RE2 pattern; case-insensitive unless it contains `(?-i)`."""
    return re2.compile(f"(?im:{regex})", options(_MEMORY))


def _said_at(text: bytes, start: int, end: int) -> int:
    """The first non-blank offset of a match: it may begin with the end of the previous line."""
    while start < end - 1 and text[start] in _BLANKS:
        start += 1
    return start


def _are_same(text: bytes, groups: Spans) -> bool:
    caught = {text[start:end] for start, end in groups if start >= 0}
    return len(caught) == 1
