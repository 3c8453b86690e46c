"""Finding skills: of what the session's agent may use, what fits the query."""

from collections.abc import Sequence

from understudy.redaction.marker import cut
from understudy.retrieval.best_matches import Fit, fitting
from understudy.retrieval.hits import (
    CANDIDATES,
    TITLE_CHARS,
    Hits,
    ResultKind,
    SearchRequest,
    SearchResult,
    excerpt,
)
from understudy.retrieval.rarity import SCAN_LIMIT
from understudy.retrieval.score import Document, Field
from understudy.skills.catalogue_entry import CatalogueEntry
from understudy.skills.ranking import rank


def visible_skills(asked: SearchRequest) -> Hits:
    """The skills on offer that fit the query."""
    by_ref = {one.ref: one for one in _in_sight(asked)}
    documents = [_document(one) for one in by_ref.values()]
    fits = fitting(asked, None, documents)
    return Hits(results=tuple(_result(by_ref[fit.id], fit) for fit in fits))


def _in_sight(asked: SearchRequest) -> Sequence[CatalogueEntry]:
    """Those worth a close look."""
    if len(asked.skills) <= SCAN_LIMIT:
        return asked.skills
    return rank(asked.skills, asked.query or "")[:CANDIDATES]


def _document(one: CatalogueEntry) -> Document:
    return Document(
        id=one.ref,
        fields=(
            Field(name="name", text=one.name),
            Field(name="description", text=one.description),
            Field(name="when_to_use", text=one.when_to_use),
        ),
    )


def _result(one: CatalogueEntry, fit: Fit) -> SearchResult:
    return SearchResult(
        kind=ResultKind.SKILL,
        source_id=one.ref,
        title=cut(" ".join(one.name.split()), TITLE_CHARS),
        excerpt=excerpt(one.description),
        timestamp_ms=0,
        # A prompt names it, or tells how to look for it.
        prompt_eligible=True,
        score=fit.score,
        matched_fields=fit.matched_fields,
    )
