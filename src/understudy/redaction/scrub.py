"""The one scrubber: replaces secrets, and personal data where asked, with markers."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

from understudy.redaction.literals import find_literals, known_literals
from understudy.redaction.marker import cut, marker
from understudy.redaction.opaque import is_sensitive_key
from understudy.redaction.rules import (
    personal_rules,
    personal_tables,
    secret_rules,
    secret_tables,
)
from understudy.redaction.search import Searcher
from understudy.redaction.views import views

# A known value inside something that a rule names does not rename it.
_LITERAL_RANK: Final = 1 << 20
# A marker can uncover what overlapped with what it stands for.
MAX_PASSES: Final = 4
MAX_JSON_DEPTH: Final = 100

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

__all__ = [
    "Json", "Scrubbed", "is_sensitive_key", "marker", "preview", "scrub", "scrub_counted", "scrub_json",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrubbed:
    """A text without secrets, and how many of which kind were taken out."""

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
def _searcher(*, pii: bool) -> Searcher:
    return Searcher(*secret_tables(), *(personal_tables() if pii else ()))


def scrub(text: str, literals: Iterable[str] = (), *, pii: bool = False) -> str:
    """The text without secrets; `literals` are values known to be secret, whatever their shape.

    Scrubbing twice changes nothing more.
    """
    return _scrub(text, literals, pii, [])


def scrub_counted(text: str, literals: Iterable[str] = (), *, pii: bool = False) -> Scrubbed:
    """As `scrub`, with what was taken out."""
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
    """The text without what was found; `kinds` hears what that was."""
    known = known_literals(literals)
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
            for span in find_literals(view.text, literals)
        )
    return finds


@cache
def _ranks(*, pii: bool) -> Mapping[str, int]:
    return {rule.id: rank for rank, rule in enumerate(_searcher(pii=pii).rules)}


def _resolve(finds: Iterable[_Find]) -> list[_Find]:
    """Finds that overlap become one, named by the most telling; a secret is worth more than PII."""
    kept: list[_Find] = []
    for find in sorted(set(finds)):
        if not kept or find.start >= kept[-1].end:
            kept.append(find)
            continue
        last = kept[-1]
        if find.is_personal != last.is_personal:
            # What is left of the personal one is looked at again in the next pass.
            kept[-1] = last if find.is_personal else find
            continue
        best = min(last, find, key=_say)
        kept[-1] = _Find(
            last.start, max(last.end, find.end), best.rank, best.kind, best.is_personal
        )
    return kept


def _say(find: _Find) -> tuple[bool, int]:
    """The earlier rule names what two take; a known value only what it holds all of."""
    return find.kind == "literal", find.rank


def _replace(text: str, finds: Iterable[_Find], kinds: list[str]) -> str:
    parts: list[str] = []
    at = 0
    for find in finds:
        parts += (text[at : find.start], marker(find.kind))
        kinds.append(find.kind)
        at = find.end
    return "".join((*parts, text[at:]))


def scrub_json(value: Json, literals: Iterable[str] = (), *, pii: bool = False) -> Json:
    """A JSON value without secrets: every text scrubbed, all text under a sensitive key gone."""
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
        return scrub(text, self.literals, pii=self.pii)
