"""A run in a few hundred characters: what was asked, what came of it, how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from understudy.core.text import PREVIEW_CHARS
from understudy.memory.asked import request_text
from understudy.memory.bounds import MAX_ARTIFACT_IDS, SUMMARY_CHARS
from understudy.memory.record import Evidence, RunMemory
from understudy.memory.texts import Cleaner, cut_bytes
from understudy.redaction.marker import cut
from understudy.runs.model import Run, RunStatus

EVIDENCE_BYTES: Final = 8 * 1024

# What is said of an ending that has no better words of its own.
STATUS_LINES: Final[Mapping[RunStatus, str]] = {
    RunStatus.COMPLETED: "Status: completed without an answer in words.",
    RunStatus.FAILED: "Status: failed without an error message.",
    RunStatus.INTERRUPTED: "Status: interrupted before it was done.",
    RunStatus.CANCELLED: "Status: cancelled before it was done.",
}
# Endings whose status is a sign that something went wrong.
MARKED: Final = frozenset({RunStatus.FAILED, RunStatus.INTERRUPTED, RunStatus.CANCELLED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """A memory and its evidence, with how much had to be taken out for them."""

    memory: RunMemory
    evidence: Evidence
    redacted: int


def digest(run: Run, *, outcome: str, artifact_ids: tuple[str, ...], cleaner: Cleaner) -> Digest:
    """What is kept of a run that has ended."""
    asked, said, error = (
        cleaner.clean(text) for text in (request_text(run), outcome, run.error or "")
    )
    request_preview, outcome_preview, error_preview = (
        cut(clean.text, PREVIEW_CHARS) for clean in (asked, said, error)
    )
    memory = RunMemory(
        run_id=run.run_id,
        recorded_at_ms=run.updated_at_ms if run.finished_at_ms is None else run.finished_at_ms,
        status=run.status,
        summary=_summary(run.status, request_preview, outcome_preview, error_preview),
        request_preview=request_preview or None,
        outcome_preview=outcome_preview or None,
        artifact_ids=_all_artifacts(run, artifact_ids),
        failure_markers=_failure_markers(run.status, error_preview),
    )
    evidence = Evidence(
        run_id=run.run_id,
        request=cut_bytes(asked.text, EVIDENCE_BYTES),
        outcome=cut_bytes(said.text, EVIDENCE_BYTES),
    )
    redacted = asked.redacted + said.redacted + error.redacted
    return Digest(memory=memory, evidence=evidence, redacted=redacted)


def _all_artifacts(run: Run, made: tuple[str, ...]) -> tuple[str, ...]:
    """What was given, then what was made; each once, and no more than a record holds."""
    given = (item.asset_id for item in run.input.items if item.asset_id is not None)
    return tuple(dict.fromkeys((*given, *made)))[:MAX_ARTIFACT_IDS]


def _failure_markers(status: RunStatus, error: str) -> tuple[str, ...]:
    word = (str(status),) if status in MARKED else ()
    return (*word, f"error: {error}") if error else word


def _summary(status: RunStatus, request: str, outcome: str, error: str) -> str:
    lines = [f"Request: {request}"] if request else []
    if outcome:
        lines.append(f"Result: {outcome}")
    if status is RunStatus.FAILED and error:
        lines.append(f"Error: {error}")
    elif status in MARKED or not outcome:
        lines.append(STATUS_LINES[status])
    return cut("\n".join(lines), SUMMARY_CHARS)
