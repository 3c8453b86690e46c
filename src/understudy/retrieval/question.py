"""A question as weighted clues: terms, similar words, names and a period."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from understudy.retrieval.dates import Period, period_of
from understudy.retrieval.documents import Prepared, Statistics, grams_of
from understudy.retrieval.terms import Term, TermKind, asked_terms, flatten
from understudy.retrieval.tuning import Tuning
from understudy.retrieval.vocabulary import RARE, general_weight

# Questions are cut to this length.
MOST_CHARS: Final = 100_000
# Only a question up to this length is searched verbatim.
MOST_WHOLE_CHARS: Final = 2_000
SIMILAR_MARK: Final = "~"


@dataclass(frozen=True, slots=True)
class TermClue:
    """A term of a question, with its weights for score and coverage."""

    text: str
    shown: str
    weight: float
    asks: float
    # A single character does not find a document by itself.
    is_evidence: bool
    is_dated: bool


@dataclass(frozen=True, slots=True)
class SimilarClue:
    """A word of a question as letter groups, for texts without the word."""

    term: str
    shown: str
    grams: frozenset[str]
    weight: float


@dataclass(frozen=True)
class RetrievalQuestion:
    """The clues of a question, numbered with terms first."""

    terms: tuple[TermClue, ...]
    similar: Mapping[int, SimilarClue]
    names: frozenset[str]
    period: Period | None
    flat: str
    average_length: float
    date_asks: float
    # A text with fewer letter groups of its words is like none of them.
    fewest_grams: float

    def covers(self, at_ms: int) -> bool:
        """Whether the period of the question covers this time."""
        return self.period is not None and self.period.holds(at_ms)

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The number of each term."""
        return {clue.text: number for number, clue in enumerate(self.terms)}

    @cached_property
    def weights(self) -> tuple[float, ...]:
        """The weight of each clue."""
        return (
            *(clue.weight for clue in self.terms),
            *(clue.weight for clue in self.similar.values()),
        )

    @cached_property
    def grams(self) -> frozenset[str]:
        """The letter groups of all similar clues."""
        return frozenset().union(*(clue.grams for clue in self.similar.values()))

    @cached_property
    def shown(self) -> Mapping[int, str]:
        """The words to show for a clue; a similar one is marked."""
        words = {number: clue.shown for number, clue in enumerate(self.terms)}
        return words | {number: SIMILAR_MARK + clue.shown for number, clue in self.similar.items()}

    @cached_property
    def telling(self) -> frozenset[int]:
        """The numbers of terms that can find a document."""
        return frozenset(number for number, it in enumerate(self.terms) if it.is_evidence)

    @cached_property
    def asking(self) -> frozenset[int]:
        """The numbers of terms that count for the bonus for all terms in one field."""
        asking = frozenset(number for number, it in enumerate(self.terms) if it.asks)
        return asking or self.telling

    @cached_property
    def dated(self) -> frozenset[int]:
        """The terms that name a time."""
        return frozenset(number for number, it in enumerate(self.terms) if it.is_dated)

    @cached_property
    def asks_only_when(self) -> bool:
        """Whether the question names only a time."""
        return self.period is not None and len(self.dated) == len(self.terms)

    @cached_property
    def weight(self) -> float:
        """The sum of the weights of its terms."""
        return math.fsum(clue.weight for clue in self.terms)

    @cached_property
    def asks(self) -> float:
        """The sum of the coverage weights."""
        return math.fsum((self.date_asks, *(clue.asks for clue in self.terms)))


class GivenStatistics:
    """Term statistics of the given documents."""

    def __init__(self, prepared: Sequence[Prepared]) -> None:
        self._prepared = prepared
        self.documents = len(prepared)
        self.average_length = sum(it.length for it in prepared) / max(1, len(prepared))

    def frequency(self, term: str) -> int:
        """The number of documents with the term."""
        return sum(term in it.terms for it in self._prepared)


def ask(
    query: str,
    prepared: Sequence[Prepared],
    *,
    statistics: Statistics | None,
    now_ms: int | None,
    tuning: Tuning,
) -> RetrievalQuestion:
    """Parse a question, with weights from the statistics of the store."""
    query = query[:MOST_CHARS]
    common = statistics or GivenStatistics(prepared)
    terms = asked_terms(query)
    period = period_of(query, now_ms) if tuning.date else None
    names = _names(terms, prepared)
    weights = {it.text: _rarity(it, common, tuning) for it in terms}
    similar = [*_similar(terms, names, weights, tuning)]
    flat = flatten(query[: MOST_WHOLE_CHARS + 1])
    return RetrievalQuestion(
        terms=tuple(_clues(terms, weights, names, period, tuning)),
        similar=dict(enumerate(similar, len(terms))),
        names=names,
        period=period,
        flat=flat if len(flat) <= MOST_WHOLE_CHARS else "",
        average_length=max(1.0, common.average_length),
        date_asks=tuning.date_coverage if period else 0.0,
        fewest_grams=tuning.least_similarity * min((len(it.grams) for it in similar), default=0),
    )


def _names(terms: Sequence[Term], prepared: Sequence[Prepared]) -> frozenset[str]:
    """The terms of the question that are names in `about`."""
    subjects = frozenset().union(*(it.subject for it in prepared if it.subject))
    return frozenset(it.text for it in terms if it.text in subjects)


def _rarity(term: Term, common: Statistics, tuning: Tuning) -> float:
    """The weight of a term by its rarity in the store, and in general use if the store is small."""
    general = general_weight(term.text) if term.kind is TermKind.WORD else RARE
    aside = tuning.general_documents
    frequency = common.frequency(term.text) + aside * math.exp(-general)
    documents = max(common.documents + aside, frequency)
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


def _clues(
    terms: Sequence[Term],
    weights: Mapping[str, float],
    names: frozenset[str],
    period: Period | None,
    tuning: Tuning,
) -> Iterator[TermClue]:
    shares = {TermKind.ACCENTED: tuning.accented, TermKind.CHARACTER: tuning.character}
    dated = frozenset(it.text for it in asked_terms(period.words)) if period else frozenset()
    for it in terms:
        name = tuning.subject_name if it.text in names else 1.0
        yield TermClue(
            text=it.text,
            shown=it.text if it.kind is TermKind.ACCENTED else it.written,
            weight=shares.get(it.kind, 1.0) * name * weights[it.text],
            asks=0.0 if it.text in dated else _asks(it, tuning),
            is_evidence=it.kind is not TermKind.CHARACTER,
            is_dated=it.text in dated,
        )


def _asks(term: Term, tuning: Tuning) -> float:
    """The coverage weight of a term; a term that is part of another has none."""
    if term.kind is TermKind.WORD:
        return general_weight(term.text)
    return tuning.character_coverage if term.kind is TermKind.CHARACTERS else 0.0


def _similar(
    terms: Sequence[Term], names: frozenset[str], weights: Mapping[str, float], tuning: Tuning
) -> Iterator[SimilarClue]:
    for it in terms:
        grams = grams_of(it.written)
        if tuning.similar and it.kind is TermKind.WORD and grams and it.text not in names:
            yield SimilarClue(it.text, it.written, grams, tuning.similar * weights[it.text])
