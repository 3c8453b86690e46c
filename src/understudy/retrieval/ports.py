"""What retrieval needs from outside: an index of terms that finds candidates for the scorer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
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


class TermIndex(Protocol):
    """Which entries of a kind hold which terms, in which scopes.

    Everything happens in the caller's unit of work. A term is any text. Entries that are put or removed together in one unit are best those of one session, whose row the unit holds:
    then two daemons never wait for each other.
    """

    def put(
        self, kind: str, source_id: str, *, scopes: Sequence[str], terms: Sequence[str], at_ms: int
    ) -> None:
        """Index an entry, in place of an older one of the same source."""
        ...

    def remove(self, kind: str, source_ids: Sequence[str]) -> None:
        """Take entries out; one that is not there is fine."""
        ...

    def clear(self, kind: str) -> None:
        """Take all entries of a kind out."""
        ...

    def count(self, kind: str, scopes: Sequence[str]) -> int:
        """How many entries are in any of the scopes; exact up to `SCAN_LIMIT`, then one more."""
        ...

    def candidates(
        self, kind: str, *, scopes: Sequence[str], terms: Sequence[str], limit: int
    ) -> tuple[Candidate, ...]:
        """What in any of the scopes holds some of the terms: the most and the rarest first.

        Entries of the same weight come in the order in which they were put, the last first. Where
        the terms have more postings than `POSTINGS_BUDGET`, only the rarest are looked up. With no
        more than `SCAN_LIMIT` entries in scope it is quicker to read and score them all.
        """
        ...

    def newest(self, kind: str, *, scopes: Sequence[str], limit: int) -> tuple[str, ...]:
        """The sources that were put last in any of the scopes, the last first.

        One that is put again keeps its place.
        """
        ...

    def statistics(self, kind: str, terms: Sequence[str]) -> TermStatistics:
        """How common these terms are in the whole store."""
        ...
