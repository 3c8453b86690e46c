"""What a run was given to remember, as the wire shows it."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from understudy.core.errors import DamagedRecord
from understudy.retrieval.choice import OMITTED
from understudy.retrieval.choice import LearningReason as LearnedReason
from understudy.retrieval.inspection import RunReport
from understudy.retrieval.reasons import explanation, learned_explanation
from understudy.retrieval.recovered import RunReason
from understudy.wire.memory import MemoryReportView

NOT_STARTED: Final = "the run has not begun, so nothing was given to it"
NOT_RECORDED: Final = "nothing was noted down when the run began"
REPORTED: Final = "as it was when the run began"


def report_view(found: RunReport) -> MemoryReportView:
    """What was given, what was left out, and why; where nothing was, why not."""
    report = found.report
    if not report:
        begun = found.run.started_at_ms is not None
        words = {"reason": "not_recorded", "explanation": NOT_RECORDED}
        return _view(found, words if begun else _not_started())
    try:
        return _view(found, _told(report))
    except (ValidationError, KeyError, TypeError, AttributeError) as problem:
        raise DamagedRecord(
            "memory_report_damaged",
            domain="runs",
            detail=f"the memory report of run {found.run.run_id} cannot be read",
        ) from problem


def _view(found: RunReport, fields: Mapping[str, Any]) -> MemoryReportView:
    run = found.run
    return MemoryReportView.model_validate(
        {"run_id": run.run_id, "session_id": run.session_id, **fields}
    )


def _not_started() -> dict[str, Any]:
    return {"reason": "not_started", "explanation": NOT_STARTED}


def _told(report: Mapping[str, Any]) -> dict[str, Any]:
    problem, counts = report["problem"], report["counts"]
    return {
        "reason": "failed" if problem else "reported",
        "explanation": problem["detail"] if problem else REPORTED,
        "injected_count": counts[RunReason.INCLUDED],
        "omitted_count": counts[RunReason.OVER_ENTRY_LIMIT] + counts[RunReason.OVER_BUDGET],
        "unlisted_count": report["unlisted"],
        "budget": report["budget"],
        "entries": [_entry(entry, report) for entry in report["entries"]],
        "learned": _learned(report["learned"]) if "learned" in report else None,
    }


def _learned(report: Mapping[str, Any]) -> dict[str, Any]:
    problem, counts = report["problem"], report["counts"]
    return {
        "reason": "failed" if problem else "reported",
        "explanation": problem["detail"] if problem else REPORTED,
        "injected_count": counts[LearnedReason.INCLUDED],
        "omitted_count": sum(counts[reason] for reason in OMITTED),
        "unlisted_count": report["unlisted"],
        "used_tokens": report["used_tokens"],
        "entries": [_learning(entry) for entry in report["entries"]],
    }


def _learning(entry: Mapping[str, Any]) -> dict[str, Any]:
    score, reasons = entry.get("score"), entry["reasons"]
    return {
        **entry,
        "score": score or 0.0,
        "coverage": entry.get("coverage", 0.0),
        "matched": entry.get("matched", {}),
        "injected": not reasons,
        "explanation": learned_explanation(reasons, score=score),
    }


def _entry(entry: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, Any]:
    coverage = entry.get("coverage", 0.0)
    return {
        "run_id": entry["run_id"],
        "recorded_at_ms": entry["recorded_at_ms"],
        "score": entry.get("score", 0.0),
        "coverage": coverage,
        "matched": entry.get("matched", {}),
        "injected": entry["reason"] == RunReason.INCLUDED,
        "reason": entry["reason"],
        "explanation": explanation(
            entry["reason"],
            score=entry.get("score"),
            coverage=coverage,
            limit=report["max_prompt_entries"],
            floor=report["relevance_floor"],
        ),
    }
