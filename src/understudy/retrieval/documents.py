"""Documents that are ranked, the terms read from them, and the scores they get."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Final, Protocol, TypeAlias

from pydantic import PlainSerializer

from understudy.retrieval.terms import flatten, read_terms, terms_of

# A score as answers show it.
Rounded: TypeAlias = Annotated[
    float, PlainSerializer(lambda score: round(score, 4), return_type=float)
]
SOURCE_FIELD: Final = "source"
_GRAM: Final = 4
_LEAST_LETTERS: Final = 4
# What is read again and again is short; the reading of a long text is not kept.
_KEPT_CHARS: Final = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One text of a document and how much a match in it counts."""

    name: str
    text: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What may be found.

    `session` names the conversation that this is a piece of: pieces of it speak for each other.
    A record that stands on its own, like the memory of a run, leaves it out. `about` is whom it is
    about, `source` the text that it was taken from.
    """

    id: str
    fields: tuple[Field, ...]
    at_ms: int = 0
    session: str | None = None
    about: str | None = None
    source: str | None = None


class Statistics(Protocol):
    """How common terms are in the whole store."""

    @property
    def documents(self) -> int:
        """How many there are."""

    @property
    def average_length(self) -> float:
        """How many distinct terms one has."""

    def frequency(self, term: str) -> int:
        """In how many documents the term appears."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """What one field gave: these terms, these points."""

    field: str
    terms: tuple[str, ...]
    points: Rounded


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A document with its score, and the share of the question's weight that it covers."""

    id: str
    score: float
    coverage: float
    at_ms: int
    matches: tuple[Match, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TermHit:
    """Something that may answer a question."""

    source_id: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TermStatistics:
    """How common terms are among all entries of a kind, whatever their scope.

    A count up to `EXACT_COUNT` is exact. A larger one may be as old as `COUNT_AGE_S`; it is the
    same on both databases once it has been counted anew.
    """

    documents: int
    average_length: float
    frequencies: Mapping[str, int]

    def frequency(self, term: str) -> int:
        """How many entries hold the term; 0 for one that was not asked about."""
        return self.frequencies.get(term, 0)


@dataclass(frozen=True, slots=True)
class TextTerms:
    """What one text holds."""

    counts: Mapping[str, int]
    # Every long word between its marks; the letters of another are looked for in it.
    written: str
    flat: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document whose fields are read; `texts` has the name, weight and reading of each.

    The source has no weight of its own: it counts beside the heaviest field.
    """

    document: Document
    texts: tuple[tuple[str, float | None, TextTerms], ...]
    terms: frozenset[str]
    subject: frozenset[str]

    @property
    def length(self) -> int:
        """How many distinct terms it has."""
        return len(self.terms)


def prepare(document: Document) -> Prepared:
    """Read a document, so that several questions need not."""
    texts: list[tuple[str, float | None, TextTerms]] = [
        (it.name, it.weight, read(it.text)) for it in document.fields if it.text
    ]
    if document.source:
        texts.append((SOURCE_FIELD, None, read(document.source)))
    return Prepared(
        document=document,
        texts=tuple(texts),
        terms=frozenset().union(*(reading.counts for _, _, reading in texts)),
        subject=frozenset(terms_of(document.about)) if document.about else frozenset(),
    )


def read(text: str) -> TextTerms:
    """What a text holds."""
    return _read_short(text) if len(text) <= _KEPT_CHARS else _read(text)


def _read(text: str) -> TextTerms:
    terms = [*read_terms(text)]
    words = {it.written: None for it in terms if has_grams(it.written)}
    return TextTerms(
        counts=Counter(term.text for term in terms),
        written=" ".join(map(_marked, words)),
        flat=flatten(text),
    )


_read_short = lru_cache(maxsize=2_048)(_read)


def has_grams(word: str) -> bool:
    """Whether a word is long enough to be compared by its letters."""
    return len(word) >= _LEAST_LETTERS and word.isascii() and not word.isdigit()


def grams_of(word: str) -> frozenset[str]:
    """The letters of a word in overlapping fours, its ends marked; none of a short word."""
    if not has_grams(word):
        return frozenset()
    marked = _marked(word)
    return frozenset(marked[at : at + _GRAM] for at in range(len(marked) - _GRAM + 1))


def _marked(word: str) -> str:
    return f"^{word}$"
