"""Capture: queues ended runs, proposes candidates from them, and settles their receipts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

import structlog

from understudy.core.clock import DAY_MS, Clock
from understudy.core.errors import Invalid, NotFound
from understudy.core.invisible_characters import hidden_in, is_unseen
from understudy.core.principal import DAEMON
from understudy.learnings.already_decided import declined, evidence_digest, is_known
from understudy.learnings.capture_settings import CaptureSettings, SemanticCaptureSettings
from understudy.learnings.events import NO_LISTENERS, Listeners, candidates_added, tell
from understudy.learnings.extraction import (
    Extraction,
    Extractor,
    FoundStatement,
    Material,
    labelled,
)
from understudy.learnings.model import (
    MAX_CONTENT_CHARS,
    Candidate,
    CapturePath,
    EvidenceRef,
    Kind,
    Learning,
    LearningSource,
    Origin,
    Sensitivity,
)
from understudy.learnings.neighbours import Nearest
from understudy.learnings.proof import proven_words
from understudy.learnings.proposal import NewCandidate, make_candidate, propose
from understudy.learnings.quotations import own_words
from understudy.learnings.remember import is_suggested, suggested_in
from understudy.learnings.taint import is_of_user, model_may_repeat_untrusted
from understudy.memory.policy import policy_in
from understudy.memory.record import (
    CaptureState,
    Pointer,
    RunCapture,
    RunEvidence,
    RunMemoryRecord,
    SemanticCapture,
    doubt,
)
from understudy.memory.retention import held_pointer, settle_held
from understudy.redaction.marker import cut
from understudy.runs.model import Run, RunStatus, RunTrace
from understudy.runs.taint import untrusted_path
from understudy.sessions.learning_scopes import session_scope, visible_scopes
from understudy.work.db_retry import retry_while_db_down
from understudy.work.queue_worker import LEASE_MS, Job, QueueWorker, code_of, while_held

if TYPE_CHECKING:
    from understudy.storage.job_queue import JobQueue
    from understudy.storage.unit import Unit, Units

# The bell topic that wakes the capture worker.
TOPIC: Final = "captures"
log = structlog.get_logger()
ARTIFACT_NOTE: Final = "source run artifact"
# As many references as a reviewer would read.
MAX_EVIDENCE: Final = 16
# Back-off after each failure, a day in all; few, because each attempt costs a model call.
WAITS_MS: Final = tuple(1_000 * it for it in (1, 15, 120, 900, 3_600, 10_800, 28_800, 43_200))
MAX_ATTEMPTS: Final = len(WAITS_MS) + 1
# Capture paths of this worker; other candidates of a run say nothing about its capture.
CAPTURE_PATHS: Final = frozenset({CapturePath.LABELS, CapturePath.MODEL})
# No event tells that a policy turned capture on, so the worker polls.
LOOK_S: Final = 2.0
REPLAYED_AT_ONCE: Final = 100_000
CONFIDENCE: Final = 100
KEPT_MS: Final = 30 * DAY_MS


NOT_COMPLETED: Final = RunCapture(state=CaptureState.SKIPPED, reason="run_not_completed")
NO_MEMORY: Final = RunCapture(state=CaptureState.SKIPPED, reason="run_memory_gone")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureReceipts:
    """Chooses the receipt of an ended run, and queues runs whose receipt is pending."""

    clock: Clock
    settings: Callable[["Unit"], CaptureSettings]
    # Wakes the capture worker.
    capture: Callable[[], None] = lambda: None
    # The capture worker of this daemon, if any: it gets the job directly, without polling.
    worker: Callable[[], QueueWorker | None] = lambda: None

    def receipt_for(self, unit: "Unit", run: Run) -> SemanticCapture:
        """Pending for a completed run while semantic capture is on; else skipped for good."""
        is_captured = run.status is RunStatus.COMPLETED and self._is_on(unit)
        return SemanticCapture.PENDING if is_captured else SemanticCapture.SKIPPED

    def kept(self, unit: "Unit", run: Run, record: RunMemoryRecord, evidence: RunEvidence) -> None:
        """Queue a run whose run memory is stored in this transaction."""
        now = self.clock.now_ms()
        if record.semantic_capture is SemanticCapture.PENDING:
            lesson = Lesson(
                run=run,
                record=record,
                evidence=evidence,
                may_have_suggestions=RunTrace.CANDIDATE in unit.traces(run),
            )
            self._queue(unit, lesson, now_ms=now)
        elif run.status is not RunStatus.COMPLETED and self._is_on(unit):
            unit.run_memory_index.keep_capture(record.run_id, NOT_COMPLETED, at_ms=now)

    def _queue(self, unit: "Unit", lesson: "Lesson", *, now_ms: int) -> None:
        worker, run_id = self.worker(), lesson.run.run_id
        job = worker.new_claim(run_id, may_ask=True, brought=lesson) if worker else None
        if worker is None or job is None:
            unit.capture_queue.put_missing([run_id], due_at_ms=now_ms, needs_model=True)
            unit.after_commit(self.capture)
        elif unit.capture_queue.put_held(job, now_ms=now_ms):
            unit.after_commit(partial(worker.hand_over, job))

    def _is_on(self, unit: "Unit") -> bool:
        return self.settings(unit).semantic_candidates.enabled


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A completed run with the run memory and evidence that are read from it."""

    run: Run
    record: RunMemoryRecord
    evidence: RunEvidence
    # False where its end has seen that the agent suggested nothing.
    may_have_suggestions: bool = True
    # The nearest learnings that the session can reach, of before the model is asked.
    known: tuple[Learning, ...] = ()

    @property
    def material(self) -> Material:
        """The material that is given to the extractor."""
        memory = self.record.memory
        return Material(
            run_id=self.run.run_id,
            session_id=self.run.session_id,
            kind=str(self.run.kind),
            status=str(memory.status),
            request=self.evidence.request,
            outcome=self.evidence.outcome,
            at_ms=memory.recorded_at_ms,
            known=self.known,
            failure_markers=memory.failure_markers,
            route_id=self.run.route.route_id,
        )

    def may_repeat_untrusted(self, unit: "Unit", proposal: FoundStatement) -> bool:
        """Whether a statement may repeat untrusted text; a label stands in the request itself."""
        # The untrusted sources that the run read, or its session before it.
        path = untrusted_path(unit, self.run)
        if proposal.path is not CapturePath.MODEL:
            return proposal.is_handed_over or not is_of_user(path)
        request = self.evidence.request
        return model_may_repeat_untrusted(
            self.run,
            path,
            statement=proven_words(proposal.content, proposal.quote, request),
            request=request,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureDuty:
    """Worker duty that proposes candidates from runs; a failed run is retried for a day."""

    units: "Units"
    clock: Clock
    extractor: Extractor
    settings: Callable[["Unit"], CaptureSettings]
    listeners: Listeners = NO_LISTENERS
    nearest: Nearest

    name: ClassVar[str] = "capture"
    id_name: ClassVar[str] = "run_id"
    topic: ClassVar[str] = TOPIC
    waits_ms: ClassVar[Sequence[int]] = WAITS_MS

    def queue(self, unit: "Unit") -> "JobQueue":
        """The queue of runs to capture."""
        return unit.capture_queue

    def is_on(self, unit: "Unit") -> bool:
        """Whether semantic capture is on; while it is off, jobs stay queued."""
        return self.settings(unit).semantic_candidates.enabled

    def startup(self) -> int:
        """Queue the runs with a pending receipt that are not queued; answers how many."""
        with self.units.read() as unit:
            if not unit.run_memory_index.waiting(limit=1):
                return 0
        with self.units.write() as unit:
            # Read again where it is written: a run captured meanwhile is not queued a second time.
            waiting = unit.run_memory_index.waiting(limit=REPLAYED_AT_ONCE)
            now = self.clock.now_ms()
            put = unit.capture_queue.put_missing(waiting, due_at_ms=now, needs_model=True)
        if put:
            log.info("capture.replayed", waiting=len(waiting), queued=put)
        return put

    async def do(self, job: Job) -> None:
        """Propose what a run said and settle its receipt in one transaction; raises what failed.

        No transaction is open while the model works.
        """
        settings, lesson = await retry_while_db_down(self._prepare, job)
        if not settings.enabled:
            await retry_while_db_down(self._put_back, job)
            return
        found = Extraction()
        if lesson is not None:
            work = self.extractor.extract(lesson.material, settings)
            try:
                found = await while_held(work, lambda: self._extend(job))
            except Exception:
                # Labelled statements do not wait for a model.
                await retry_while_db_down(self._propose_labels, job, lesson)
                raise
        await retry_while_db_down(self._settle, job, lesson, found)

    def is_hopeless(self, unit: "Unit", job: Job, problem: Exception) -> bool:
        """Whether retries are useless: the run memory is gone, or all attempts are used up."""
        return job.attempts + 1 >= MAX_ATTEMPTS or unit.run_memory_index.get(job.job_id) is None

    def give_up(self, unit: "Unit", job: Job, problem: Exception) -> None:
        """Settle the receipt of a run; only its labelled statements are proposed."""
        log.error("capture.given_up", run_id=job.job_id, reason=code_of(problem))
        if pointer := self._pending(unit, job):
            lesson, found = self._lesson_in(unit, job), Extraction()
            if lesson is not None:
                found = labelled(lesson.evidence.request)
            capture = self._proposed(unit, job, lesson, found)
            given_up = replace(capture, state=CaptureState.GIVEN_UP, reason=code_of(problem))
            self._end(unit, pointer, given_up)
        unit.capture_queue.done(job)

    def _prepare(self, job: Job) -> tuple[SemanticCaptureSettings, Lesson | None]:
        with self.units.read() as unit:
            settings = self.settings(unit).semantic_candidates
            lesson = self._lesson_in(unit, job) if settings.enabled else None
            return settings, None if lesson is None else self._with_known(unit, lesson)

    def _with_known(self, unit: "Unit", lesson: Lesson) -> Lesson:
        """The lesson with the learnings that its statements are compared with."""
        session = unit.sessions.get(lesson.run.session_id)
        scopes = () if session is None else visible_scopes(unit, session)
        request = own_words(lesson.evidence.request)
        found = self.nearest(unit, request, scopes, self.clock.now_ms())
        return replace(lesson, known=tuple(learning for learning, _ in found))

    def _put_back(self, job: Job) -> None:
        """Give the job back for when capture is on again."""
        with self.units.write() as unit:
            unit.capture_queue.give_back(job, due_at_ms=self.clock.now_ms())

    def _extend(self, job: Job) -> bool:
        with self.units.write() as unit:
            return unit.capture_queue.extend(job, until_ms=self.clock.now_ms() + LEASE_MS)

    def _lesson_in(self, unit: "Unit", job: Job) -> Lesson | None:
        """The lesson of a run; None where there is none, or the run was captured before."""
        if isinstance(job.brought, Lesson):
            return job.brought if self._is_usable(unit, job.brought) else None
        run_id = job.job_id
        run = unit.runs.get(run_id)
        if run is None or run.status is not RunStatus.COMPLETED:
            return None
        record = unit.run_memories.get(run_id)
        evidence = unit.run_memory_index.evidence(run_id)
        if record is None or evidence is None:
            return None
        lesson = Lesson(run=run, record=record, evidence=evidence)
        is_captured = any(it.capture_path is CapturePath.MODEL for it in _captured(unit, run_id))
        return None if is_captured or not self._is_usable(unit, lesson) else lesson

    def _is_usable(self, unit: "Unit", lesson: Lesson) -> bool:
        """Whether the run memory of a lesson is neither expired nor doubtful."""
        recorded, now = lesson.record.memory.recorded_at_ms, self.clock.now_ms()
        is_sound = doubt(lesson.record, session_id=lesson.run.session_id) is None
        return is_sound and not policy_in(unit).is_expired(recorded, now_ms=now)

    def _propose_labels(self, job: Job, lesson: Lesson) -> None:
        """Propose the labelled statements of a run that is captured later."""
        found = labelled(lesson.evidence.request)
        if not found.statements:
            return
        with self.units.write() as unit:
            is_mine = unit.capture_queue.holds(job) and self._pending(unit, job) is not None
            if is_mine and not self._is_stale(unit, lesson, found):
                self._proposed(unit, job, lesson, found)

    def _settle(self, job: Job, lesson: Lesson | None, found: Extraction) -> None:
        try:
            with self.units.write() as unit:
                # After a lost lease the new holder proposes.
                if self._is_stale(unit, lesson, found):
                    unit.capture_queue.give_back(job, due_at_ms=self.clock.now_ms())
                elif unit.capture_queue.done(job):
                    self._keep(unit, job, lesson, found)
        except NotFound:
            # The run memory was deleted meanwhile, so nothing of it is proposed.
            with self.units.write() as unit:
                unit.capture_queue.done(job)

    def _is_stale(self, unit: "Unit", lesson: Lesson | None, found: Extraction) -> bool:
        """Whether statements were found in a text of which something was erased since."""
        if lesson is None or not found.statements:
            return False
        # The lock of the pointer comes before that of the job, as where a run is erased.
        if held_pointer(unit, lesson.run.run_id) is None:
            return False
        stored, read = unit.run_memory_index.evidence(lesson.run.run_id), lesson.evidence
        return stored is not None and (stored.request, stored.outcome) != (
            read.request,
            read.outcome,
        )

    def _keep(self, unit: "Unit", job: Job, lesson: Lesson | None, found: Extraction) -> None:
        pointer = self._pending(unit, job)
        if pointer is not None:
            capture = self._proposed(unit, job, lesson, found)
            self._end(unit, pointer, capture)
            log.info(
                "capture.done", run_id=job.job_id, found=capture.found, left_out=capture.reason
            )

    def _pending(self, unit: "Unit", job: Job) -> Pointer | None:
        """The pointer to a run memory whose receipt is pending.

        Its lock comes before those of candidates, as at the end of a run.
        """
        pointer = held_pointer(unit, job.job_id)
        is_pending = pointer is not None and pointer.semantic_capture is SemanticCapture.PENDING
        return pointer if is_pending else None

    def _end(self, unit: "Unit", pointer: Pointer, capture: RunCapture) -> None:
        """Settle the receipt of a run: only a capture that was done is completed."""
        is_done = capture.state is CaptureState.COMPLETED
        receipt = SemanticCapture.COMPLETED if is_done else SemanticCapture.SKIPPED
        settle_held(unit, pointer, receipt)
        unit.run_memory_index.keep_capture(pointer.run_id, capture, at_ms=self.clock.now_ms())

    def _proposed(
        self, unit: "Unit", job: Job, lesson: Lesson | None, found: Extraction
    ) -> RunCapture:
        """Propose the statements of a run; answers how many were found, and why some are left out."""
        attempts = job.attempts + 1
        if lesson is None:
            before = len(_captured(unit, job.job_id))
            if before:
                return RunCapture(state=CaptureState.COMPLETED, found=before, attempts=attempts)
            run = unit.runs.get(job.job_id)
            is_completed = run is not None and run.status is RunStatus.COMPLETED
            return NO_MEMORY if is_completed else NOT_COMPLETED
        known = unit.candidates.of_run(job.job_id) if found.statements else ()
        own = {it.semantic_key for it in known}
        made = [
            None if it.key[1] in own else self._propose(unit, lesson, it) for it in found.statements
        ]
        ids = [it.candidate_id for it in made if isinstance(it, Candidate)]
        if ids:
            notice = candidates_added(_source(lesson.run), ids)
            tell(unit, (notice,), at_ms=self.clock.now_ms())
        left_out = [it for it in made if isinstance(it, str)] + ["secret"] * found.secrets
        left_out += ["over_limit"] * found.over_limit
        suggested = 0
        if not made and not left_out:
            suggested = _suggestions(unit, lesson)
            left_out = ["suggested_by_agent" if suggested else "nothing_found"]
        return RunCapture(
            state=CaptureState.COMPLETED,
            found=len(made) + found.secrets + found.over_limit + suggested,
            attempts=attempts,
            reason=",".join(dict.fromkeys(left_out)) or None,
        )

    def _propose(self, unit: "Unit", lesson: Lesson, proposal: FoundStatement) -> Candidate | str:
        """Propose a statement; returns its candidate, or the code of the reason against it."""
        now, (kind, key) = self.clock.now_ms(), proposal.key
        scope = session_scope(lesson.run.session_id)
        if is_known(unit, scope, kind, key, now_ms=now):
            return "known_already"
        digest = evidence_digest(proposal.content, lesson.evidence)
        before = declined(unit, scope, kind, proposal.content, digest=digest)
        if before is not None and before.is_repeated:
            return "declined_before"
        created = lesson.record.memory.recorded_at_ms
        wanted = NewCandidate(
            scope=scope,
            kind=kind,
            content=proposal.content,
            confidence=proposal.confidence,
            source=_source(lesson.run),
            evidence_refs=_evidence_refs(lesson.record),
            capture_path=proposal.path,
            derived_from_untrusted=lesson.may_repeat_untrusted(unit, proposal),
            reproposal_of=before.candidate_id if before else None,
            declined_before=before is not None,
            evidence_digest=digest,
            quote=proposal.quote,
            applies=proposal.applies,
            expires_at_ms=proposal.expires_at_ms,
            relations=proposal.relations,
            # A label that the model does not describe was not compared.
            compared=tuple(it.learning_id for it in lesson.known if proposal.is_compared),
        )
        try:
            candidate = make_candidate(wanted, origin=Origin.DAEMON, now_ms=created)
        except Invalid as problem:
            log.warning("capture.not_proposed", run_id=lesson.run.run_id, reason=problem.code)
            return problem.code
        is_new = propose(unit, candidate, by=DAEMON, now_ms=now, listeners=self.listeners)
        return candidate if is_new else "known_already"


def _captured(unit: "Unit", run_id: str) -> list[Candidate]:
    """The candidates that capture made of a run, and not its agent by a tool."""
    return [
        it
        for it in unit.candidates.of_run(run_id)
        if it.capture_path in CAPTURE_PATHS and not is_suggested(it)
    ]


def _suggestions(unit: "Unit", lesson: Lesson) -> int:
    """How many candidates the agent suggested while the run was under way."""
    if not lesson.may_have_suggestions or RunTrace.CANDIDATE not in unit.traces(lesson.run):
        return 0
    return len(suggested_in(unit, lesson.run.run_id))


def _source(run: Run) -> LearningSource:
    return LearningSource(
        run_id=run.run_id, session_id=run.session_id, agent_id=run.agent_id, client=run.client
    )


def _evidence_refs(record: RunMemoryRecord) -> tuple[EvidenceRef, ...]:
    artifacts = record.memory.artifact_ids[:MAX_EVIDENCE]
    return tuple(
        EvidenceRef(run_id=record.run_id, artifact_id=it, note=ARTIFACT_NOTE) for it in artifacts
    ) or (EvidenceRef(run_id=record.run_id),)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummaries:
    """Proposes the summaries of runs as candidates, if the policy enables it."""

    clock: Clock
    settings: Callable[["Unit"], CaptureSettings]
    listeners: Listeners = NO_LISTENERS

    def kept(self, unit: "Unit", run: Run, record: RunMemoryRecord, _: RunEvidence) -> None:
        """Propose the summary of a run whose run memory is stored in this transaction."""
        if not self.settings(unit).run_summary_candidates:
            return
        now = self.clock.now_ms()
        is_untrusted = bool(untrusted_path(unit, run))
        candidate = summary_of(run, record, now_ms=now, is_untrusted=is_untrusted)
        if unit.candidates.add(candidate):
            unit.review_queue.put([candidate.candidate_id], due_at_ms=now)
            count = self.listeners.observer.count
            unit.after_commit(partial(count, "candidates_total", CapturePath.RUN_SUMMARY))
            unit.after_commit(self.listeners.review)


def summary_of(run: Run, record: RunMemoryRecord, *, now_ms: int, is_untrusted: bool) -> Candidate:
    """The candidate made of the summary of a run."""
    wanted = NewCandidate(
        scope=session_scope(record.session_id),
        kind=Kind.RUN_SUMMARY,
        content=_showable(cut(record.memory.summary, MAX_CONTENT_CHARS - 1)),
        sensitivity=Sensitivity.SENSITIVE,
        confidence=CONFIDENCE,
        source=_source(run),
        evidence_refs=(EvidenceRef(run_id=record.run_id),),
        expires_at_ms=now_ms + KEPT_MS,
        capture_path=CapturePath.RUN_SUMMARY,
        derived_from_untrusted=is_untrusted,
    )
    return make_candidate(wanted, origin=Origin.DAEMON, now_ms=record.memory.recorded_at_ms)


def _showable(text: str) -> str:
    """The text without invisible characters, which no candidate may contain."""
    if hidden_in(text) is None:
        return text
    return "".join(" " if is_unseen(it) and it not in "\n\t" else it for it in text)
