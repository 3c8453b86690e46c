"""Patterns with `*` (any text) and `?` (one character); nothing else is special."""

import re
from functools import lru_cache
from typing import Final

WILDCARDS: Final = "*?"


def matches(pattern: str, text: str) -> bool:
    """Whether the whole text fits the pattern, in time linear in the text."""
    first, *pieces = pattern.split("*")
    if not pieces:
        return len(text) == len(first) and _find(first, text, 0, len(text)) == 0
    last = pieces.pop()
    position, end = len(first), len(text) - len(last)
    if position > end or _find(first, text, 0, position) or _find(last, text, end, len(text)) < 0:
        return False
    # The leftmost match of each piece leaves the most room for the next, so no backtracking is
    # needed.
    for piece in pieces:
        found = _find(piece, text, position, end)
        if found < 0:
            return False
        position = found + len(piece)
    return True


def literal_prefix(pattern: str) -> str:
    """The literal prefix of a pattern, before its first wildcard."""
    return pattern[: next((i for i, char in enumerate(pattern) if char in WILDCARDS), None)]


def literal_length(pattern: str) -> int:
    """The number of literal characters in a pattern."""
    return sum(char not in WILDCARDS for char in pattern)


def _find(piece: str, text: str, start: int, end: int) -> int:
    if "?" not in piece:
        return text.find(piece, start, end)
    found = _compiled(piece).search(text, start, end)
    return found.start() if found else -1


@lru_cache(maxsize=1024)
def _compiled(piece: str) -> re.Pattern[str]:
    spelled = ("." if char == "?" else re.escape(char) for char in piece)
    return re.compile("".join(spelled), re.DOTALL)
