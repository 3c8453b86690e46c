"""Documents that are ranked, the terms read from them, and the scores they get."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Final, Protocol, TypeAlias

from pydantic import PlainSerializer

from understudy.retrieval.terms import flatten, read_terms, terms_of

# A score, rounded in answers.
Rounded: TypeAlias = Annotated[
    float, PlainSerializer(lambda score: round(score, 4), return_type=float)
]
SOURCE_FIELD: Final = "source"
_GRAM: Final = 4
_LEAST_LETTERS: Final = 4
# Only the terms of shorter texts are cached.
_KEPT_CHARS: Final = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One text of a document, and the weight of a match in it."""

    name: str
    text: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Something that is ranked.

    `session` is the conversation that it is a piece of: neighbours in it lend each other score. A
    run memory stands on its own and has none. `about` is whom it is about, `source` the text that
    it was taken from.
    """

    id: str
    fields: tuple[Field, ...]
    at_ms: int = 0
    session: str | None = None
    about: str | None = None
    source: str | None = None


class Statistics(Protocol):
    """Term statistics of the whole store."""

    @property
    def documents(self) -> int:
        """The number of documents."""

    @property
    def average_length(self) -> float:
        """The mean number of distinct terms of a document."""

    def frequency(self, term: str) -> int:
        """The number of documents with the term."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The matched terms of one field, and their points."""

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
    """A document that the index found for a question."""

    source_id: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TermStatistics:
    """Term statistics over all entries of a kind, in every scope.

    A count up to `EXACT_COUNT` is exact. A larger one may be as old as `COUNT_AGE_S`; it is the
    same on both databases once it has been counted anew.
    """

    documents: int
    average_length: float
    frequencies: Mapping[str, int]

    def frequency(self, term: str) -> int:
        """The number of entries with the term; 0 for a term that was not asked for."""
        return self.frequencies.get(term, 0)


@dataclass(frozen=True, slots=True)
class TextTerms:
    """The terms of one text."""

    counts: Mapping[str, int]
    # Long words between marks, in which letter groups are searched.
    written: str
    flat: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document with the terms of its fields; `texts` has name, weight and terms of each.

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
    """Read the terms of a document once, for several questions."""
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
    """The terms of a text, cached for short texts."""
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
    """The letter 4-grams of a word with its ends marked; none for a short word."""
    if not has_grams(word):
        return frozenset()
    marked = _marked(word)
    return frozenset(marked[at : at + _GRAM] for at in range(len(marked) - _GRAM + 1))


def _marked(word: str) -> str:
    return f"^{word}$"
