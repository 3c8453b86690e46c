"""The term index: entries in a table, postings in the best form of each database."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from understudy.core.batches import batches
from understudy.retrieval.documents import TermHit, TermStatistics
from understudy.retrieval.rarity import EXACT_COUNT, SCAN_LIMIT, plan
from understudy.storage.term_entries import TermCounts, TermEntries, candidates
from understudy.storage.term_postings import (
    ArrayPostings,
    FullTextPostings,
    packed,
    scope_token,
    term_token,
)
from understudy.storage.visible_connection import VisibleConnection

# A scope with at least 1/BROAD of all entries is broad: most hits are in it.
BROAD: Final = 2


class Postings(Protocol):
    """Which entry holds which token; answers rows of `FOUND`, best first."""

    # Whether the tokens of an entry must be removed separately.
    must_be_told: bool

    def add(self, number: int, tokens: bytes) -> None: ...

    def remove(self, entries: Mapping[int, bytes]) -> None: ...

    def restart(self, kept: Iterable[tuple[int, bytes]]) -> None: ...

    def frequencies(self, tokens: Collection[bytes]) -> Mapping[bytes, int]: ...

    def best(
        self, wanted: Mapping[bytes, int], *, scopes: Collection[bytes], limit: int
    ) -> Sequence[Any]: ...

    def newest(
        self, scopes: Collection[bytes], *, many: bool, limit: int, token: bytes | None = None
    ) -> Sequence[Any]: ...

    def count(self, scopes: Collection[bytes], *, limit: int) -> int: ...


POSTINGS: Final[Mapping[str, Callable[[VisibleConnection], Postings]]] = {
    "sqlite": FullTextPostings,
    "postgresql": ArrayPostings,
}


class TermIndex:
    """Which entries of a kind hold which terms, in which scopes.

    All writes happen in the unit of work of the caller. A term is any text. A unit that puts or
    removes several entries should have locked the row of their session, so that two daemons do not
    deadlock.
    """

    def __init__(self, connection: VisibleConnection, counts: TermCounts) -> None:
        self._entries = TermEntries(connection)
        self._postings = POSTINGS[connection.dialect.name](connection)
        self._counts = counts
        # Counts cached by this unit, until it writes.
        self._asked: dict[bytes, int] = {}
        self._asked_totals: dict[str, tuple[int, int]] = {}

    def put(
        self,
        kind: str,
        source_id: str,
        *,
        scopes: Sequence[str],
        terms: Sequence[str],
        at_ms: int,
        is_new: bool = False,
    ) -> None:
        """Index an entry, replacing an older one of the same source unless it `is_new`."""
        self._forget()
        distinct = frozenset(terms)
        tokens = packed(kind, scopes=scopes, terms=distinct)
        if self._postings.must_be_told and not is_new:
            self._postings.remove(self._entries.of(kind, [source_id]))
        number = self._entries.put(
            kind,
            source_id,
            scopes=scopes,
            at_ms=at_ms,
            length=len(distinct),
            tokens=tokens if self._postings.must_be_told else b"",
        )
        self._postings.add(number, tokens)

    def remove(self, kind: str, source_ids: Sequence[str]) -> None:
        """Delete entries; a missing one is ignored."""
        self._forget()
        for some in batches(source_ids):
            entries = self._entries.of(kind, some)
            if entries:
                self._postings.remove(entries)
                self._entries.delete(entries.keys())

    def clear(self, kind: str) -> None:
        """Delete all entries of a kind."""
        self._forget()
        self._entries.delete_kind(kind)
        self._postings.restart(self._entries.all())
        self._counts.clear()

    def count(self, kind: str, scopes: Sequence[str]) -> int:
        """The number of entries in any of the scopes, counted up to `SCAN_LIMIT` + 1."""
        within = _scope_tokens(kind, scopes)
        held = self._frequencies(within)
        if not held:
            return 0
        # Entries of small scopes are counted one by one, as they may be in several scopes.
        if max(held.values()) > SCAN_LIMIT:
            return SCAN_LIMIT + 1
        return self._postings.count(within, limit=SCAN_LIMIT + 1)

    def is_empty(self, kind: str, scope: str) -> bool:
        """Whether a scope has no entries."""
        return not self._frequencies(_scope_tokens(kind, [scope]))

    def candidates(
        self,
        kind: str,
        *,
        scopes: Sequence[str],
        terms: Sequence[str],
        limit: int,
        few: bool = False,
    ) -> tuple[TermHit, ...]:
        """The entries in any of the scopes that hold some of the terms, by weight of those terms.

        Entries of the same weight come last put first. Where the terms have more postings than
        `POSTINGS_BUDGET`, only the rarest are looked up. With no more than `SCAN_LIMIT` entries in
        scope it is quicker to read and score them all. Scopes that hold `few` are not counted.
        """
        within = _scope_tokens(kind, scopes)
        if not within:
            return ()
        statistics = self.statistics(kind, terms)
        in_scope = EXACT_COUNT if few else sum(self._frequencies(within).values())
        chosen = plan(terms, statistics, in_scope=in_scope)
        if chosen.too_common is not None:
            token = term_token(kind, chosen.too_common)
            rows = self._postings.newest(within, many=True, limit=limit, token=token)
            return tuple(candidates(rows, scopes))
        wanted = {term_token(kind, lookup.term): lookup.weight for lookup in chosen.whole}
        if not few and in_scope * BROAD >= statistics.documents:
            # The same result without reading the long postings of the scope.
            rows = self._postings.best(wanted, scopes=(), limit=limit * BROAD)
            found = candidates(rows, scopes)
            if len(found) >= limit or len(rows) < limit * BROAD:
                return tuple(found[:limit])
        rows = self._postings.best(wanted, scopes=within, limit=limit)
        return tuple(candidates(rows, scopes))

    def anywhere(self, kind: str, *, terms: Sequence[str], limit: int) -> tuple[str, ...]:
        """The sources in any scope that hold some of the terms: the most and the rarest first."""
        statistics = self.statistics(kind, terms)
        chosen = plan(terms, statistics, in_scope=statistics.documents)
        wanted = {term_token(kind, lookup.term): lookup.weight for lookup in chosen.whole}
        rows = self._postings.best(wanted, scopes=(), limit=limit) if wanted else ()
        return tuple(row.source_id for row in rows)

    def newest(self, kind: str, *, scopes: Sequence[str], limit: int) -> tuple[str, ...]:
        """The sources that were put last in any of the scopes, the last first.

        An entry that is put again keeps its place.
        """
        within = _scope_tokens(kind, scopes)
        held = self._frequencies(within)
        if not held:
            return ()
        many = max(held.values()) > EXACT_COUNT
        rows = self._postings.newest(within, many=many, limit=limit)
        return tuple(each.source_id for each in candidates(rows, scopes))

    def look_ahead(self, kind: str, *, scopes: Sequence[str], terms: Sequence[str]) -> None:
        """Count in one query the tokens that a prompt needs next."""
        self._frequencies([*_scope_tokens(kind, scopes), *(term_token(kind, it) for it in terms)])

    def statistics(self, kind: str, terms: Sequence[str]) -> TermStatistics:
        """Statistics of these terms over the whole store."""
        tokens = {term_token(kind, term): term for term in terms}
        counted = self._frequencies(tokens)
        documents, length = self._totals(kind)
        return TermStatistics(
            # Counts of different times: a frequency must not exceed the number of entries.
            documents=max(documents, *counted.values(), 0),
            average_length=length / documents if documents else 0.0,
            frequencies={tokens[token]: count for token, count in counted.items()},
        )

    def _frequencies(self, tokens: Collection[bytes]) -> dict[bytes, int]:
        """The number of entries with each token; large counts come from the cache."""
        kept, asked = self._counts.frequencies, self._asked
        known = {token: count for token in tokens if (count := kept.get(token)) is not None}
        unknown = [token for token in tokens if token not in known and token not in asked]
        if unknown:
            counted = self._postings.frequencies(unknown)
            asked.update({token: counted.get(token, 0) for token in unknown})
            kept.put({token: count for token, count in counted.items() if count > EXACT_COUNT})
        exact = {token: count for token in tokens if (count := asked.get(token, 0))}
        return {**exact, **known}

    def _forget(self) -> None:
        self._asked.clear()
        self._asked_totals.clear()

    def _totals(self, kind: str) -> tuple[int, int]:
        totals = self._counts.totals.get(kind) or self._asked_totals.get(kind)
        if totals is None:
            totals = self._asked_totals[kind] = self._entries.totals(kind)
            self._counts.totals.put({kind: totals} if totals[0] > EXACT_COUNT else {})
        return totals


def _scope_tokens(kind: str, scopes: Sequence[str]) -> list[bytes]:
    return [scope_token(kind, scope) for scope in dict.fromkeys(scopes)]
