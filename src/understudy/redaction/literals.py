"""Values that the operator or the credential store named, however they are written in a text."""

import base64
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from understudy.redaction.rule import Span

# Shorter ones would take ordinary words out of every text.
MIN_LITERAL_CHARS: Final = 4
# A shorter one could stand in the Base64 of anything.
_MIN_ENCODED_CHARS: Final = 6
_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")


def known_literals(literals: Iterable[str]) -> tuple[str, ...]:
    """The values worth looking for."""
    return tuple(sorted({value for value in literals if len(value) >= MIN_LITERAL_CHARS}))


def find_literals(text: str, literals: tuple[str, ...]) -> Iterator[Span]:
    """Where the values stand, plain or in Base64."""
    for literal in literals:
        at = text.find(literal)
        while at >= 0:
            yield at, at + len(literal)
            at = text.find(literal, at + len(literal))
        for encoded in _encoded(literal):
            yield from _runs_with(text, encoded)


def _runs_with(text: str, encoded: str) -> Iterator[Span]:
    at = text.find(encoded)
    while at >= 0:
        low = at
        while low > 0 and at - low < 4_096 and _RUN.fullmatch(text[low - 1]):
            low -= 1
        run = _RUN.match(text, at)
        end = run.end() if run else at + len(encoded)
        yield low, end
        at = text.find(encoded, end)


@lru_cache(maxsize=256)
def _encoded(literal: str) -> frozenset[str]:
    """What its bytes always become in Base64, by how many bytes stand before them."""
    plain = literal.encode("utf-8", "replace")
    if len(plain) < _MIN_ENCODED_CHARS:
        return frozenset()
    found = set()
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + plain).decode().rstrip("=")
        first = -(-before * 8 // 6)
        last = (before + len(plain)) * 8 // 6
        found |= {whole[first:last], whole[first:last].replace("+", "-").replace("/", "_")}
    return frozenset(found)
