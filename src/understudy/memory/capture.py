"""Capture: the run memory of a run is made in the transaction that ends the run."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import structlog

from understudy.core.clock import Clock
from understudy.core.errors import DamagedRecord, DatabaseUnavailable, Unavailable, UnderstudyError
from understudy.core.text import PREVIEW_CHARS
from understudy.memory.policy import RunMemoryPolicy, policy_in, stored_policy
from understudy.memory.record import (
    MAX_ARTIFACT_IDS,
    MAX_SCOPE_KEYS,
    SUMMARY_CHARS,
    RunEvidence,
    RunMemory,
    RunMemoryRecord,
    SemanticCapture,
)
from understudy.memory.retention import Keeper
from understudy.memory.texts import EVIDENCE_BYTES, Cleaner, cut_bytes, request_text
from understudy.redaction.marker import cut
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import Run, RunStatus, RunTrace
from understudy.sessions.journal import EventKind, JournalEvent, own_text
from understudy.sessions.learning_scopes import session_scope, visible_scopes
from understudy.sessions.model import require_session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()

# The outcome of a run that ended without a text.
STATUS_LINES: Final[Mapping[RunStatus, str]] = {
    RunStatus.COMPLETED: "Status: completed without an answer in words.",
    RunStatus.FAILED: "Status: failed without an error message.",
    RunStatus.INTERRUPTED: "Status: interrupted before it was done.",
    RunStatus.CANCELLED: "Status: cancelled before it was done.",
}
# Statuses that are failure markers.
MARKED: Final = frozenset({RunStatus.FAILED, RunStatus.INTERRUPTED, RunStatus.CANCELLED})
BATCH: Final = 100
# Shorter texts are scrubbed quickly enough under the lock.
WORTH_CHARS: Final = 4_096
# Called with a run and its record, in the transaction that stores the record.
KeptHook = Callable[["Unit", Run, RunMemoryRecord, RunEvidence], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """A run memory and its evidence, with the number of redactions."""

    memory: RunMemory
    evidence: RunEvidence
    redacted: int


def digest(run: Run, *, outcome: str, artifact_ids: tuple[str, ...], cleaner: Cleaner) -> Digest:
    """The run memory and evidence of an ended run."""
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
    evidence = RunEvidence(
        run_id=run.run_id,
        request=cut_bytes(asked.text, EVIDENCE_BYTES),
        outcome=cut_bytes(said.text, EVIDENCE_BYTES),
    )
    redacted = asked.redacted + said.redacted + error.redacted
    return Digest(memory=memory, evidence=evidence, redacted=redacted)


def _all_artifacts(run: Run, made: tuple[str, ...]) -> tuple[str, ...]:
    """Input artifacts, then created ones, without duplicates, cut to the limit of a record."""
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


class NotMade(Unavailable):
    """The run memory could not be made from the texts of the run; a retry would fail too."""


def nothing_to_learn(_: "Unit", __: Run) -> SemanticCapture:
    """The receipt where semantic capture is not wired."""
    return SemanticCapture.SKIPPED


@dataclass(frozen=True, slots=True)
class Capture:
    """Stores the run memory of ended runs; a failure here never keeps a run from ending."""

    units: "Units"
    clock: Clock
    keeper: Keeper
    # Literal secrets of the operator.
    literals: tuple[str, ...] = ()
    # The capture receipt of runs that end now.
    receipt_for: Callable[["Unit", Run], SemanticCapture] = nothing_to_learn
    hooks: tuple[KeptHook, ...] = ()

    def prescrub(self, run: Run, outcome: str) -> None:
        """Scrub the texts of a run before its last transaction, to hold the lock shortly."""
        texts = (request_text(run), outcome)
        if run.trial_id is not None or sum(map(len, texts)) < WORTH_CHARS:
            return
        try:
            with self.units.read() as unit:
                cleaner = self._cleaner(policy_in(unit))
            for text in texts:
                cleaner.clean(text)
        except Exception as problem:  # noqa: BLE001 - it is done again, and answered for, at the end
            log.warning("run_memory.not_prescrubbed", run_id=run.run_id, reason=str(problem)[:200])

    def ended(self, unit: "Unit", run: Run) -> None:
        """Store the run memory of a run that ends in this transaction; postpone it on failure."""
        try:
            self._remember(unit, run, is_first=True)
        except UnderstudyError as problem:
            log.warning("run_memory.postponed", run_id=run.run_id, reason=problem.detail)
            unit.run_memory_index.postpone(
                run.run_id, reason=problem.code, at_ms=self.clock.now_ms()
            )

    def catch_up(self) -> int:
        """Make the postponed records; answers how many are left."""
        with self.units.read() as unit:
            waiting = unit.run_memory_index.postponed(limit=BATCH)
        return sum(not self._make_up_for(run_id) for run_id in waiting)

    def _make_up_for(self, run_id: str) -> bool:
        try:
            with self.units.write() as unit:
                run = _ended_run(unit, run_id)
                done = run is None or self._remember(unit, run)
                if done:
                    unit.run_memory_index.clear_postponed(run_id)
                return done
        except UnderstudyError as problem:
            is_given_up = isinstance(problem, NotMade)
            self._put_back(run_id, problem, is_given_up=is_given_up)
            return is_given_up

    def _put_back(self, run_id: str, problem: UnderstudyError, *, is_given_up: bool) -> None:
        """Requeue a failed record at the end, so that it does not block the others."""
        log.warning("run_memory.still_missing", run_id=run_id, reason=problem.detail)
        with self.units.write() as unit:
            index = unit.run_memory_index
            index.clear_postponed(run_id)
            if not is_given_up:
                index.postpone(run_id, reason=problem.code, at_ms=self.clock.now_ms())

    def _remember(self, unit: "Unit", run: Run, *, is_first: bool = False) -> bool:
        """Make and store the record of a run; False if it has to be postponed."""
        # The lock comes first: a policy change, which holds it alone, has removed what it does not
        # allow. Others may share it: the row of the session, locked before, keeps its runs apart.
        unit.run_memory_index.hold()
        policy = stored_policy(unit)
        if not is_first and not unit.run_memory_index.clear_postponed(run.run_id):
            # Made by another daemon meanwhile, or forgotten.
            return True
        # A trial run leaves no run memory.
        if not policy.enabled or run.trial_id is not None:
            return True
        made = self._digest(unit, run, policy)
        record = RunMemoryRecord(
            session_id=run.session_id,
            scope_keys=_scope_keys(unit, run.session_id),
            semantic_capture=self._receipt(unit, run),
            memory=made.memory,
        )
        if not self.keeper.keep(unit, record, made.evidence, policy=policy, is_first=is_first):
            return False
        if made.redacted:
            count = partial(self.keeper.counters.add, redacted_fields_total=made.redacted)
            unit.after_commit(count)
        self._tell(unit, run, record, made.evidence)
        return True

    def _receipt(self, unit: "Unit", run: Run) -> SemanticCapture:
        try:
            return self.receipt_for(unit, run)
        except DatabaseUnavailable:
            raise
        except Exception:
            log.exception("run_memory.no_receipt", run_id=run.run_id)
            return SemanticCapture.SKIPPED

    def _tell(self, unit: "Unit", run: Run, record: RunMemoryRecord, evidence: RunEvidence) -> None:
        for hook in self.hooks:
            try:
                hook(unit, run, record, evidence)
            except DatabaseUnavailable:
                raise
            except Exception:
                # The run must end, whatever a hook does.
                log.exception("run_memory.not_told", run_id=run.run_id)

    def _digest(self, unit: "Unit", run: Run, policy: RunMemoryPolicy) -> Digest:
        outcome, made = _left_behind(unit, run)
        try:
            return digest(run, outcome=outcome, artifact_ids=made, cleaner=self._cleaner(policy))
        except Exception as problem:
            # The run must end, whatever its texts do to the digest.
            log.exception("run_memory.not_made", run_id=run.run_id)
            raise NotMade(
                "run_memory_not_made", domain="run_memories", detail="see the daemon's log"
            ) from problem

    def _cleaner(self, policy: RunMemoryPolicy) -> Cleaner:
        return Cleaner(literals=self.literals, pii=policy.redact_pii)


def _left_behind(unit: "Unit", run: Run) -> tuple[str, tuple[str, ...]]:
    """The last non-blank text of a run, and the artifacts it created."""
    if run.started_at_ms is None:
        return "", ()
    made = unit.artifacts.list(run.run_id) if RunTrace.ARTIFACT in unit.traces(run) else ()
    return _last_words(unit, run), tuple(artifact.artifact_id for artifact in made)


def _last_words(unit: "Unit", run: Run) -> str:
    # The last reply is mostly written in the transaction that ends the run.
    here = [event for event in unit.journal.appended if event.run_id == run.run_id]
    said = _last_text(event for event in reversed(here) if event.kind is EventKind.OUTPUT)
    return said or _last_text(reversed(unit.journal.outputs([run.run_id]).get(run.run_id, ())))


def _last_text(newest_first: Iterable[JournalEvent]) -> str:
    return next((text for text in map(own_text, newest_first) if text.strip()), "")


def _scope_keys(unit: "Unit", session_id: str) -> tuple[str, ...]:
    try:
        session = require_session(unit, session_id)
    except DamagedRecord:
        # Its other scopes are unknown.
        return (session_scope(session_id).key,)
    *narrow, widest = (scope.key for scope in visible_scopes(unit, session))
    # Projects beyond the limit are left out.
    return (*narrow[: MAX_SCOPE_KEYS - 1], widest)


def _ended_run(unit: "Unit", run_id: str) -> Run | None:
    """An ended run whose record can be made; locks its row and that of its session."""
    try:
        run = unit.runs.get(run_id, lock=True)
    except DamagedRecord as damaged:
        log.warning("run_memory.given_up", run_id=run_id, reason=damaged.detail)
        return None
    if run is None or run.status not in TERMINAL:
        return None
    unit.sessions.get(run.session_id, lock=True)
    return run
