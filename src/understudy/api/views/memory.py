"""What is remembered, as the wire shows it."""

from collections.abc import Sequence
from typing import Final

from understudy.core.scope import Scope
from understudy.learnings.model import Learning
from understudy.memory.record import RunEvidence, RunMemory, RunMemoryRecord, record_json
from understudy.retrieval.context import MemoryContext
from understudy.retrieval.hits import SearchResult
from understudy.retrieval.inspection import Listed
from understudy.retrieval.score import Match
from understudy.retrieval.search import SearchAnswer
from understudy.sessions.learning_scopes import LearningScope
from understudy.sessions.scopes import effective_capability_scope
from understudy.wire.memory import (
    EvidenceView,
    LearnedContextView,
    LearnedEntryView,
    LearningScopeView,
    MatchView,
    MemoryContextView,
    MemorySearchView,
    RecoveredEntryView,
    RecoveredMemoryView,
    RunMemoryItem,
    RunMemoryView,
    SearchResultView,
)
from understudy.wire.skills import OfferedSkill

# How many skills are shown, by name; `/v1/sessions/{id}/skills` has them all.
MAX_SKILLS: Final = 200


def context_view(context: MemoryContext) -> MemoryContextView:
    """What the next run would be given."""
    kept, learned = context.recovered.kept, context.learned.kept
    return MemoryContextView(
        session_id=context.session.session_id,
        effective_capability_scope=_lists(effective_capability_scope(context.session)),
        learning_scopes=scope_views(context.learning_scopes),
        learned_context=LearnedContextView(
            entries=[_learned(learning) for learning in learned],
            truncated=context.learned.omitted > 0,
        )
        if learned
        else None,
        recovered_memory=RecoveredMemoryView(
            entries=[_entry(memory) for memory in kept],
            truncated=context.recovered.omitted > 0,
        )
        if kept
        else None,
        visible_skills=[OfferedSkill.from_entry(one) for one in context.skills[:MAX_SKILLS]],
        visible_skill_count=len(context.skills),
    )


def search_view(answer: SearchAnswer) -> MemorySearchView:
    """What was found."""
    return MemorySearchView(
        session_id=answer.session.session_id,
        effective_capability_scope=_lists(effective_capability_scope(answer.session)),
        learning_scopes=scope_views(answer.learning_scopes),
        query=answer.query,
        truncated=answer.truncated,
        results=[_result(result) for result in answer.results],
    )


def record_view(record: RunMemoryRecord, evidence: RunEvidence | None) -> RunMemoryView:
    """The record that a run left behind."""
    shown = RunMemoryView.model_validate(record_json(record))
    if evidence is None:
        return shown
    longer = EvidenceView(request=evidence.request, outcome=evidence.outcome)
    return shown.model_copy(update={"evidence": longer})


def item_view(listed: Listed) -> RunMemoryItem:
    """A record in a list."""
    pointer, memory = listed.pointer, listed.memory
    return RunMemoryItem(
        run_id=pointer.run_id,
        session_id=pointer.session_id,
        recorded_at_ms=pointer.recorded_at_ms,
        semantic_capture=pointer.semantic_capture.value,
        status=memory.status if memory else None,
        summary=memory.summary if memory else None,
    )


def match_views(matches: Sequence[Match]) -> list[MatchView]:
    """What the fields of a record gave."""
    return [
        MatchView(field=match.field, terms=list(match.terms), points=round(match.points, 4))
        for match in matches
    ]


def _learned(learning: Learning) -> LearnedEntryView:
    return LearnedEntryView(
        learning_id=learning.learning_id,
        kind=learning.kind.value,
        published_at_ms=learning.published_at_ms,
        content=learning.content,
    )


def _entry(memory: RunMemory) -> RecoveredEntryView:
    return RecoveredEntryView(
        run_id=memory.run_id,
        recorded_at_ms=memory.recorded_at_ms,
        status=memory.status,
        summary=memory.summary,
    )


def _result(result: SearchResult) -> SearchResultView:
    return SearchResultView(
        kind=result.kind.value,
        source_id=result.source_id,
        title=result.title,
        excerpt=result.excerpt,
        score=round(result.score, 4),
        timestamp_ms=result.timestamp_ms,
        scope=None if result.scope is None else scope_view(result.scope),
        prompt_eligible=result.prompt_eligible,
        learning_status=result.learning_status,
        publish_tier=result.publish_tier,
        verification_status=result.verification_status,
        matched_fields=list(result.matched_fields),
    )


def scope_views(scopes: Sequence[LearningScope]) -> list[LearningScopeView]:
    """What a session sees, narrowest first."""
    return [scope_view(scope) for scope in scopes]


def scope_view(scope: LearningScope) -> LearningScopeView:
    """What knowledge is kept for."""
    return LearningScopeView(kind=scope.kind.value, id=scope.id)


def _lists(scope: Scope | None) -> dict[str, list[str]] | None:
    return None if scope is None else scope.to_json() or None
