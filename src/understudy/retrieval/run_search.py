"""Search of run memories: of the session, or of every scope it sees."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from understudy.memory.policy import SearchVisibility
from understudy.memory.ports import TERM_KIND
from understudy.memory.record import RunMemory, RunMemoryRecord, doubt
from understudy.redaction.marker import cut
from understudy.retrieval.hits import (
    CANDIDATES,
    TITLE_CHARS,
    Fit,
    Hit,
    Hits,
    ResultKind,
    SearchRequest,
    SearchResult,
    excerpt,
    matching_documents,
)
from understudy.retrieval.rarity import SCAN_LIMIT
from understudy.retrieval.recovered import document_of
from understudy.retrieval.terms import query_terms
from understudy.sessions.learning_scopes import LearningScope, session_scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A run memory visible to the session, and the scope that makes it visible."""

    record: RunMemoryRecord
    scope: LearningScope


def recovered_runs(asked: SearchRequest) -> Hits:
    """The visible run memories that match the query; all without one."""
    living, expired = _in_sight(asked)
    records = _sound(asked, living)
    seen = [
        Seen(record=record, scope=scope)
        for record in records
        if (scope := _seen_through(asked, record)) is not None
    ]
    return Hits(
        found=tuple(_hits(asked, seen)),
        expired=expired,
        unreadable=len(living) - len(records),
    )


def _in_sight(asked: SearchRequest) -> tuple[list[str], tuple[str, ...]]:
    """The run memories to read, and the expired ones in scope."""
    index = asked.unit.run_memory_index
    if _is_wide(asked):
        pointers = index.in_scopes(_keys(asked), limit=SCAN_LIMIT + 1)
    else:
        pointers = index.in_session(asked.session.session_id, limit=SCAN_LIMIT + 1)
    found = [(pointer.run_id, pointer.recorded_at_ms) for pointer in pointers]
    if asked.query is not None and len(found) > SCAN_LIMIT:
        found = _candidates(asked, asked.query)
    expired = tuple(
        run_id for run_id, at_ms in found if asked.policy.is_expired(at_ms, now_ms=asked.now_ms)
    )
    gone = frozenset(expired)
    return [run_id for run_id, _ in found if run_id not in gone], expired


def _candidates(asked: SearchRequest, query: str) -> list[tuple[str, int]]:
    found = asked.unit.term_index.candidates(
        TERM_KIND, scopes=_keys(asked), terms=query_terms(query), limit=CANDIDATES
    )
    return [(each.source_id, each.at_ms) for each in found]


def _sound(asked: SearchRequest, run_ids: Sequence[str]) -> list[RunMemoryRecord]:
    """The records that are readable and not doubtful."""
    records = asked.unit.run_memories.readable(run_ids)
    owners = asked.unit.run_memory_index.owners(run_ids)
    return [
        record
        for run_id, record in records.items()
        if run_id in owners and not doubt(record, session_id=owners[run_id][0])
    ]


def _seen_through(asked: SearchRequest, record: RunMemoryRecord) -> LearningScope | None:
    """The narrowest visible scope of a record; the record decides its scopes."""
    if record.session_id == asked.session.session_id:
        return session_scope(record.session_id)
    if not _is_wide(asked):
        return None
    return next((scope for scope in asked.scopes if scope.key in record.scope_keys), None)


def _is_wide(asked: SearchRequest) -> bool:
    return asked.policy.search_visibility is SearchVisibility.LEARNING_SCOPES


def _keys(asked: SearchRequest) -> tuple[str, ...]:
    if _is_wide(asked):
        return tuple(scope.key for scope in asked.scopes)
    return (session_scope(asked.session.session_id).key,)


def _hits(asked: SearchRequest, seen: Sequence[Seen]) -> Iterator[Hit]:
    by_run = {each.record.run_id: each for each in seen}
    for fit in matching_documents(
        asked, TERM_KIND, [document_of(each.record.memory) for each in seen]
    ):
        it = by_run[fit.id]
        at_ms = it.record.memory.recorded_at_ms
        yield Hit(fit.score, at_ms, fit.id, partial(_result, asked, it, fit))


def _result(asked: SearchRequest, seen: Seen, fit: Fit) -> SearchResult:
    record = seen.record
    return SearchResult(
        kind=ResultKind.RECOVERED_RUN,
        source_id=record.run_id,
        title=_title(record.memory),
        excerpt=excerpt(record.memory.summary),
        timestamp_ms=record.memory.recorded_at_ms,
        # Prompts only get run memories of their own session.
        prompt_eligible=record.session_id == asked.session.session_id,
        score=fit.score,
        scope=seen.scope,
        matched_fields=fit.matched_fields,
    )


def _title(memory: RunMemory) -> str:
    asked = " ".join((memory.request_preview or "").split())
    if not asked:
        return f"{memory.run_id} ({memory.status})"
    return cut(asked, TITLE_CHARS)
