"""Tokens of vendors that nobody listed: a short prefix and a long body drawn by lot."""

from collections.abc import Iterable
from typing import Final

from understudy.redaction import words
from understudy.redaction.families import is_real
from understudy.redaction.opaque import looks_random
from understudy.redaction.rule import Match, Rule, Span

_MIX: Final = "a1B2c3D4" * 4
_LOW: Final = "a1b2c3d4" * 8


def _structural(match: Match) -> Iterable[Span]:
    """A short prefix and a body drawn by lot, as vendors have made them for years."""
    parts = match["prefix"].lower().replace("-", "_").strip("_").split("_")
    body = match["body"]
    if (
        parts[0] in words.OBJECT_PREFIXES
        or not is_real(body)
        or not looks_random(body, least=len(body) * 4 // 5)
    ):
        return ()
    # Many services begin the ids of their objects so.
    if body.startswith("01") and words.SECRET_PARTS.isdisjoint(parts):
        return ()
    has_cases = body != body.lower() and body != body.upper()
    figures = sum(character.isdigit() for character in body)
    is_named = not words.SECRET_PARTS.isdisjoint(parts)
    if not figures or not (has_cases or (is_named and len(body) >= 32)):
        return ()
    return (match.span("secret"),) if is_named or len(body) >= 24 else ()


PREFIXED: Final = (
    Rule(
        id="prefixed-token",
        kind="api-key",
        trigger=r"[a-z0-9][_-][A-Za-z0-9]{20}",
        pattern=r"\b(?P<secret>(?P<prefix>[a-z][a-z0-9]{1,11}(?:[_-][a-z0-9]{2,8}){0,2}[_-])(?P<body>[A-Za-z0-9]{20,}))\b",
        pick=_structural,
        matches=("acme" + "_" + _MIX[:28], "signkey" + "-prod-" + _LOW, "acme" + "_live_" + _MIX[:22]),
        misses=(
            "msg" + "_" + _MIX[:24],
            "sha256-" + _LOW,
            "app-" + _LOW[:40],
            "my_" + "VeryLongClassNameWithManyWords",
            "test_" + "thisIsOneLongTestName2026Again",
        ),
    ),
)  # fmt: skip
