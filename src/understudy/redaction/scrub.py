"""The one scrubber: replaces secrets, and personal data where asked, with markers."""

import base64
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Final, NamedTuple

from understudy.core.showable import Json
from understudy.patterns.linear import Span
from understudy.patterns.search import Searcher
from understudy.redaction.marker import cut, marker
from understudy.redaction.opaque import is_sensitive_key
from understudy.redaction.rule_book import (
    RedactionRule,
    personal_rules,
    personal_tables,
    secret_rules,
    secret_tables,
)
from understudy.redaction.views import views

# A literal within a named find does not change its kind.
_LITERAL_RANK: Final = 1 << 20
# A replacement can uncover an overlapping secret.
MAX_PASSES: Final = 4
MAX_JSON_DEPTH: Final = 100
# Shorter literals would match ordinary words.
MIN_LITERAL_CHARS: Final = 4
# A shorter literal could occur in any Base64.
_MIN_ENCODED_CHARS: Final = 6
# Names of fields, states and events, which come again all the time; keys and tokens have digits.
_WORD: Final = re.compile(r"[A-Za-z_.]{1,40}")
_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")


__all__ = [
    "Json", "Scrubbed", "holds_secret", "is_sensitive_key", "marker", "preview", "scrub", "scrub_counted", "scrub_json",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrubbed:
    """A scrubbed text, with the number of redactions by kind."""

    text: str
    secrets: int
    pii: int
    kinds: Mapping[str, int]


class _Find(NamedTuple):
    start: int
    end: int
    rank: int
    kind: str
    is_personal: bool


@cache
def _searcher(*, pii: bool) -> Searcher[RedactionRule]:
    return Searcher(*secret_tables(), *(personal_tables() if pii else ()))


def scrub(text: str, literals: Iterable[str] = (), *, pii: bool = False) -> str:
    """The text without secrets; `literals` are values known to be secret, whatever their shape.

    Scrubbing twice changes nothing more.
    """
    return _scrub(text, literals, pii, [])


def scrub_counted(text: str, literals: Iterable[str] = (), *, pii: bool = False) -> Scrubbed:
    """As `scrub`, with the redactions counted."""
    taken: list[str] = []
    clean = _scrub(text, literals, pii, taken)
    kinds = Counter(taken)
    personal = sum(kinds[kind] for kind in _personal_kinds())
    return Scrubbed(
        text=clean,
        secrets=kinds.total() - personal,
        pii=personal,
        kinds=dict(sorted(kinds.items())),
    )


@cache
def _personal_kinds() -> frozenset[str]:
    return frozenset(rule.kind for rule in personal_rules())


def preview(text: str, limit: int, literals: Iterable[str] = (), *, pii: bool = True) -> str:
    """The scrubbed text cut to `limit` characters and `…`, never inside a marker."""
    return cut(scrub(text, literals, pii=pii), limit)


def _scrub(text: str, literals: Iterable[str], pii: bool, kinds: list[str]) -> str:
    """The scrubbed text; the kinds of redactions are appended to `kinds`."""
    known = _known_literals(literals)
    for _ in range(MAX_PASSES):
        finds = _resolve(_finds(text, known, pii=pii))
        if not finds:
            break
        text = _replace(text, finds, kinds)
    return text


def _finds(text: str, literals: tuple[str, ...], *, pii: bool) -> list[_Find]:
    searcher = _searcher(pii=pii)
    ranks = _ranks(pii=pii)
    finds: list[_Find] = []
    for view in views(text):
        if finds and not view.is_new_beyond((find.start, find.end) for find in finds):
            continue
        for rule, span in searcher.find(view.text):
            start, end = view.span(*span)
            rank = ranks[rule.id]
            finds.append(_Find(start, end, rank, rule.kind, rank >= len(secret_rules())))
        finds += (
            _Find(*view.span(*span), _LITERAL_RANK, "literal", is_personal=False)
            for span in _find_literals(view.text, literals)
        )
    return finds


@cache
def _ranks(*, pii: bool) -> Mapping[str, int]:
    return {rule.id: rank for rank, rule in enumerate(_searcher(pii=pii).rules)}


def _resolve(finds: Iterable[_Find]) -> list[_Find]:
    """Merge overlapping finds under the more telling kind; a secret outranks PII."""
    kept: list[_Find] = []
    for find in sorted(set(finds)):
        if not kept or find.start >= kept[-1].end:
            kept.append(find)
            continue
        last = kept[-1]
        if find.is_personal != last.is_personal:
            # The rest of the personal one is searched again in the next pass.
            kept[-1] = last if find.is_personal else find
            continue
        best = min(last, find, key=_precedence)
        kept[-1] = _Find(
            last.start, max(last.end, find.end), best.rank, best.kind, best.is_personal
        )
    return kept


def _precedence(find: _Find) -> tuple[bool, int]:
    """Sort key of overlapping finds: the earlier rule wins, a known value comes last."""
    return find.kind == "literal", find.rank


def _replace(text: str, finds: Iterable[_Find], kinds: list[str]) -> str:
    parts: list[str] = []
    at = 0
    for find in finds:
        parts += (text[at : find.start], marker(find.kind))
        kinds.append(find.kind)
        at = find.end
    return "".join((*parts, text[at:]))


def holds_secret(text: str) -> bool:
    """Whether a text may contain a secret or an example of one.

    For texts in which a false positive costs little.
    """
    searcher = _strict_searcher()
    return any(True for view in views(text) for _ in searcher.find(view.text))


@cache
def _strict_searcher() -> Searcher[RedactionRule]:
    """The rules with a strict pick, each with that pick."""
    return Searcher(
        *(
            [replace(rule, pick=rule.strict) for rule in table if rule.strict is not None]
            for table in secret_tables()
        )
    )


def _known_literals(literals: Iterable[str]) -> tuple[str, ...]:
    """The literals that are long enough to be searched."""
    return tuple(sorted({value for value in literals if len(value) >= MIN_LITERAL_CHARS}))


def _find_literals(text: str, literals: tuple[str, ...]) -> Iterator[Span]:
    """The spans of the literals, plain or in Base64."""
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
    """The invariant part of its Base64, for each alignment."""
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


def scrub_json(value: Json, literals: Iterable[str] = (), *, pii: bool = False) -> Json:
    """A JSON value with every text scrubbed, and all text under a sensitive key removed."""
    return _JsonScrubber(literals=tuple(literals), pii=pii).value(value, hide=False, depth=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _JsonScrubber:
    literals: tuple[str, ...]
    pii: bool

    def value(self, value: Json, *, hide: bool, depth: int) -> Json:
        if depth > MAX_JSON_DEPTH:
            return marker("too-deep")
        match value:
            case None | bool():
                return value
            case str():
                return marker("secret") if hide and value else self._text(value)
            case int() | float():
                return marker("secret") if hide else value
            case list():
                return [self.value(item, hide=hide, depth=depth + 1) for item in value]
            case _:
                return self._mapping(value, hide=hide, depth=depth)

    def _mapping(self, value: Mapping[str, Json], *, hide: bool, depth: int) -> dict[str, Json]:
        return {
            self._text(key): self.value(item, hide=hide or is_sensitive_key(key), depth=depth + 1)
            for key, item in value.items()
        }

    def _text(self, text: str) -> str:
        if _WORD.fullmatch(text):
            return _scrubbed_word(text, self.literals, self.pii)
        return scrub(text, self.literals, pii=self.pii)


@lru_cache(maxsize=1024)
def _scrubbed_word(text: str, literals: tuple[str, ...], pii: bool) -> str:
    return scrub(text, literals, pii=pii)
