"""Use cases of background tasks: start, end, list, read output, stop."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

from understudy.background_tasks.model import (
    BACKGROUND_TASK,
    LEASE_MS,
    MAX_SLICE_CHARS,
    BackgroundStatus,
    BackgroundTask,
    BackgroundTaskDetail,
    EndReason,
    OutputPiece,
    OutputSlice,
    ProcessName,
    StopWish,
    TaskEnd,
    require_background_task,
)
from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.ids import new_id
from understudy.core.page import Page, PageRequest
from understudy.core.principal import DAEMON, Principal
from understudy.core.records import extended
from understudy.runs.deliveries import queue_for_targets, shown_for_targets
from understudy.runs.model import require_run
from understudy.runs.taint import untrusted_path
from understudy.sessions.journal import EventKind, NewEvent
from understudy.sessions.model import SessionStatus, require_session

if TYPE_CHECKING:
    from understudy.settings import BackgroundConfig
    from understudy.storage.unit import Unit, Units

TOPIC: Final = "background-tasks"


def topic_of(task_id: str) -> str:
    """The bell topic that rings when a task prints something or ends."""
    return f"background-task:{task_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBackgroundTask:
    """A command to run in the background, with its session and run."""

    session_id: str
    run_id: str
    command: str
    timeout_s: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundTaskService:
    """Background tasks as records; each change is one transaction."""

    units: "Units"
    clock: Clock
    limits: "BackgroundConfig"
    # The id of this daemon.
    holder: str
    # Removes secrets from a text.
    scrub: Callable[[str], str]
    # Wakes the waiters of some topics.
    ring: Callable[..., None]

    def page(
        self,
        request: PageRequest,
        *,
        session_id: str | None = None,
        run_id: str | None = None,
        status: BackgroundStatus | None = None,
    ) -> Page[BackgroundTaskDetail]:
        """Tasks, newest first."""
        with self.units.read() as unit:
            found = unit.background_tasks.page(
                request, session_id=session_id, run_id=run_id, status=status
            )
            items = tuple(_detail(unit, task) for task in found.items)
        return Page(items=items, next_cursor=found.next_cursor)

    def get(self, task_id: str) -> BackgroundTaskDetail:
        """One task."""
        with self.units.read() as unit:
            return _detail(unit, require_background_task(unit, task_id))

    def output(
        self,
        task_id: str,
        *,
        offset: int = 0,
        limit: int = MAX_SLICE_CHARS,
        mask: Callable[[str, str, str], str] | None = None,
    ) -> OutputSlice:
        """A slice of the output so far; `mask` gets whole pieces with their session and run."""
        with self.units.read() as unit:
            task = require_background_task(unit, task_id)
            kept = unit.background_tasks.output(task_id, offset=0 if mask else offset)
        if mask is not None:
            kept = tuple(
                replace(piece, text=mask(piece.text, task.session_id, task.run_id))
                for piece in _joined(kept)
                if piece.end > offset
            )
        return sliced(task, kept, offset, limit)

    def create(self, wanted: NewBackgroundTask) -> BackgroundTask:
        """Record a task before its start, with the current reply targets."""
        seconds = wanted.timeout_s or self.limits.max_runtime_s
        if seconds > self.limits.max_runtime_s:
            raise coded_error(
                "background_tasks/background_time_too_long",
                timeout_s=seconds,
                limit_s=self.limits.max_runtime_s,
            )
        command = self.scrub(wanted.command)
        with self.units.write() as unit:
            # Locked, so that two concurrent starts cannot both take the last slot.
            session = require_session(unit, wanted.session_id, lock=True)
            if session.status is SessionStatus.ENDED:
                raise coded_error("sessions/session_ended")
            self._check_room(unit, session.session_id)
            run, now = require_run(unit, wanted.run_id), self.clock.now_ms()
            task = BackgroundTask(
                task_id=new_id("bgt"),
                session_id=session.session_id,
                run_id=run.run_id,
                agent_id=run.agent_id,
                user_id=run.user_id,
                command=command,
                timeout_s=seconds,
                created_at_ms=now,
                updated_at_ms=now,
                # The run's own targets, else the current defaults of the session.
                reply_targets=run.reply_targets if run.has_own_targets else session.reply_targets,
                untrusted_sources=untrusted_path(unit, run),
                holder=self.holder,
                lease_until_ms=now + LEASE_MS,
            )
            unit.background_tasks.insert(task)
            self._note(unit, task, "started")
            by = Principal(user_id=run.user_id, role=run.role)
            unit.audit.add(audit.done(by, "background_tasks.start", task.task_id, at_ms=now))
        return task

    def _check_room(self, unit: "Unit", session_id: str) -> None:
        limits, found = self.limits, unit.background_tasks
        for running, limit, code in (
            (found.running(session_id), limits.per_session, "too_many_background_tasks"),
            (found.running(), limits.in_all, "too_many_background_tasks:in_all"),
        ):
            if running >= limit:
                raise coded_error(f"background_tasks/{code}", limit=limit)

    def started(self, task_id: str, processes: tuple[ProcessName, ...]) -> None:
        """Store the processes of a task, so that orphans can be killed."""
        with self.units.write() as unit:
            task = unit.background_tasks.get(task_id, lock=True)
            if task is not None and self._is_own(task):
                unit.background_tasks.update(replace(task, processes=processes))

    def printed(self, task_id: str, piece: OutputPiece, *, total_bytes: int) -> bool:
        """Append output of a task; False if this daemon no longer holds it."""
        with self.units.write() as unit:
            task = unit.background_tasks.get(task_id, lock=True)
            if task is None or not self._is_own(task):
                return False
            unit.background_tasks.append(task_id, piece)
            unit.background_tasks.update(
                replace(
                    task,
                    output_chars=piece.end,
                    output_bytes=total_bytes,
                    lease_until_ms=self.clock.now_ms() + LEASE_MS,
                )
            )
        self.ring(topic_of(task_id))
        return True

    def _is_own(self, task: BackgroundTask) -> bool:
        return not task.has_ended and task.holder == self.holder

    def end(self, task_id: str, end: TaskEnd, *, holder: str | None = None) -> bool:
        """Record the end of a task and queue its deliveries; False if it had ended already.

        Only the holder ends a task; a caller that takes over passes the previous `holder`.
        """
        with self.units.write() as unit:
            task = unit.background_tasks.get(task_id, lock=True)
            if task is None or task.has_ended or task.holder != (holder or self.holder):
                return False
            BACKGROUND_TASK.check(task.status, end.status)
            now, wish = self.clock.now_ms(), task.stop_requested
            by_itself = wish is not None and wish.by == task.run_id
            ended = replace(
                task,
                status=end.status,
                terminal_reason=end.reason,
                exit_code=end.exit_code,
                ended_at_ms=now,
                updated_at_ms=now,
                # The agent knows already if its run stopped the task or could not start it.
                needs_notice=not by_itself and end.reason is not EndReason.NOT_STARTED,
                output_chars=self._scrub_once_more(unit, task),
            )
            unit.background_tasks.update(ended)
            # Lock the run: positions of deliveries are numbered per run.
            require_run(unit, task.run_id, lock=True)
            queue_for_targets(unit, ended.run_id, ended.reply_targets, task_id=task_id, at_ms=now)
            self._note(unit, ended, "ended")
            entry = audit.done(
                DAEMON, "background_tasks.end", task_id, at_ms=now, reason=str(end.reason)
            )
            unit.audit.add(entry)
        self.ring(TOPIC, topic_of(task_id))
        return True

    def _scrub_once_more(self, unit: "Unit", task: BackgroundTask) -> int:
        """Scrub the stored output as one text, as a secret may span pieces; return its end."""
        kept = unit.background_tasks.output(task.task_id)
        whole = tuple(
            OutputPiece(start=joined.start, text=self.scrub(joined.text))
            for joined in _joined(kept)
        )
        if {piece.text for piece in whole} != {piece.text for piece in _joined(kept)}:
            unit.background_tasks.replace_output(task.task_id, whole)
            return whole[-1].end
        return task.output_chars

    def stop(self, principal: Principal, task_id: str) -> BackgroundTaskDetail:
        """Request that a task stops with all its processes; its holder does so at once."""
        with self.units.write() as unit:
            task = require_background_task(unit, task_id, lock=True)
            if task.has_ended:
                raise coded_error("background_tasks/background_task_ended", status=task.status)
            self.wish_to_stop(unit, task, EndReason.STOPPED, by=principal.user_id)
            now = self.clock.now_ms()
            unit.audit.add(audit.done(principal, "background_tasks.stop", task_id, at_ms=now))
        self.ring(TOPIC, topic_of(task_id))
        return self.get(task_id)

    def wish_to_stop(
        self, unit: "Unit", task: BackgroundTask, reason: EndReason, *, by: str
    ) -> None:
        """Store a stop request on a task whose row is locked; the first request counts."""
        if task.stop_requested is None and not task.has_ended:
            wish = StopWish(reason=reason, by=by, at_ms=self.clock.now_ms())
            unit.background_tasks.update(replace(task, stop_requested=wish))

    def _note(self, unit: "Unit", task: BackgroundTask, happened: str) -> None:
        data = {
            "type": f"background_task_{happened}",
            "task_id": task.task_id,
            "status": str(task.status),
        }
        event = NewEvent(kind=EventKind.SESSION, run_id=task.run_id, data=data)
        unit.journal.append(task.session_id, (event,), at_ms=task.updated_at_ms)


def _detail(unit: "Unit", task: BackgroundTask) -> BackgroundTaskDetail:
    sent = unit.deliveries.of_task(task.task_id)
    shown = shown_for_targets(task.reply_targets, sent, has_ended=task.has_ended)
    return extended(BackgroundTaskDetail, task, deliveries=shown)


def _joined(pieces: tuple[OutputPiece, ...]) -> tuple[OutputPiece, ...]:
    """Merge pieces that are contiguous."""
    ends = [0, *(piece.end for piece in pieces)]
    gaps, groups = 0, list[tuple[int, OutputPiece]]()
    for before, piece in zip(ends, pieces, strict=False):
        gaps += piece.start != before
        groups.append((gaps, piece))
    return tuple(
        OutputPiece(start=some[0][1].start, text="".join(piece.text for _, piece in some))
        for some in (list(group) for _, group in groupby(groups, key=lambda each: each[0]))
    )


def sliced(
    task: BackgroundTask, pieces: tuple[OutputPiece, ...], offset: int, limit: int
) -> OutputSlice:
    """The output from an offset up to a limit or the first gap."""
    joined = _joined(pieces)
    first = joined[0] if joined else OutputPiece(start=task.output_chars, text="")
    start = max(min(offset, task.output_chars), first.start)
    text = first.text[start - first.start :][:limit]
    end = start + len(text)
    return OutputSlice(
        task_id=task.task_id,
        session_id=task.session_id,
        run_id=task.run_id,
        status=task.status,
        offset=start,
        next_offset=end,
        skipped_chars=max(start - offset, 0),
        total_chars=task.output_chars,
        text=text,
        is_end=task.has_ended and end >= task.output_chars,
    )
