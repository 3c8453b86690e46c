"""The injection report of a run: what its prompt had injected, what not, and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from understudy.core.errors import UnderstudyError, coded_error
from understudy.core.records import Omitted, parsed
from understudy.learnings.model import Applies
from understudy.memory.policy import RunMemoryPolicy
from understudy.retrieval.choice import (
    MAX_ENTRIES,
    OMITTED,
    ConsideredLearning,
    Learned,
    LearningReason,
    is_sensitive,
    learned_explanation,
)
from understudy.retrieval.documents import Scored
from understudy.retrieval.frame import Packed, PromptBudget
from understudy.retrieval.recovered import ConsideredRun, Recovered, RunReason, explanation
from understudy.runs.model import Run, require_run

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# The most entries of a stored report; the rest is only counted.
MAX_LISTED: Final = 50
NOT_STARTED: Final = "the run has not begun, so nothing was given to it"
NOT_RECORDED: Final = "nothing was noted down when the run began"
REPORTED: Final = "as it was when the run began"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedRun:
    """A run memory that was considered for the prompt of a run."""

    run_id: str
    recorded_at_ms: int
    score: float
    coverage: float
    # The matched words of the input, by field.
    matched: Mapping[str, list[str]]
    injected: bool
    reason: str
    explanation: str
    # Its summary; absent once the record is gone.
    text: Omitted[str] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedLearning:
    """A learning that was considered for the prompt of a run, as it was then."""

    learning_id: str
    version: int
    kind: str
    # Such as `workspace:default`.
    scope: str
    published_at_ms: int
    score: float
    coverage: float
    matched: Mapping[str, list[str]]
    injected: bool
    # `always` or `when_relevant`.
    applies: str = Applies.WHEN_RELEVANT
    # The codes that kept it out.
    reasons: tuple[str, ...]
    explanation: str
    # What it says; absent once it is erased, and for a sensitive one.
    text: Omitted[str] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedReport:
    """The learnings part of a report."""

    # `reported`, or `failed` with the problem as explanation.
    reason: str
    explanation: str
    injected_count: int
    omitted_count: int
    unlisted_count: int
    used_tokens: int
    entries: tuple[ReportedLearning, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBudget:
    """The token limit of a prompt, its tokens without memory, and those of memory."""

    limit_tokens: int
    base_tokens: int
    memory_tokens: int
    used_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReport:
    """What a run had injected, what was left out, and why."""

    run_id: str
    session_id: str
    # `reported`, or why nothing was given: `failed`, `not_started`, `not_recorded`.
    reason: str
    explanation: str
    injected_count: int = 0
    # Left out for lack of room.
    omitted_count: int = 0
    # Considered, and not listed here.
    unlisted_count: int = 0
    budget: Omitted[MemoryBudget] = None
    entries: tuple[ReportedRun, ...] = ()
    # Absent in reports of older versions.
    learned: Omitted[LearnedReport] = None


def injection_report(unit: "Unit", run_id: str) -> Mapping[str, Any] | None:
    """The stored report of a run, or `NotFound`; None if the run has not begun or has none."""
    if require_run(unit, run_id).started_at_ms is None:
        return None
    return unit.runs.reports(run_id).memory


def memory_report(
    run: Run, report: Mapping[str, Any] | None, *, texts: Mapping[str, str] | None = None
) -> MemoryReport:
    """The report of a run for readers, also if nothing was injected.

    `texts` is what the learnings and runs among its entries say, by id.
    """
    if not report:
        begun = run.started_at_ms is not None
        return MemoryReport(
            run_id=run.run_id,
            session_id=run.session_id,
            reason="not_recorded" if begun else "not_started",
            explanation=NOT_RECORDED if begun else NOT_STARTED,
        )
    try:
        fields = {"run_id": run.run_id, "session_id": run.session_id, **_told(report, texts or {})}
        return parsed(MemoryReport, fields)
    except (ValidationError, KeyError, TypeError, AttributeError) as problem:
        raise coded_error("runs/memory_report_damaged", run_id=run.run_id) from problem


def reported_texts(unit: "Unit", report: Mapping[str, Any] | None) -> dict[str, str]:
    """What the learnings and runs of a stored report say, by id; nothing of sensitive ones."""
    if not report:
        return {}
    learned = [it["learning_id"] for it in report.get("learned", {}).get("entries", ())]
    runs = [it["run_id"] for it in report.get("entries", ())]
    said = {
        it.learning_id: it.content
        for it in unit.learnings.readable(learned).values()
        if not is_sensitive(it)
    }
    return said | {
        run_id: record.memory.summary for run_id, record in unit.run_memories.readable(runs).items()
    }


def _told(report: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    counts = report["counts"]
    return {
        **_outcome(report),
        "injected_count": counts[RunReason.INCLUDED],
        "omitted_count": counts[RunReason.OVER_ENTRY_LIMIT] + counts[RunReason.OVER_BUDGET],
        "budget": report["budget"],
        "entries": [
            {**_told_run(entry, report), "text": texts.get(entry["run_id"])}
            for entry in report["entries"]
        ],
        "learned": _told_learned(report["learned"], texts) if "learned" in report else None,
    }


def _told_learned(report: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    counts = report["counts"]
    return {
        **_outcome(report),
        "injected_count": counts[LearningReason.INCLUDED],
        "omitted_count": sum(counts.get(reason, 0) for reason in OMITTED),
        "used_tokens": report["used_tokens"],
        "entries": [
            {**_told_learning(entry), "text": texts.get(entry["learning_id"])}
            for entry in report["entries"]
        ],
    }


def _outcome(report: Mapping[str, Any]) -> dict[str, Any]:
    problem = report["problem"]
    return {
        "reason": "failed" if problem else "reported",
        "explanation": problem["detail"] if problem else REPORTED,
        "unlisted_count": report["unlisted"],
    }


def _told_learning(entry: Mapping[str, Any]) -> dict[str, Any]:
    score, reasons = entry.get("score"), entry["reasons"]
    return {
        **entry,
        "score": score or 0.0,
        "coverage": entry.get("coverage", 0.0),
        "matched": entry.get("matched", {}),
        "injected": not reasons,
        "explanation": learned_explanation(
            reasons, score=score, is_standing=entry.get("is_standing", False)
        ),
    }


def _told_run(entry: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, Any]:
    coverage = entry.get("coverage", 0.0)
    return {
        **entry,
        "score": entry.get("score", 0.0),
        "coverage": coverage,
        "matched": entry.get("matched", {}),
        "injected": entry["reason"] == RunReason.INCLUDED,
        "explanation": explanation(
            entry["reason"],
            score=entry.get("score"),
            coverage=coverage,
            limit=report["max_prompt_entries"],
            floor=report["relevance_floor"],
        ),
    }


def injection_json(
    recovered: Mapping[str, Any], learned: Mapping[str, Any], budget: PromptBudget
) -> dict[str, Any]:
    """The stored report of one prompt."""
    used = recovered["used_tokens"] + learned["used_tokens"]
    return {**recovered, "budget": _budget(budget, used=used), "learned": learned}


def recovered_json(found: Recovered, packed: Packed, policy: RunMemoryPolicy) -> dict[str, Any]:
    """The run memories part of a stored report."""
    return {
        "problem": None,
        "is_ranked": found.is_ranked,
        "max_prompt_entries": policy.max_prompt_entries,
        "relevance_floor": policy.relevance_floor,
        "used_tokens": packed.tokens,
        "counts": _counts(found),
        "entries": [_entry(it) for it in found.considered[:MAX_LISTED]],
        "unlisted": max(0, len(found.considered) - MAX_LISTED),
    }


def learned_json(found: Learned, packed: Packed) -> dict[str, Any]:
    """The learnings part of a stored report."""
    return {
        "problem": None,
        "is_ranked": found.is_ranked,
        "is_browsed": found.is_browsed,
        "max_prompt_entries": MAX_ENTRIES,
        "used_tokens": packed.tokens,
        "counts": {**dict.fromkeys(map(str, LearningReason), 0), **found.counts},
        "entries": [_learning(it) for it in found.considered[:MAX_LISTED]],
        "unlisted": max(0, len(found.considered) - MAX_LISTED),
    }


def failed_json(problem: UnderstudyError) -> dict[str, Any]:
    """The report of a section that failed."""
    return {
        "problem": {"code": problem.code, "detail": problem.detail},
        "is_ranked": False,
        "max_prompt_entries": None,
        "relevance_floor": None,
        "used_tokens": 0,
        "counts": _counts(Recovered()),
        "entries": [],
        "unlisted": 0,
    }


def _budget(budget: PromptBudget, *, used: int) -> dict[str, int]:
    return {
        "limit_tokens": budget.limit,
        "base_tokens": budget.base,
        "memory_tokens": budget.tokens,
        "used_tokens": used,
    }


def _counts(found: Recovered) -> dict[str, int]:
    """The number of ranked runs, and of runs by reason."""
    ranked = found.readable if found.is_ranked else 0
    return {"ranked": ranked, **{str(reason): found.count(reason) for reason in RunReason}}


def _entry(it: ConsideredRun) -> dict[str, Any]:
    return {
        "run_id": it.run_id,
        "recorded_at_ms": it.recorded_at_ms,
        "reason": str(it.reason),
        **(_score(it.scored) if it.scored else {}),
    }


def _learning(it: ConsideredLearning) -> dict[str, Any]:
    learning = it.learning
    return {
        "learning_id": learning.learning_id,
        "version": learning.version,
        "kind": str(learning.kind),
        "scope": learning.scope.key,
        "published_at_ms": learning.published_at_ms,
        "applies": str(learning.applies),
        "is_standing": it.is_standing,
        "reasons": [str(each) for each in it.reasons],
        **(_score(it.scored) if it.scored else {}),
    }


def _score(scored: Scored) -> dict[str, Any]:
    return {
        "score": scored.score,
        "coverage": round(scored.coverage, 4),
        "matched": {match.field: list(match.terms) for match in scored.matches},
    }
