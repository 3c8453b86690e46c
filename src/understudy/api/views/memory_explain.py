"""Why each record in sight would or would not reach a prompt, as the wire shows it."""

from collections.abc import Callable, Mapping
from typing import Final

from understudy.api.views.memory import match_views, scope_view, scope_views
from understudy.memory.policy import RunMemoryPolicy
from understudy.retrieval.choice import MAX_ENTRIES
from understudy.retrieval.explain import ExplainedRecord, Explanation
from understudy.retrieval.hits import ResultKind
from understudy.retrieval.reasons import explanation, learned_explanation
from understudy.wire.memory import ExplainedEntryView, MemoryExplainView

INCLUDED: Final = "included"


def explain_view(found: Explanation) -> MemoryExplainView:
    """Every record in sight of a session, in or out."""
    return MemoryExplainView(
        session_id=found.session.session_id,
        query=found.query,
        learning_scopes=scope_views(found.learning_scopes),
        max_prompt_entries=found.policy.max_prompt_entries,
        relevance_floor=found.policy.relevance_floor,
        max_learned_entries=MAX_ENTRIES,
        entries=[_entry(record, found.policy) for record in found.entries],
        truncated=found.truncated,
    )


def _entry(record: ExplainedRecord, policy: RunMemoryPolicy) -> ExplainedEntryView:
    scored = record.scored
    is_run = record.kind is ResultKind.RECOVERED_RUN
    return ExplainedEntryView(
        kind=record.kind.value,
        source_id=record.source_id,
        learning_id=None if is_run else record.source_id,
        run_id=record.source_id if is_run else None,
        scope=scope_view(record.scope),
        timestamp_ms=record.at_ms,
        label=record.label,
        text=record.text,
        rank=record.rank,
        score=round(scored.score, 4) if scored else 0.0,
        coverage=_coverage(record),
        matches=match_views(scored.matches) if scored else [],
        tokens=record.tokens,
        injected=record.is_included,
        reasons=list(record.reasons),
        reason=_reason(record),
        explanation=_WORDS[record.kind](record, policy),
    )


def _of_run(record: ExplainedRecord, policy: RunMemoryPolicy) -> str:
    return explanation(
        _reason(record),
        score=record.scored.score if record.scored else None,
        coverage=_coverage(record),
        limit=policy.max_prompt_entries,
        floor=policy.relevance_floor,
    )


def _of_learning(record: ExplainedRecord, _: RunMemoryPolicy) -> str:
    scored = record.scored
    return learned_explanation(record.reasons, score=scored.score if scored else None)


_WORDS: Final[Mapping[ResultKind, Callable[[ExplainedRecord, RunMemoryPolicy], str]]] = {
    ResultKind.RECOVERED_RUN: _of_run,
    ResultKind.LEARNING: _of_learning,
}


def _reason(record: ExplainedRecord) -> str:
    return record.reasons[0] if record.reasons else INCLUDED


def _coverage(record: ExplainedRecord) -> float:
    return round(record.scored.coverage, 4) if record.scored else 0.0
