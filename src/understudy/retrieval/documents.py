"""Documents that are ranked, the terms read from them, and the scores they get."""

import re
from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Final, NamedTuple, Protocol, TypeAlias

from pydantic import PlainSerializer

from understudy.retrieval.terms import flatten, read_terms, terms_of

# A score, rounded in answers.
Rounded: TypeAlias = Annotated[
    float, PlainSerializer(lambda score: round(score, 4), return_type=float)
]
SOURCE_FIELD: Final = "source"
_GRAM: Final = 4
_LEAST_LETTERS: Final = 4
# Words per term: a Chinese word has four terms; an accented one is a term more, and most are
# Vietnamese syllables, of which a word has one or two.
_WORDS_PER_SIGN: Final = 0.25
_WORDS_PER_ACCENTED: Final = -0.4
_FIRST_SIGN: Final = "\u2e80"
# Only the terms of shorter texts are cached, and of so many texts and documents.
_KEPT_CHARS: Final = 4_000
_KEPT: Final = 4_096
_DIGITS: Final = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One text of a document, and the weight of a match in it."""

    name: str
    text: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document to be ranked.

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


class ScoreReasons(Protocol):
    """The reasons of a score, computed on demand: most documents are only compared by score."""

    def coverage(self) -> float:
        """The share of the question's weight that the document covers."""

    def has_word(self) -> bool:
        """Whether a whole word of the question is in it; letters of a word or a time are not."""

    def share(self) -> float:
        """The points of the best field, by its weight and that of the question."""

    def matches(self) -> tuple[Match, ...]:
        """The matched terms, by field."""


class NoReasons:
    """The reasons of a score of 0."""

    def coverage(self) -> float:
        """Nothing."""
        return 0.0

    def has_word(self) -> bool:
        """No."""
        return False

    def share(self) -> float:
        """Nothing."""
        return 0.0

    def matches(self) -> tuple[Match, ...]:
        """None."""
        return ()


NO_REASONS: Final = NoReasons()


@dataclass(frozen=True, slots=True)
class Scored:
    """A document with its score, and the share of the question's weight that it covers."""

    id: str
    score: float
    at_ms: int
    reasons: ScoreReasons = field(default=NO_REASONS, repr=False, compare=False)

    @property
    def coverage(self) -> float:
        """The share of the question's weight that it covers."""
        return self.reasons.coverage()

    @property
    def matches(self) -> tuple[Match, ...]:
        """The matched terms, by field."""
        return self.reasons.matches()


class TermHit(NamedTuple):
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
    # The letter groups of its long words.
    grams: frozenset[str]
    flat: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document with the terms of its fields; `texts` has name, weight and terms of each.

    The source has no weight of its own: it counts beside the heaviest field.
    """

    document: Document
    texts: tuple[tuple[str, float | None, TextTerms], ...]
    # The weight of the heaviest field.
    heaviest: float
    terms: Set[str]
    # How many distinct terms it has.
    length: int
    subject: frozenset[str]
    # About how many distinct words it has, without its source.
    words: float
    # Sorts the documents of a conversation: by time, then by id with its numbers by value.
    place: tuple[int, tuple[tuple[int, int, str], ...]]


def prepare(document: Document) -> Prepared:
    """A document with its terms, cached for short documents."""
    size = sum(len(it.text) for it in document.fields) + len(document.source or "")
    return _prepare_short(document) if size <= _KEPT_CHARS else _prepare(document)


def _prepare(document: Document) -> Prepared:
    texts: list[tuple[str, float | None, TextTerms]] = [
        (it.name, it.weight, read(it.text)) for it in document.fields if it.text
    ]
    own: Set[str] = frozenset().union(*(reading.counts for _, _, reading in texts))
    if len(texts) == 1:
        own = texts[0][2].counts.keys()
    terms = own
    if document.source:
        texts.append((SOURCE_FIELD, None, read(document.source)))
        terms = frozenset(own).union(texts[-1][2].counts)
    return Prepared(
        document=document,
        texts=tuple(texts),
        heaviest=max((it.weight for it in document.fields if it.text and it.weight), default=1.0),
        terms=terms,
        length=len(terms),
        words=_words_of(own),
        subject=frozenset(terms_of(document.about)) if document.about else frozenset(),
        place=(document.at_ms, tuple(map(_part, _DIGITS.split(document.id)))),
    )


_prepare_short = lru_cache(maxsize=_KEPT)(_prepare)


def _part(part: str) -> tuple[int, int, str]:
    is_number = part.isascii() and part.isdigit()
    return (0, int(part[:18]), part) if is_number else (1, 0, part)


def _words_of(terms: Set[str]) -> float:
    """About how many words some terms are."""
    others = [it for it in terms if not it.isascii()]
    signs = sum(it[0] >= _FIRST_SIGN for it in others)
    accented = len(others) - signs
    words = len(terms) - len(others)
    return words + signs * _WORDS_PER_SIGN + accented * _WORDS_PER_ACCENTED


def read(text: str) -> TextTerms:
    """The terms of a text, cached for short texts."""
    return _read_short(text) if len(text) <= _KEPT_CHARS else _read(text)


def _read(text: str) -> TextTerms:
    terms = read_terms(text)
    words = {it.written for it in terms if len(it.written) >= _LEAST_LETTERS}
    return TextTerms(
        counts=dict(Counter(term.text for term in terms)),
        grams=frozenset().union(*map(grams_of, words)),
        flat=flatten(text),
    )


_read_short = lru_cache(maxsize=_KEPT)(_read)


# The texts share the groups of a word.
@lru_cache(maxsize=20_000)
def grams_of(word: str) -> frozenset[str]:
    """The letter 4-grams of a word with its ends marked; none for a short word."""
    if len(word) < _LEAST_LETTERS or not word.isascii() or word.isdigit():
        return frozenset()
    marked = f"^{word}$"
    return frozenset(marked[at : at + _GRAM] for at in range(len(marked) - _GRAM + 1))
