"""Search: learnings, run memories and skills that a session sees, in one ranked list."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Final

from understudy.core.errors import coded_error
from understudy.core.records import HIDDEN, Omitted, ScopeLists
from understudy.learnings.model import TERM_KIND, Kind, Learning
from understudy.learnings.visibility import prompt_blockers, replaced_ids, search_blockers
from understudy.memory.policy import RunMemoryPolicy
from understudy.redaction.marker import cut
from understudy.retrieval.choice import content_of
from understudy.retrieval.documents import Document, Field
from understudy.retrieval.hits import (
    CANDIDATES,
    TITLE_CHARS,
    Fit,
    Hit,
    Hits,
    HitSource,
    ResultKind,
    SearchRequest,
    SearchResult,
    excerpt,
    matching_documents,
)
from understudy.retrieval.learned import is_small, read, reviewed_among
from understudy.retrieval.rarity import SCAN_LIMIT
from understudy.retrieval.run_search import recovered_runs
from understudy.retrieval.terms import query_terms, terms_of
from understudy.sessions.learning_scopes import LearningScope, ScopeKind, visible_scopes
from understudy.sessions.model import Session
from understudy.sessions.scopes import effective_capability_scope
from understudy.skills.catalogue import rank
from understudy.skills.catalogue_entry import CatalogueEntry

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

DEFAULT_LIMIT: Final = 12
MAX_LIMIT: Final = 50
# Without a query, one place in so many is kept for skills.
SKILLS_SHARE: Final = 3
# What a person or a policy published comes before a run that merely mentions it.
PUBLISHED: Final = 1.25
MAX_QUERY_CHARS: Final = 4096


def visible_skills(asked: SearchRequest) -> Hits:
    """The offered skills that match the query; all without one."""
    by_ref = {one.ref: one for one in _offered_skills(asked)}
    documents = [_document(one) for one in by_ref.values()]
    fits = matching_documents(asked, None, documents)
    return Hits(
        # Skills have no time.
        found=tuple(
            Hit(fit.score, 0, fit.id, partial(_skill_result, by_ref[fit.id], fit)) for fit in fits
        )
    )


def _offered_skills(asked: SearchRequest) -> Sequence[CatalogueEntry]:
    """The skills to rank; of many, a preselection."""
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


def _skill_result(one: CatalogueEntry, fit: Fit) -> SearchResult:
    return SearchResult(
        kind=ResultKind.SKILL,
        source_id=one.ref,
        title=cut(" ".join(one.name.split()), TITLE_CHARS),
        excerpt=excerpt(one.description),
        timestamp_ms=0,
        # A prompt lists it, or tells how to search for it.
        prompt_eligible=True,
        score=fit.score,
        matched_fields=fit.matched_fields,
    )


def visible_learnings(asked: SearchRequest) -> Hits:
    """The visible learnings that match the query; all without one."""
    found = read(asked.unit, _in_sight(asked), asked.scopes)
    replaced = replaced_ids(asked.unit.learnings, found, now_ms=asked.now_ms) if found else ()
    visible = [
        it
        for it in found
        if not search_blockers(it, now_ms=asked.now_ms, is_replaced=it.learning_id in replaced)
    ]
    if asked.reviewed:
        visible = reviewed_among(asked.unit, visible, now_ms=asked.now_ms)
    return Hits(found=tuple(_hits(asked, visible)))


def document_of(learning: Learning) -> Document:
    """The document of a learning for search."""
    content = content_of(learning)
    labels = (
        Field(name="kind", text=str(learning.kind)),
        Field(name="scope", text=str(learning.scope.kind)),
    )
    return replace(content, fields=(*content.fields, *labels))


def _in_sight(asked: SearchRequest) -> list[str]:
    """The ids of learnings to read."""
    index, keys = asked.unit.term_index, [scope.key for scope in asked.scopes]
    terms = query_terms(asked.query) if asked.query is not None else ()
    index.look_ahead(TERM_KIND, scopes=keys, terms=terms)
    if is_small(asked.unit, keys):
        return list(index.newest(TERM_KIND, scopes=keys, limit=SCAN_LIMIT))
    found = [
        each.source_id
        for each in index.candidates(TERM_KIND, scopes=keys, terms=terms, limit=CANDIDATES)
    ]
    if asked.query is None or not label_terms().isdisjoint(terms):
        # Some of the newest may be expired, and one more tells that the list is truncated.
        found += index.newest(TERM_KIND, scopes=keys, limit=asked.limit + CANDIDATES)
    return list(dict.fromkeys(found))


@cache
def label_terms() -> frozenset[str]:
    """The terms of kinds and scopes; the index has only terms of contents."""
    return frozenset(term for each in (*Kind, *ScopeKind) for term in terms_of(each))


def _hits(asked: SearchRequest, visible: Sequence[Learning]) -> Iterator[Hit]:
    by_id = {it.learning_id: it for it in visible}
    for fit in matching_documents(asked, TERM_KIND, [document_of(it) for it in visible]):
        it = by_id[fit.id]
        is_eligible = not prompt_blockers(it, now_ms=asked.now_ms)
        score = fit.score * PUBLISHED if is_eligible else fit.score
        result = partial(_result, it, fit, is_eligible=is_eligible, score=score)
        yield Hit(score, it.published_at_ms, it.learning_id, result)


def _result(learning: Learning, fit: Fit, *, is_eligible: bool, score: float) -> SearchResult:
    return SearchResult(
        kind=ResultKind.LEARNING,
        source_id=learning.learning_id,
        title=cut(" ".join(learning.content.split()), TITLE_CHARS),
        excerpt=excerpt(learning.content),
        timestamp_ms=learning.published_at_ms,
        prompt_eligible=is_eligible,
        score=score,
        scope=learning.scope,
        matched_fields=fit.matched_fields,
        learning_status=str(learning.status),
        publish_tier=str(learning.publish_tier),
        applies=str(learning.applies),
        verification_status=str(learning.verification_status),
    )


# The results of all sources are ranked together.
SOURCES: Final[tuple[HitSource, ...]] = (
    visible_learnings,
    recovered_runs,
    visible_skills,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswer:
    """What a session can find, best first; newest first without a query."""

    session_id: str
    effective_capability_scope: Omitted[ScopeLists] = None
    learning_scopes: tuple[LearningScope, ...]
    query: Omitted[str] = None
    truncated: bool
    results: tuple[SearchResult, ...]
    # Expired run memories that the search met, to be deleted.
    expired: Annotated[tuple[str, ...], HIDDEN] = ()
    # How many run memories could not be read.
    unreadable: Annotated[int, HIDDEN] = 0


def search(
    unit: "Unit",
    session: Session,
    *,
    query: str | None,
    limit: int | None,
    policy: RunMemoryPolicy,
    now_ms: int,
    skills: tuple[CatalogueEntry, ...] = (),
    reviewed: bool = False,
) -> SearchAnswer:
    """Rank what the session sees against the query; without one, the newest come first.

    With `reviewed`, runs and learnings that nobody has reviewed are not found.
    """
    asked = SearchRequest(
        unit=unit,
        session=session,
        scopes=visible_scopes(unit, session),
        query=checked_query(query),
        limit=clamped(limit),
        policy=policy,
        now_ms=now_ms,
        skills=skills,
        reviewed=reviewed,
    )
    hits = [find(asked) for find in SOURCES if not (reviewed and find is recovered_runs)]
    found = sorted((hit for each in hits for hit in each.found), key=_order)
    first = found[: asked.limit] if asked.query is not None else found
    results = [hit.result() for hit in first]
    if asked.query is None:
        results = _with_skills(results, asked.limit)
    return SearchAnswer(
        session_id=session.session_id,
        effective_capability_scope=shown_capability_scope(session),
        learning_scopes=asked.scopes,
        query=asked.query,
        truncated=len(found) > asked.limit,
        results=tuple(results[: asked.limit]),
        expired=tuple(run_id for each in hits for run_id in each.expired),
        unreadable=sum(each.unreadable for each in hits),
    )


def shown_capability_scope(session: Session) -> ScopeLists | None:
    """The effective capability scope of a session; None where it denies nothing."""
    scope = effective_capability_scope(session)
    return None if scope is None else scope.to_json() or None


def checked_query(query: str | None) -> str | None:
    """The trimmed query; None if it is absent or blank."""
    asked = (query or "").strip()
    if len(asked) > MAX_QUERY_CHARS:
        raise coded_error(
            "memory/invalid_query",
            pointer="/query",
            max_query_chars=MAX_QUERY_CHARS,
            asked=len(asked),
        )
    return asked or None


def clamped(limit: int | None) -> int:
    """The limit of results, within bounds."""
    return DEFAULT_LIMIT if limit is None else min(max(limit, 1), MAX_LIMIT)


def _with_skills(results: list[SearchResult], limit: int) -> list[SearchResult]:
    """Newest first; skills have no time, so a share of the last places is theirs."""
    timed = [it for it in results if it.kind is not ResultKind.SKILL]
    skills = [it for it in results if it.kind is ResultKind.SKILL]
    first = limit - min(len(skills), limit // SKILLS_SHARE)
    return [*timed[:first], *skills, *timed[first:]] if len(timed) > first else [*timed, *skills]


def _order(hit: Hit) -> tuple[float, int, str]:
    return (-hit.score, -hit.timestamp_ms, hit.source_id)
