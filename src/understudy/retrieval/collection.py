"""An in-memory collection of documents with the ranking of the indexed store, for measurements."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence, Set

from understudy.retrieval.documents import Document, Prepared, Scored, prepare
from understudy.retrieval.score import conversations, rank
from understudy.retrieval.terms import Term, TermKind, asked_terms
from understudy.retrieval.tuning import TUNING, Tuning


class Collection:
    """Documents by scope; term frequencies are counted over all scopes."""

    def __init__(self, documents: Iterable[tuple[str, Document]]) -> None:
        self._scopes: dict[str, _Scope] = defaultdict(_Scope)
        self._frequencies: Counter[str] = Counter()
        self.documents = 0
        total = 0
        for scope, document in documents:
            prepared = prepare(document)
            self._scopes[scope].add(prepared)
            self._frequencies.update(prepared.terms)
            self.documents += 1
            total += prepared.length
        self.average_length = total / max(1, self.documents)

    def frequency(self, term: str) -> int:
        """In how many documents the term appears."""
        return self._frequencies[term]

    def search(self, query: str, scope: str, *, tuning: Tuning = TUNING) -> tuple[Scored, ...]:
        """The documents of a scope that may answer, best first."""
        found = self._scopes[scope].candidates(asked_terms(query), tuning)
        return rank(query, found, statistics=self, tuning=tuning)


class _Scope:
    """The documents of one scope, and which of them hold which term."""

    def __init__(self) -> None:
        self._prepared: list[Prepared] = []
        self._postings: dict[str, list[int]] = defaultdict(list)
        self._near: dict[int, tuple[Sequence[int], int]] | None = None

    def add(self, prepared: Prepared) -> None:
        for term in prepared.terms | prepared.subject:
            self._postings[term].append(len(self._prepared))
        self._prepared.append(prepared)
        self._near = None

    def candidates(self, terms: Sequence[Term], tuning: Tuning) -> list[Prepared]:
        """Documents that a term finds, in insertion order, with neighbours that may affect them."""
        finding = [it.text for it in terms if it.kind is not TermKind.CHARACTER]
        found = self._around(self._holding(finding), tuning.context_reach)
        lenders = self._holding([it.text for it in terms])
        if len(lenders) > len(found):
            lenders &= self._around(found, tuning.context_reach)
        return [self._prepared[at] for at in sorted(found | lenders)]

    def _holding(self, terms: Sequence[str]) -> set[int]:
        return set().union(*(self._postings.get(term, ()) for term in terms))

    def _around(self, positions: Set[int], reach: int) -> set[int]:
        """The positions, and those up to `reach` before and after them in their conversation."""
        near = set(positions)
        for at in positions:
            conversation, place = self._places().get(at, ((), 0))
            near.update(conversation[max(0, place - reach) : place + reach + 1])
        return near

    def _places(self) -> dict[int, tuple[Sequence[int], int]]:
        if self._near is None:
            self._near = {
                at: (conversation, place)
                for conversation in conversations(self._prepared)
                for place, at in enumerate(conversation)
            }
        return self._near
