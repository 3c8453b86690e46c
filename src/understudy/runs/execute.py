"""One execution of a run: start or resume it, let the agent loop work, end it.

A step is named by its key and written to the journal when it is done. After a crash the journal
tells which steps are done and what they returned; only the step in flight is repeated.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeVar

import structlog

from understudy.core.clock import Clock
from understudy.core.errors import (
    DamagedRecord,
    UnderstudyError,
    coded_error,
)
from understudy.core.trace_context import current_traceparent, traceparent_of
from understudy.runs.deliveries import queue_deliveries, settle_local
from understudy.runs.fence import FencedUnits
from understudy.runs.lifecycle import RESUMES, RUN, TERMINAL, input_event, run_event, status_event
from understudy.runs.model import (
    EndingHook,
    Run,
    RunEnd,
    RunReports,
    RunSnapshot,
    RunStatus,
    RunTrace,
    RunUsage,
    StopRequest,
)
from understudy.runs.requests import Audience
from understudy.runs.sleep import (
    MustSleep,
    Sleep,
    fail_unread,
    fall_asleep,
    let_in,
    step_aside,
    wake_next,
)
from understudy.runs.stops import RunTakenOver, Stopped, StopSignal, StopSignals
from understudy.sessions.journal import (
    EventKind,
    JournalEvent,
    NewEvent,
    is_silence,
    own_text,
)
from understudy.sessions.model import Session, require_session
from understudy.work.db_retry import retry_while_db_down

if TYPE_CHECKING:
    from understudy.agent.loop import AgentLoop
    from understudy.storage.unit import Unit, Units
    from understudy.telemetry.metrics import Metrics

log = structlog.get_logger()

E = TypeVar("E", bound=JournalEvent | NewEvent)
# Writes more rows in the transaction of a step's events.
Also = Callable[["Unit"], None]
MAX_CRASHES: Final = 5
# More than the longest run can have: 500 steps of 128 calls, each with two events.
MAX_RUN_EVENTS: Final = 200_000
# Events of model calls: a message of the conversation, or a summary made by one call or several.
MODEL_KINDS: Final = frozenset({EventKind.MESSAGE, EventKind.CHECKPOINT})
STOP_ENDINGS: Final[Mapping[StopRequest, RunStatus]] = {
    StopRequest.CANCEL: RunStatus.CANCELLED,
    StopRequest.INTERRUPT: RunStatus.INTERRUPTED,
}


@dataclass(frozen=True, slots=True)
class LastReply:
    """The reply that ends a run; its events are written in the transaction of the end."""

    events: Sequence[NewEvent] = ()
    also: Also | None = None


UNANSWERED: Final = LastReply()


@dataclass(slots=True)
class Steps:
    """The steps of one execution of a run: those that are done, and the way to write more."""

    units: "Units"
    clock: Clock
    run: Run
    done: dict[str, JournalEvent] = field(default_factory=dict)
    last: LastReply = UNANSWERED

    @property
    def fence(self) -> FencedUnits:
        """The units in which this execution writes."""
        return FencedUnits(self.units, self.run.run_id, self.run.attempt)

    def find(self, key: str) -> JournalEvent | None:
        """The journal event of a finished step; `DamagedRecord` when it cannot be read."""
        event = self.done.get(key)
        if event is not None and event.kind is EventKind.DAMAGED:
            raise coded_error("runs/record_damaged")
        return event

    async def write(
        self, events: Sequence[NewEvent], *, also: Also | None = None
    ) -> tuple[JournalEvent, ...]:
        """Append events of this run, or raise `RunTakenOver` when another execution owns the run.

        `also` writes more rows in the same transaction.
        """
        tries = 0

        def write() -> tuple[JournalEvent, ...]:
            nonlocal tries
            tries += 1
            with self.fence.write() as unit:
                return self._write(unit, events, also, is_repeat=tries > 1)

        written = await retry_while_db_down(write)
        self.remember(written)
        return written

    def remember(self, events: Iterable[JournalEvent]) -> None:
        """Note the events of finished steps, as read from the journal."""
        self.done.update({event.key: event for event in events if event.key is not None})

    def _write(
        self, unit: "Unit", events: Sequence[NewEvent], also: Also | None, *, is_repeat: bool
    ) -> tuple[JournalEvent, ...]:
        # The first attempt may have committed although its acknowledgement was lost.
        if is_repeat and (stored := self._stored(unit, events)):
            return stored
        if also is not None:
            also(unit)
        if not events:
            return ()
        return unit.journal.append(self.run.session_id, events, at_ms=self.clock.now_ms())

    def _stored(self, unit: "Unit", events: Sequence[NewEvent]) -> tuple[JournalEvent, ...]:
        keys = [event.key for event in events if event.key is not None]
        return unit.journal.by_keys(self.run.session_id, keys) if keys else ()


def executed_calls(done: Iterable[JournalEvent | NewEvent]) -> int:
    """How many tool calls of a run were executed, with or without success."""
    return sum(1 for result in _results(done) if result.data.get("executed"))


def has_executed(done: Iterable[JournalEvent]) -> bool:
    """Whether a tool call of a run was executed, with or without success."""
    return any(result.data.get("executed") for result in _results(done))


def counted_calls(done: Iterable[JournalEvent]) -> int:
    """How many tool calls count as attempts: executed ones and malformed ones, not refused ones."""
    return sum(1 for result in _results(done) if _counts(result))


def _results(done: Iterable[E]) -> Iterator[E]:
    return (event for event in done if event.kind is EventKind.TOOL_RESULT)


def _counts(result: JournalEvent) -> bool:
    refused = result.data.get("refused")
    # Journals of an older version tell only whether the tool ran.
    return bool(result.data.get("executed")) if refused is None else not refused


@dataclass(frozen=True, slots=True, kw_only=True)
class StartReads:
    """Records read at the start of a run that its first step needs as well."""

    session: Session
    # The turns before the run, oldest first.
    history: tuple[JournalEvent, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunExecution:
    """The input of the agent loop for one run."""

    run: Run
    steps: Steps
    stop: StopSignal
    snapshot: RunSnapshot
    # As read when the run started, in the transaction that made the snapshot; a resumed run reads
    # them again.
    read: StartReads | None = None


# A run that was started or resumed, its steps, the snapshot of its prompt, and what was read for it.
Begun = tuple[Run, Steps, RunSnapshot, StartReads | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunExecutor:
    """Executes one run from the queue to its end. The engine calls it, and again after a crash."""

    units: "Units"
    clock: Clock
    worker: "AgentLoop"
    signals: StopSignals
    observer: "Metrics"
    # Returns when a run may work, and never while the daemon drains: the next one executes the run.
    admit: Callable[[], Awaitable[None]]
    # Called in the transaction that ends a run.
    run_ended: EndingHook
    # Called in the transaction that stores a question to the parent session.
    run_asked: EndingHook
    # Called in the transaction that completes a run: hints for its client.
    hints: Callable[["Unit", Run], Sequence[NewEvent]] = lambda _, __: ()
    # Called before a run begins, outside any transaction: refreshes the local skills from disk.
    ready: Callable[[], None] = lambda: None
    # Called before the end, outside any transaction, with the last text: scrubs it ahead of time.
    prescrub: Callable[[Run, str], None] = lambda _, __: None
    # Whether what a run calls is part of a span of the run; else it is part of its caller's.
    has_spans: bool = False
    # Runs of one user that are in flight; None is no limit.
    most_in_flight: int | None = None

    async def execute(self, run_id: str) -> None:
        """Work on a run until it ends or sleeps, then let in others of its user.

        Returns at once when there is nothing to do for it now.
        """
        await self._execute(run_id)
        if self.most_in_flight is not None:
            most, clock = self.most_in_flight, self.clock
            await retry_while_db_down(let_in, self.units, run_id, most=most, clock=clock)

    async def _execute(self, run_id: str) -> None:
        # Before the wait: work that no execution holds is queued again.
        stop = self.signals.open(run_id)
        self.observer.run_started()
        begun = None
        try:
            await self.admit()
            begun = await self._begin_or_fail(run_id)
            if begun is None:
                return
            run, steps, snapshot, read = begun
            parent = run.request.traceparent
            own = traceparent_of(run_id, parent) if self.has_spans else parent
            current_traceparent.set(own)
            if run.stop_request is not None:
                stop.set(run.stop_request)
            execution = RunExecution(run=run, steps=steps, stop=stop, snapshot=snapshot, read=read)
            ending = await self._work(execution)
            while isinstance(ending, Sleep):
                if await retry_while_db_down(self._sleep, steps, ending):
                    log.info("run.asleep", run_id=run_id)
                    return
                ending = await self._work(execution)
            self._count(await retry_while_db_down(self._end, execution, ending))
        except RunTakenOver:
            log.warning("run.taken_over", run_id=run_id)
        finally:
            # A run that was woken as it fell asleep may go on here already.
            if self.signals.close(run_id, stop) and begun is not None:
                self.worker.left(run_id)
            self.observer.run_left()

    async def _begin_or_fail(self, run_id: str) -> Begun | None:
        try:
            return await retry_while_db_down(self._begin, run_id)
        except UnderstudyError as problem:
            # A record that the run needs is gone or damaged; its session must not wait for ever.
            log.warning("run.cannot_begin", run_id=run_id, reason=problem.detail)
            await retry_while_db_down(self._refuse, run_id, problem.detail)
            return None

    async def _work(self, execution: RunExecution) -> RunEnd | Sleep:
        try:
            execution.stop.check()
            with execution.steps.fence.all():
                return await self.worker.work(execution)
        except MustSleep as must:
            return must.sleep
        except Stopped as stopped:
            return RunEnd(status=STOP_ENDINGS[stopped.how])
        except RunTakenOver:
            raise
        except Exception:
            log.exception("run.crashed", run_id=execution.run.run_id)
            return RunEnd(status=RunStatus.FAILED, error="internal error; see the daemon's log")

    def _count(self, run: Run) -> None:
        began, ended = run.started_at_ms or 0, run.finished_at_ms or 0
        seconds = (ended - began) / 1000
        self.observer.run_ended(str(run.status), seconds=seconds)
        log.info("run.ended", run_id=run.run_id, status=str(run.status), seconds=seconds)

    def _begin(self, run_id: str) -> Begun | None:
        self.ready()
        with self.units.write() as unit:
            run, first = unit.runs.get_in_line(run_id)
            if run is None or run.status in TERMINAL or run.asleep:
                return None
            if run.status is RunStatus.QUEUED:
                if first != run_id and not self._may_start(unit, run):
                    return None
                if not self._has_room(unit, run):
                    return None
                run, snapshot, read = self._start(unit, run)
                return run, Steps(units=self.units, clock=self.clock, run=run), snapshot, read
            done = unit.journal.read(run_id=run_id, limit=MAX_RUN_EVENTS)
            run = self._take_up(unit, run, done)
            steps = Steps(units=self.units, clock=self.clock, run=run)
            steps.remember(done)
            if run.crashes >= MAX_CRASHES:
                reason = f"the daemon crashed {run.crashes} times in a row during this run"
                self._finish(unit, run, RunEnd(status=RunStatus.INTERRUPTED, error=reason), done)
                return None
            return run, steps, unit.runs.snapshot(run_id), None

    def _may_start(self, unit: "Unit", run: Run) -> bool:
        """Whether the run is first in line by now; if not, it is put to sleep behind the others."""
        # With the session locked, the run ahead cannot end without seeing that this one waits.
        require_session(unit, run.session_id, lock=True)
        if unit.runs.first_in_line(run.session_id) == run.run_id:
            return True
        step_aside(unit, run)
        return False

    def _has_room(self, unit: "Unit", run: Run) -> bool:
        """Whether its user may have one more run in flight; if not, it is put to sleep until then."""
        most = self.most_in_flight
        if most is None or run.run_id in dict(unit.runs.next_of_user(run.run_id, most)):
            return True
        step_aside(unit, run)
        return False

    def _sleep(self, steps: Steps, sleep: Sleep) -> bool:
        with self.units.write() as unit:
            run = unit.runs.get(steps.run.run_id, lock=True)
            if (
                run is None
                or run.status in TERMINAL
                or (run.attempt, run.wakes) != (steps.run.attempt, steps.run.wakes)
            ):
                raise RunTakenOver(steps.run.run_id)
            if run.stop_request is not None:
                # Another process stored the request, and this one has not polled it yet.
                self.signals.request(run.run_id, run.stop_request)
            is_asleep = fall_asleep(unit, run, sleep, at_ms=self.clock.now_ms())
            if is_asleep and any(each.audience is Audience.PARENT for each in sleep.requests):
                self.run_asked(unit, run)
            return is_asleep

    def _refuse(self, run_id: str, reason: str) -> None:
        with self.units.write() as unit:
            run = fail_unread(unit, run_id, reason=reason, at_ms=self.clock.now_ms())
            if run is not None:
                self.run_ended(unit, run)

    def _start(self, unit: "Unit", run: Run) -> tuple[Run, RunSnapshot, StartReads]:
        RUN.check(run.status, RunStatus.RUNNING)
        now = self.clock.now_ms()
        session = require_session(unit, run.session_id)
        run = replace(
            run,
            status=RunStatus.RUNNING,
            started_at_ms=now,
            updated_at_ms=now,
            attempt=run.attempt + 1,
            parked=False,
        )
        # The input is appended when the run starts, so the journal has the order of the
        # conversation.
        events = unit.journal.append(
            run.session_id, (status_event(run), input_event(run)), at_ms=now
        )
        offset = events[1].offset
        snapshot, history = self.worker.prepare(unit, run, session, input_offset=offset)
        unit.runs.update(run, snapshot=snapshot)
        return run, snapshot, StartReads(session=session, history=history)

    def _take_up(self, unit: "Unit", run: Run, done: tuple[JournalEvent, ...]) -> Run:
        """Count a crash, unless the shutdown was orderly; a finished step resets the count."""
        progress = sum(1 for event in done if event.key is not None)
        before = 0 if progress > run.progress else run.crashes
        crashes = before if run.parked else before + 1
        run = replace(
            run,
            attempt=run.attempt + 1,
            crashes=crashes,
            progress=progress,
            parked=False,
            updated_at_ms=self.clock.now_ms(),
        )
        unit.runs.update(run)
        told = (str(each.data["type"]) for each in reversed(done) if each.kind is EventKind.RUN)
        kind = next((RESUMES[each] for each in told if each in RESUMES), None)
        why = {"resume_kind": str(kind)} if kind and run.stop_request is None else {}
        event = run_event(run, "resumed", run.status, attempt=run.attempt, **why)
        unit.journal.append(run.session_id, (event,), at_ms=run.updated_at_ms)
        return run

    def _end(self, execution: RunExecution, ending: RunEnd) -> Run:
        steps = execution.steps
        self.prescrub(steps.run, _last_words(steps))
        with self.units.write() as unit:
            run = unit.runs.get(steps.run.run_id, lock=True)
            if run is None or run.attempt != steps.run.attempt or run.status in TERMINAL:
                raise RunTakenOver(steps.run.run_id)
            done, reports = tuple(steps.done.values()), execution.snapshot.reports
            return self._finish(unit, run, ending, done, reports=reports, last=steps.last)

    def _finish(
        self,
        unit: "Unit",
        run: Run,
        ending: RunEnd,
        done: tuple[JournalEvent, ...],
        *,
        reports: RunReports | None = None,
        last: LastReply = UNANSWERED,
    ) -> Run:
        RUN.check(run.status, ending.status)
        # What belongs to the last reply is no later than the reply.
        if last.also is not None:
            last.also(unit)
        now = self.clock.now_ms()
        run = replace(
            run,
            status=ending.status,
            # A stop request may have stored its reason.
            error=ending.error or run.error,
            finished_at_ms=now,
            updated_at_ms=now,
            usage=_usage((*done, *last.events)),
        )
        speaks = not _is_silent(run, (*done, *last.events))
        run = replace(run, deliveries=settle_local(run) if speaks else run.deliveries)
        # Of the prompt only the reports stay: a memory recalled for it may be deleted one day.
        unit.runs.update(run, reports=reports or self._reports(unit, run))
        if speaks:
            queue_deliveries(unit, run)
        more = {"error": run.error} if run.error else {}
        hints = self.hints(unit, run) if run.status is RunStatus.COMPLETED else ()
        # Locks the session's row, so `wake_next` reads the line after this.
        events = (*last.events, *hints, status_event(run, **more))
        unit.journal.append(run.session_id, events, at_ms=now)
        if RunTrace.REQUEST in unit.traces(run):
            unit.requests.withdraw(run.run_id, at_ms=now)
        self.run_ended(unit, run)
        wake_next(unit, run.session_id, at_ms=now)
        return run

    def _reports(self, unit: "Unit", run: Run) -> RunReports | None:
        with suppress(DamagedRecord):
            return unit.runs.reports(run.run_id)
        return None


def _last_words(steps: Steps) -> str:
    events: list[JournalEvent | NewEvent] = [*steps.done.values(), *steps.last.events]
    said = map(own_text, reversed(events))
    return next((text for text in said if text.strip()), "")


def _is_silent(run: Run, done: tuple[JournalEvent | NewEvent, ...]) -> bool:
    """Whether a run completed with the token for silence as its answer."""
    said = [event for event in done if event.kind is EventKind.MESSAGE]
    return run.status is RunStatus.COMPLETED and bool(said) and is_silence(own_text(said[-1]))


def _usage(done: tuple[JournalEvent | NewEvent, ...]) -> RunUsage:
    replies = [event.data for event in done if event.kind in MODEL_KINDS]
    used = [data.get("usage", {}) for data in replies]
    return RunUsage(
        input_tokens=sum(usage.get("input_tokens", 0) for usage in used),
        output_tokens=sum(usage.get("output_tokens", 0) for usage in used),
        cache_read_tokens=sum(usage.get("cache_read_tokens", 0) for usage in used),
        model_calls=sum(data.get("model_calls", 1) for data in replies),
        tool_calls=executed_calls(done),
    )
