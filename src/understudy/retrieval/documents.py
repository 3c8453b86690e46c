"""What is ranked and what comes of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Protocol, TypeAlias

from pydantic import PlainSerializer

# A score as answers show it.
Rounded: TypeAlias = Annotated[
    float, PlainSerializer(lambda score: round(score, 4), return_type=float)
]


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
