"""Secrets in documents of known kinds, where the kind and not the name of a value makes it one."""

import re
from collections.abc import Iterator
from typing import Final

from understudy.redaction.opaque import is_made_up
from understudy.redaction.rule import Match, Rule, Span

# How far a document may reach on both sides of what says its kind.
_REACH: Final = 4_096
# And how many kinds a document may name: its own, those of its owners.
_KINDS: Final = 3
_RANDOM: Final = "k8Jq2Zx9" + "Lm4Tv7Bd1Wc3"
_SECTION: Final = re.compile(r"(?m)^([ \t]*)(?:data|stringData):[ \t]*\r?\n")
_ENTRY: Final = re.compile(
    r"([ \t]+)[\w.\"'/-]{1,128}:[ \t]*([^\s|>#][^\n]*?)?(?:[|>][+-]?)?[ \t]*(?:\r?\n|\Z)"
)
_LINE: Final = re.compile(r"([ \t]*)(\S[^\n]*?)?[ \t\r]*(?:\n|\Z)")
_JSON_SECTION: Final = re.compile(r"\"(?:data|stringData)\"\s*:\s*\{([^{}]{0,4096})\}")
_JSON_VALUE: Final = re.compile(r":\s*\"([^\"\n]{1,4096})\"")


def _document(text: str, start: int, end: int) -> Span:
    """From where to where the document around goes."""
    low = max(text.rfind("\n---", max(0, start - _REACH), start), 0, start - _REACH)
    high = text.find("\n---", end, end + _REACH)
    high = high if high >= 0 else min(len(text), end + _REACH)
    return _kinds_before(text, low, start), _kinds_after(text, end, high)


# What stands after several more kinds belongs to them: nothing is looked through again and again.
def _kinds_before(text: str, low: int, at: int) -> int:
    for _ in range(_KINDS):
        at = text.rfind("kind", low, at)
        if at < 0:
            return low
    return at


def _kinds_after(text: str, at: int, high: int) -> int:
    for _ in range(_KINDS):
        at = text.find("kind", at, high)
        if at < 0:
            return high
        at += 4
    return at


def _kubernetes(match: Match) -> Iterator[Span]:
    """Every value of the data of a Secret."""
    text = match.string
    low, high = _document(text, *match.span())
    for section in _JSON_SECTION.finditer(text, low, high):
        for value in _JSON_VALUE.finditer(text, *section.span(1)):
            if not is_made_up(value[1]):
                yield value.span(1)
    for section in _SECTION.finditer(text, low, high):
        yield from _entries(text, section.end(), high, len(section[1]))


def _entries(text: str, at: int, high: int, indent: int) -> Iterator[Span]:
    depth = 0
    while at < high and (line := _LINE.match(text, at, high)) and line.end() > at:
        size = len(line[1])
        if line[2] and size <= indent:
            return
        entry = _ENTRY.match(text, at, high)
        if entry and (not depth or size <= depth):
            depth = size
            value, span = entry[2] or "", entry.span(2)
        else:
            # A line of a value in a block.
            value, span = line[2] or "", line.span(2)
        if value and not is_made_up(value.strip("\"'")):
            quoted = value[0] in "\"'" and value[-1] == value[0] and len(value) > 2
            yield (span[0] + 1, span[1] - 1) if quoted else span
        at = line.end()


def _jwk(match: Match) -> Iterator[Span]:
    text = match.string
    start, end = match.span("secret")
    low, high = max(0, start - _REACH), min(len(text), end + _REACH)
    if text.find("kty", low, high) >= 0:
        yield start, end


DOCUMENTS: Final = (
    Rule(
        id="kubernetes-secret",
        kind="secret",
        trigger=r"kind[\"']?:\s*[\"']?Secret\b",
        pattern=r"kind[\"']?:\s*[\"']?Secret\b",
        pick=_kubernetes,
        matches=(
            "kind: Secret\nmetadata:\n  name: db\ndata:\n  root: aHVudGVy" + "Mg==\ntype: Opaque",
            "stringData:\n  app.ini: |\n    pass = " + "hunter2" + "\nkind: Secret",
            '{"data": {"root": "aHVudGVy' + 'Mg=="}, "kind": "Secret"}',
        ),
        misses=(
            "kind: SecretProviderClass\ndata:\n  a: b",
            "kind: Secret\nmetadata:\n  name: db",
        ),
        is_long=True,
    ),
    Rule(
        id="jwk",
        kind="private-key",
        trigger=r"kty\\{0,3}[\"']",
        pattern=r"[\"'](?:d|p|q|dp|dq|qi|k)\\{0,3}[\"']\s{0,4}:\s{0,4}\\{0,3}[\"'](?P<secret>[A-Za-z0-9_-]{16,})",
        pick=_jwk,
        matches=('{"kty": "oct", "k": "' + _RANDOM + '"}', '{"kty": "EC", "d": "' + _RANDOM + '"}'),
        misses=('{"kty": "RSA", "n": "' + _RANDOM + '", "e": "AQAB"}',),
    ),
)  # fmt: skip
