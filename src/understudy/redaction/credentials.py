"""Credentials on command lines, in headers and in links."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from understudy.patterns.linear import Span
from understudy.patterns.search import PatternMatch
from understudy.redaction.opaque import (
    WORDS,
    is_harmless_shape,
    is_made_up,
    is_placeholder,
    is_value,
    key_grade,
    looks_random,
    name_words,
)
from understudy.redaction.values import is_said_password

# The name of a kind of resource, as in `AWS::Config::AggregationAuthorization`.
_KIND_NAME: Final = re.compile(r"::\w*\Z")
_COOKIE: Final = re.compile(r"([\w!#$%&*+.^|~-]{1,128})=([^;,\s\"']{1,4096})")
_PORT: Final = re.compile(r"[0-9]{2,5}(?:[/?#]|\Z)")
_CLOSES: Final = {")": "(", "]": "[", "}": "{"}
# Where the text around a URL goes on.
_AROUND_ADDRESS: Final = re.compile(
    r"'(?:\W|\Z)|[\])}][,.;:)\]}]|,(?:https?:|[\"'\[{]|\Z)|[\u3400-\u9fff\u3000-\u303f\uff00-\uffef]"
)


def _groups(match: PatternMatch) -> Iterator[tuple[str, Span]]:
    """The named groups that took part."""
    for name in match.names:
        span = match.span(name)
        if span[0] >= 0:
            yield name, span


def named_groups(match: PatternMatch) -> Iterable[Span]:
    """Every named group that took part."""
    return tuple(span for _, span in _groups(match))


def is_more_than_a_word(value: str) -> bool:
    """Whether something real stands there that is neither a plain word nor of a public shape."""
    return (
        is_value(value)
        and not is_harmless_shape(value)
        and (not value.isalpha() or looks_random(value))
    )


def values_of_groups(match: PatternMatch) -> Iterable[Span]:
    """The named groups that hold more than a word."""
    return tuple(
        span for _, span in _groups(match) if is_more_than_a_word(match.string[slice(*span)])
    )


def user_and_password(match: PatternMatch) -> Iterable[Span]:
    """The password beside the name of a user."""
    for name, (start, end) in _groups(match):
        value = match.string[start:end].rstrip(".,;:)")
        is_one = (
            is_said_password(value, is_next=True, is_password=True)
            if name == "said"
            else is_more_than_a_word(value)
        )
        if is_one:
            yield start, start + len(value)


def spaced_secret(match: PatternMatch) -> Iterable[Span]:
    """Words or groups with blanks between them; a sentence has words that no passphrase has."""
    for name, (start, end) in _groups(match):
        parts = match.string[start:end].lower().split()
        if name == "seed" or not WORDS.set("sentence_words") & set(parts):
            yield start, end


def has_figures(value: str) -> bool:
    """Whether at least one character is a digit."""
    return any(character.isdigit() for character in value)


def seed_phrase(match: PatternMatch) -> Iterable[Span]:
    """As many words as the recovery phrase of a wallet has."""
    count = len(match["secret"].split())
    return (match.span("secret"),) if count in {12, 15, 18, 21, 24} else ()


def bearer_token(match: PatternMatch) -> Iterable[Span]:
    """Prose says "bearer tokens" and "the bearer of": a credential has more than letters."""
    value = match["secret"].rstrip(".,;:")
    start, end = match.span("secret")
    if is_made_up(value) or match.string.startswith("(", end):
        return ()
    if value.isalpha() and not looks_random(value):
        return ()
    return ((start, start + len(value)),)


def authorization_header(match: PatternMatch) -> Iterable[Span]:
    """The credential of an authorization header; without a scheme it must look random."""
    value = match["secret"].rstrip(".,;:")
    start, _ = match.span("secret")
    if not is_value(value) or (not match["scheme"] and not looks_random(value, least=6)):
        return ()
    if _KIND_NAME.search(match.string, max(0, match.span()[0] - 60), match.span()[0]):
        return ()
    return ((start, start + len(value)),)


def cookies(match: PatternMatch) -> Iterable[Span]:
    """The values of session cookies, and others that look random."""
    start, end = match.span("pairs")
    for pair in _COOKIE.finditer(match.string, start, end):
        value = pair[2]
        is_session = key_grade(pair[1]) > 0 and len(value) >= 6 and not value.isalpha()
        if (is_session or looks_random(value)) and is_value(value):
            yield pair.span(2)


def url_password(match: PatternMatch) -> Iterable[Span]:
    """The password before the host of a URL; a port is none."""
    value = match["secret"]
    if is_placeholder(value) or _PORT.match(value) or value.lower() in {"pass", "pw"}:
        return ()
    return (match.span("secret"),)


def query_parameter(match: PatternMatch) -> Iterable[Span]:
    """The value of a query parameter whose name announces a secret."""
    key, value = match["key"], _of_address(match["secret"])
    start, _ = match.span("secret")
    span = start, start + len(value)
    if is_placeholder(value) or is_made_up(value):
        return ()
    compact = "".join(name_words(key))
    grade = key_grade(key)
    if grade == 2 or compact in WORDS.set("sure_query_keys"):
        return (span,)
    if grade or compact in WORDS.set("query_keys"):
        return (span,) if looks_random(value) else ()
    return ()


def _of_address(value: str) -> str:
    """A parameter without the text around its address: what closes something, and marks."""
    ends = _AROUND_ADDRESS.search(value)
    value = (value[: ends.start()] if ends else value).rstrip(".,:!?")
    while (
        value and value[-1] in _CLOSES and value.count(_CLOSES[value[-1]]) < value.count(value[-1])
    ):
        value = value[:-1].rstrip(".,:!?")
    return value
