"""Tokens that a prefix gives away: those of known vendors, and of vendors that nobody listed."""

import re
from collections.abc import Iterable
from typing import Final

from understudy.patterns.linear import Span
from understudy.patterns.search import PatternMatch
from understudy.redaction.opaque import (
    WORDS,
    is_made_up,
    is_opaque_enough,
    is_placeholder,
    looks_random,
)

_ELLIPSIS: Final = re.compile(r"\.\.\.|…|\*\*\*")
# One word alone is nobody's blank to fill in: `sk-proj-abc` is a poor key, and yet one.
_WORDS_ONLY: Final = re.compile(r"[a-z]+(?:[_-][a-z]+)+|[A-Z]{1,12}(?:[_-][A-Z]+)*")


def is_real(body: str) -> bool:
    """Whether a body behind a telling prefix is a value and not a word or a blank to fill in."""
    if is_placeholder(body) or not body.strip("_-."):
        return False
    if len(body) < 24 and is_made_up(body):
        return False
    return _WORDS_ONLY.fullmatch(body) is None or len(body) > 40


def vendor_token(match: PatternMatch) -> Iterable[Span]:
    """A token behind a prefix that is nothing but a vendor's."""
    # `sk-ant-api03-...` shows how a key begins and holds none.
    if len(match["body"]) < 8 and _ELLIPSIS.match(match.string, match.span()[1]):
        return ()
    return (match.span("secret"),) if is_real(match["body"]) else ()


def random_token(match: PatternMatch) -> Iterable[Span]:
    """A token behind a prefix that ordinary words have too: its body must look random."""
    body = match["body"]
    return (match.span("secret"),) if is_real(body) and looks_random(body) else ()


def vendor_token_or_example(match: PatternMatch) -> Iterable[Span]:
    """A token, be it an example: `AKIA…EXAMPLE` may be real, and need not be kept."""
    body = match["body"]
    return (match.span("secret"),) if len(body) >= 16 and is_opaque_enough(body) else ()


def random_token_or_example(match: PatternMatch) -> Iterable[Span]:
    """The same behind a prefix that ordinary words have too."""
    return vendor_token_or_example(match) if any(map(str.isdigit, match["body"])) else ()


def prefixed_token(match: PatternMatch) -> Iterable[Span]:
    """A short prefix and a body drawn by lot, as vendors have made them for years."""
    parts = match["prefix"].lower().replace("-", "_").strip("_").split("_")
    body = match["body"]
    if (
        parts[0] in WORDS.set("object_prefixes")
        or not is_real(body)
        or not looks_random(body, least=len(body) * 4 // 5)
    ):
        return ()
    # Many services begin the ids of their objects so.
    if body.startswith("01") and WORDS.set("secret_parts").isdisjoint(parts):
        return ()
    has_cases = body != body.lower() and body != body.upper()
    figures = sum(character.isdigit() for character in body)
    is_named = not WORDS.set("secret_parts").isdisjoint(parts)
    if not figures or not (has_cases or (is_named and len(body) >= 32)):
        return ()
    return (match.span("secret"),) if is_named or len(body) >= 24 else ()
