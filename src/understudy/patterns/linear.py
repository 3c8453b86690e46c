"""RE2 searches: linear time in the length of the text, whatever the pattern."""

from collections.abc import Iterator, Sequence
from typing import Any

import re2

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
    groups = range(pattern.groups + 1)
    for match in pattern.finditer(text):
        yield [match.span(group) for group in groups]


def has(pattern: Any, text: bytes) -> bool:
    """Whether a pattern matches anywhere in a text."""
    return pattern.search(text) is not None
