"""Which of the documents in sight fit a search, best first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from understudy.retrieval.containment import needle
from understudy.retrieval.hits import SearchRequest
from understudy.retrieval.score import Document, rank
from understudy.retrieval.terms import query_terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A document that fits, how well, and through which of its fields."""

    id: str
    score: float = 0.0
    matched_fields: tuple[str, ...] = ()


def fitting(asked: SearchRequest, kind: str | None, documents: Sequence[Document]) -> Iterator[Fit]:
    """Those that earn something; without a query all of them, as they come.

    How common a term is, the index knows for its kinds; of others the documents tell themselves.
    """
    if asked.query is None:
        yield from (Fit(id=it.id) for it in documents)
        return
    by_id = {it.id: it for it in documents}
    statistics = asked.unit.term_index.statistics(kind, query_terms(asked.query)) if kind else None
    sought = needle(asked.query)
    for scored in rank(asked.query, documents, statistics=statistics, now_ms=asked.now_ms):
        score, fields = sought.earned(scored, by_id[scored.id])
        if score > 0:
            yield Fit(id=scored.id, score=score, matched_fields=fields)
