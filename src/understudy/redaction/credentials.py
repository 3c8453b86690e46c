"""Credentials: tokens with a known prefix, private keys, and passwords in commands, headers and URLs."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from understudy.patterns.linear import Span
from understudy.patterns.search import PatternMatch
from understudy.redaction.cues import Cue
from understudy.redaction.opaque import (
    WORDS,
    is_harmless_shape,
    is_made_up,
    is_opaque_enough,
    is_placeholder,
    is_value,
    key_grade,
    looks_random,
    name_words,
)
from understudy.redaction.values import is_assigned_secret, is_said_password

# What may separate the lines of a key: line ends, escaped or encoded ones, quotes, line prefixes.
GAP: Final = r"(?:[\s\"'`>|#*,+]|\\+[nrt\"]|\\\r?\n|%0[AaDd]|&#x?0?[0-9aAdD]{1,2};|<br ?/?>)"
BODY: Final = r"[A-Za-z0-9+/=_-]"
# A resource type, as in `AWS::Config::AggregationAuthorization`.
_KIND_NAME: Final = re.compile(r"::\w*\Z")
_COOKIE: Final = re.compile(r"([\w!#$%&*+.^|~-]{1,128})=([^;,\s\"']{1,4096})")
_PORT: Final = re.compile(r"[0-9]{2,5}(?:[/?#]|\Z)")
_CLOSES: Final = {")": "(", "]": "[", "}": "{"}
# The end of a URL in its surrounding text.
_AROUND_ADDRESS: Final = re.compile(
    r"'(?:\W|\Z)|[\])}][,.;:)\]}]|,(?:https?:|[\"'\[{]|\Z)|[\u3400-\u9fff\u3000-\u303f\uff00-\uffef]"
)
_ELLIPSIS: Final = re.compile(r"\.\.\.|…|\*\*\*")
# A single word is no placeholder: `sk-proj-abc` is a poor key, but a key.
_WORDS_ONLY: Final = re.compile(r"[a-z]+(?:[_-][a-z]+)+|[A-Z]{1,12}(?:[_-][A-Z]+)*")
_HEADERS: Final = re.compile(
    r"(?:[^\S\n]*(?:\\+[nr])?\n?[^\w\n]{0,12}[A-Z][A-Za-z-]{2,20}: [^\n\\]{1,100}(?:\n|\\+[nr])+)+"
)
_TIGHT: Final = re.compile(rf"{GAP}{{0,16}}+((?!--){BODY}{{16,}})")
# A prefix before each line of a key: a comment sign, a number, the beginning of a log line.
_LOOSE: Final = re.compile(
    rf"((?:(?!---)[^\n]){{0,100}}?(?:\r?\n(?:(?!---)[^\n]){{0,100}}?)?)(?<![A-Za-z0-9+/=_-])({BODY}{{40,}})"
)
_LAST: Final = re.compile(rf"{GAP}{{0,16}}((?!--){BODY}{{1,76}})")
_FIRST_END: Final = re.compile(r"[^\S\n]*(?:[\n\"'`<\\…]|\.\.\.|\Z)")
_HAS_BODY: Final = re.compile(r"[A-Za-z0-9+/=_-]{12}")
_PASSWORD: Final = Cue(name="password", grade=2, is_password=True)
_COUNTED: Final = re.compile(
    r"(?i)[-./:,%]\d|\s?(?:digits?|char\w*|letters?|lines?|times|min\w*|s(?:ec\w*)?\b|giây|phút|ký|lần|số|[位年次元个分秒天字条行月]|[a-z]?V\b)"
)
_FIGURES: Final = re.compile(r"\d+")


def _groups(match: PatternMatch) -> Iterator[tuple[str, Span]]:
    """The named groups that matched."""
    for name in match.names:
        span = match.span(name)
        if span[0] >= 0:
            yield name, span


def named_groups(match: PatternMatch) -> Iterable[Span]:
    """The spans of all named groups that matched."""
    return tuple(span for _, span in _groups(match))


def is_more_than_a_word(value: str) -> bool:
    """Whether it is a real value: neither a plain word nor of a public shape."""
    return (
        is_value(value)
        and not is_harmless_shape(value)
        and (not value.isalpha() or looks_random(value))
    )


def values_of_groups(match: PatternMatch) -> Iterable[Span]:
    """The named groups that are more than a word."""
    return tuple(
        span for _, span in _groups(match) if is_more_than_a_word(match.string[slice(*span)])
    )


def user_and_password(match: PatternMatch) -> Iterable[Span]:
    """The password next to a user name."""
    for name, (start, end) in _groups(match):
        value = match.string[start:end].rstrip(".,;:)")
        if name == "said":
            is_one = is_said_password(value, is_next=True, is_password=True)
        elif name == "pair":
            is_one = ";" not in value and is_assigned_secret(
                value, _PASSWORD, firmly="/" in value, quoted=True, called=False
            )
        else:
            is_one = is_more_than_a_word(value)
        if is_one:
            yield start, start + len(value)


def spaced_secret(match: PatternMatch) -> Iterable[Span]:
    """Words or groups separated by spaces; a sentence has words that no passphrase has."""
    for name, (start, end) in _groups(match):
        parts = match.string[start:end].lower().split()
        if name == "seed" or not WORDS.set("sentence_words") & set(parts):
            yield start, end


def codes(match: PatternMatch) -> Iterator[Span]:
    """The digits of a code or a PIN; with a unit behind them they count something."""
    for _, (start, end) in _groups(match):
        if not _COUNTED.match(match.string, end):
            yield start, end


def has_figures(value: str) -> bool:
    """Whether at least one character is a digit."""
    return any(character.isdigit() for character in value)


def seed_phrase(match: PatternMatch) -> Iterable[Span]:
    """A recovery phrase of a wallet, by its number of words."""
    count = len(match["secret"].split())
    return (match.span("secret"),) if count in {12, 15, 18, 21, 24} else ()


def bearer_token(match: PatternMatch) -> Iterable[Span]:
    """A bearer token; prose says "bearer tokens" too, so it needs more than letters."""
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
    """A query value without the text around its URL: closing brackets and punctuation."""
    ends = _AROUND_ADDRESS.search(value)
    value = (value[: ends.start()] if ends else value).rstrip(".,:!?")
    while (
        value and value[-1] in _CLOSES and value.count(_CLOSES[value[-1]]) < value.count(value[-1])
    ):
        value = value[:-1].rstrip(".,:!?")
    return value


def is_real(body: str) -> bool:
    """Whether the body after a vendor prefix is a value and not a word or placeholder."""
    if is_placeholder(body) or not body.strip("_-."):
        return False
    if len(body) < 24 and is_made_up(body):
        return False
    return _WORDS_ONLY.fullmatch(body) is None or len(body) > 40


def vendor_token(match: PatternMatch) -> Iterable[Span]:
    """A token after an unambiguous vendor prefix."""
    # `sk-ant-api03-...` shows the beginning of a key and is none.
    if len(match["body"]) < 8 and _ELLIPSIS.match(match.string, match.span()[1]):
        return ()
    return (match.span("secret"),) if is_real(match["body"]) else ()


def random_token(match: PatternMatch) -> Iterable[Span]:
    """A token after a prefix that ordinary words share: its body must look random."""
    body = match["body"]
    return (match.span("secret"),) if is_real(body) and looks_random(body) else ()


def vendor_token_or_example(match: PatternMatch) -> Iterable[Span]:
    """A token even if it is an example: `AKIA…EXAMPLE` may be real, and is not needed."""
    body = match["body"]
    return (match.span("secret"),) if len(body) >= 16 and is_opaque_enough(body) else ()


def any_vendor_token(match: PatternMatch) -> Iterable[Span]:
    """A token after an unambiguous prefix, including the vendor's documented example."""
    return vendor_token(match) or vendor_token_or_example(match)


def random_token_or_example(match: PatternMatch) -> Iterable[Span]:
    """A token or example after a prefix that ordinary words share."""
    return vendor_token_or_example(match) if any(map(str.isdigit, match["body"])) else ()


def prefixed_token(match: PatternMatch) -> Iterable[Span]:
    """A short prefix and a random body, a common token format."""
    parts = match["prefix"].lower().replace("-", "_").strip("_").split("_")
    body = match["body"]
    if (
        parts[0] in WORDS.set("object_prefixes")
        or not is_real(body)
        or not looks_random(body, least=len(body) * 4 // 5)
    ):
        return ()
    # Many services use this beginning for object ids.
    if body.startswith("01") and WORDS.set("secret_parts").isdisjoint(parts):
        return ()
    has_cases = body != body.lower() and body != body.upper()
    figures = sum(character.isdigit() for character in body)
    is_named = not WORDS.set("secret_parts").isdisjoint(parts)
    if not figures or not (has_cases or (is_named and len(body) >= 32)):
        return ()
    return (match.span("secret"),) if is_named or len(body) >= 24 else ()


def _follow(text: str, end: int) -> int:
    """The end of the key whose first lines end at `end`."""
    headers = _HEADERS.match(text, end)
    at = headers.end() if headers else end
    width, shape = 0, ""
    while True:
        line = _TIGHT.match(text, at) or _LOOSE.match(text, at)
        if line is None:
            break
        size = line.end() - line.start(line.lastindex or 0)
        shape = line[1] if line.lastindex == 2 else ""
        at = end = line.end()
        # A sign at the start of a line may have been read as its prefix.
        if size < width - 8:
            return end
        width = max(width, size)
    return _with_last(text, at, shape, is_first=not width) or end


def _with_last(text: str, at: int, shape: str, *, is_first: bool) -> int | None:
    """A short last line, with the same prefix as the others."""
    if shape:
        begins = re.compile(r"\d+".join(map(re.escape, _FIGURES.split(shape))))
        same = begins.match(text, at)
        at = same.end() if same else at
    last = _LAST.match(text, at)
    if last is None or (is_first and not _FIRST_END.match(text, last.end())):
        return None
    return last.end()


def armoured_key(match: PatternMatch) -> tuple[Span, ...]:
    """A key from its header to its last line; a header alone is no key."""
    start, end = match.span()
    if start < match.taken[1]:
        return ()
    last = _follow(match.string, end)
    return ((start, last),) if last > end else ()


def bare_key(match: PatternMatch) -> tuple[Span, ...]:
    """The lines of a key without armour, after a cue for one."""
    start, end = match.span("secret")
    return ((start, _follow(match.string, end)),) if start >= match.taken[1] else ()


def whole_block(match: PatternMatch) -> Iterable[Span]:
    """A block with more than dots."""
    start, end = match.span("body")
    return (match.span(),) if _HAS_BODY.search(match.string, start, end) else ()
