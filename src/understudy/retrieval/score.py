"""How well each document answers a question, and why."""

from collections.abc import Sequence
from typing import Final

from understudy.retrieval.clue_matches import DocumentFinding, find
from understudy.retrieval.documents import Document, Field, Match, Scored, Statistics
from understudy.retrieval.neighbours import conversations, lend
from understudy.retrieval.points import scored
from understudy.retrieval.prepare import Prepared, prepare
from understudy.retrieval.question import ask
from understudy.retrieval.tuning import TUNING, Tuning

__all__ = [
    "RECOMMENDED_FLOOR",
    "Document",
    "Field",
    "Match",
    "Prepared",
    "Scored",
    "Statistics",
    "prepare",
    "rank",
    "relevant",
]


def rank(
    query: str,
    documents: Sequence[Document | Prepared],
    *,
    statistics: Statistics | None = None,
    now_ms: int | None = None,
    tuning: Tuning = TUNING,
) -> tuple[Scored, ...]:
    """Every document with its score: best first, then newest, then highest id."""
    prepared = [it if isinstance(it, Prepared) else prepare(it) for it in documents]
    question = ask(query, prepared, statistics=statistics, now_ms=now_ms, tuning=tuning)
    findings = [find(question, it, tuning) for it in prepared]
    if tuning.context:
        _share(findings, prepared, tuning)
    found = [scored(question, it, tuning) for it in findings]
    return tuple(sorted(found, key=lambda it: (it.score, it.at_ms, it.id), reverse=True))


def _share(findings: list[DocumentFinding], prepared: list[Prepared], tuning: Tuning) -> None:
    strengths = [it.strengths for it in findings]
    for conversation in conversations(prepared):
        pieces = [findings[position] for position in conversation]
        lent = lend([strengths[position] for position in conversation], tuning)
        for at, piece in enumerate(pieces):
            near = pieces[max(0, at - tuning.context_reach) : at + tuning.context_reach + 1]
            piece.lent = lent[at]
            piece.is_carried = tuning.carries and any(
                it.has_evidence and it.at_ms == piece.at_ms for it in near
            )


# Keeps out 49 of 50 questions that nothing in store answers, and 1 in 50 of the others.
RECOMMENDED_FLOOR: Final = 0.45


def relevant(scored: Scored, floor: float) -> bool:
    """Whether the document covers enough of the question; a floor of 0 lets everything through."""
    return scored.coverage >= floor
