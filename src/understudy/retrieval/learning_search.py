"""Finding learnings: everything that the session's scopes hold and that is not hidden."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from understudy.learnings.model import TERM_KIND, Kind, Learning
from understudy.learnings.visibility import prompt_blockers, replaced_ids, search_blockers
from understudy.redaction.marker import cut
from understudy.retrieval.choice import content_of
from understudy.retrieval.fitting import Fit, fitting
from understudy.retrieval.hits import (
    CANDIDATES,
    TITLE_CHARS,
    Asked,
    Hits,
    ResultKind,
    SearchResult,
    excerpt,
)
from understudy.retrieval.learned import is_small, read
from understudy.retrieval.rarity import SCAN_LIMIT
from understudy.retrieval.score import Document, Field
from understudy.retrieval.terms import query_terms, terms_of
from understudy.sessions.learning_scopes import ScopeKind

# What is said of every learning of a kind or scope; the index holds only what learnings say.
LABELS: Final = frozenset(term for each in (*Kind, *ScopeKind) for term in terms_of(each))


def visible_learnings(asked: Asked) -> Hits:
    """The learnings in sight that fit the query; all of them without one."""
    found = read(asked.unit, _in_sight(asked), asked.scopes)
    replaced = replaced_ids(asked.unit.learnings, found, now_ms=asked.now_ms) if found else ()
    visible = [
        it
        for it in found
        if not search_blockers(it, now_ms=asked.now_ms, is_replaced=it.learning_id in replaced)
    ]
    return Hits(results=tuple(_results(asked, visible)))


def document_of(learning: Learning) -> Document:
    """A learning as it is looked through."""
    content = content_of(learning)
    labels = (
        Field(name="kind", text=str(learning.kind)),
        Field(name="scope", text=str(learning.scope.kind)),
    )
    return replace(content, fields=(*content.fields, *labels))


def _in_sight(asked: Asked) -> list[str]:
    """The learnings worth reading."""
    index, keys = asked.unit.term_index, [scope.key for scope in asked.scopes]
    if is_small(asked.unit, keys):
        return list(index.newest(TERM_KIND, scopes=keys, limit=SCAN_LIMIT))
    terms = query_terms(asked.query) if asked.query is not None else ()
    found = [
        each.source_id
        for each in index.candidates(TERM_KIND, scopes=keys, terms=terms, limit=CANDIDATES)
    ]
    if asked.query is None or not LABELS.isdisjoint(terms):
        # Some of the newest may be past their time, and one more tells that there are more.
        found += index.newest(TERM_KIND, scopes=keys, limit=asked.limit + CANDIDATES)
    return list(dict.fromkeys(found))


def _results(asked: Asked, visible: Sequence[Learning]) -> Iterator[SearchResult]:
    by_id = {it.learning_id: it for it in visible}
    for fit in fitting(asked, TERM_KIND, [document_of(it) for it in visible]):
        yield _result(asked, by_id[fit.id], fit)


def _result(asked: Asked, learning: Learning, fit: Fit) -> SearchResult:
    return SearchResult(
        kind=ResultKind.LEARNING,
        source_id=learning.learning_id,
        title=cut(" ".join(learning.content.split()), TITLE_CHARS),
        excerpt=excerpt(learning.content),
        timestamp_ms=learning.published_at_ms,
        prompt_eligible=not prompt_blockers(learning, now_ms=asked.now_ms),
        score=fit.score,
        scope=learning.scope,
        matched_fields=fit.matched_fields,
        learning_status=learning.status,
        publish_tier=learning.publish_tier,
        verification_status=learning.verification_status,
    )
