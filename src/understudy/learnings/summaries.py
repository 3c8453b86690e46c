"""The candidate that every run leaves for people to look at: its summary."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from understudy.core.clock import DAY_MS, Clock
from understudy.core.invisible_characters import hidden_in, is_unseen
from understudy.learnings.capture_settings import CaptureSettings
from understudy.learnings.listeners import NO_LISTENERS, Listeners
from understudy.learnings.model import (
    MAX_CONTENT_CHARS,
    Candidate,
    CapturePath,
    EvidenceRef,
    Kind,
    LearningSource,
    Origin,
    Sensitivity,
)
from understudy.learnings.proposal import NewCandidate, make_candidate
from understudy.learnings.taint import untrusted_sources
from understudy.memory.record import RunMemoryRecord
from understudy.redaction.marker import cut
from understudy.runs.model import Run
from understudy.sessions.learning_scopes import session_scope

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

CONFIDENCE: Final = 100
KEPT_MS: Final = 30 * DAY_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummaries:
    """Proposes the summaries of runs, where the policy says so."""

    clock: Clock
    settings: Callable[["Unit"], CaptureSettings]
    listeners: Listeners = NO_LISTENERS

    def kept(self, unit: "Unit", run: Run, record: RunMemoryRecord) -> None:
        """Propose one summary for a run whose record is kept in this transaction."""
        if not self.settings(unit).run_summary_candidates:
            return
        now = self.clock.now_ms()
        is_untrusted = bool(untrusted_sources(unit, run))
        candidate = summary_of(run, record, now_ms=now, is_untrusted=is_untrusted)
        if unit.candidates.add(candidate):
            unit.review_queue.put([candidate.candidate_id], due_at_ms=now)
            self._tell(unit)

    def _tell(self, unit: "Unit") -> None:
        count = self.listeners.observer.candidate_proposed
        unit.after_commit(partial(count, CapturePath.RUN_SUMMARY))
        unit.after_commit(self.listeners.review)


def summary_of(run: Run, record: RunMemoryRecord, *, now_ms: int, is_untrusted: bool) -> Candidate:
    """The candidate that a run's summary makes."""
    wanted = NewCandidate(
        scope=session_scope(record.session_id),
        kind=Kind.RUN_SUMMARY,
        content=_showable(cut(record.memory.summary, MAX_CONTENT_CHARS - 1)),
        sensitivity=Sensitivity.SENSITIVE,
        confidence=CONFIDENCE,
        source=LearningSource(
            run_id=record.run_id, session_id=record.session_id, agent_id=run.agent_id
        ),
        evidence_refs=(EvidenceRef(run_id=record.run_id),),
        expires_at_ms=now_ms + KEPT_MS,
        capture_path=CapturePath.RUN_SUMMARY,
        derived_from_untrusted=is_untrusted,
    )
    return make_candidate(wanted, origin=Origin.DAEMON, now_ms=record.memory.recorded_at_ms)


def _showable(text: str) -> str:
    """The text without what hides in it, for no candidate may hide anything."""
    if hidden_in(text) is None:
        return text
    return "".join(" " if is_unseen(it) and it not in "\n\t" else it for it in text)
