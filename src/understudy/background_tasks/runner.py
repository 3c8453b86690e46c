"""The runner of background commands: starts them, reads output, enforces limits, kills them."""

import asyncio
import signal
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import structlog
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from understudy.background_tasks.model import BackgroundTask, EndReason, ProcessName, TaskEnd
from understudy.background_tasks.output import PendingOutput
from understudy.background_tasks.service import BackgroundTaskService, NewBackgroundTask
from understudy.core.errors import UnderstudyError
from understudy.tools.process_tree import birth_of
from understudy.tools.processes import StartedProcess
from understudy.tools.shell import ANSWER_WITHIN_S, ShellProgram, tell
from understudy.work.db_retry import retry_while_db_down

log = structlog.get_logger()

# The interval at which printed output is stored.
STORE_EVERY_S: Final = 1.0
# The largest chunk that the supervisor sends.
MAX_PIECE_BYTES: Final = 64 * 1024
# The timeout for reading the rest after a kill; other processes may hold the pipes open.
REST_WITHIN_S: Final = 2.0
# The shutdown timeout for the tasks of this daemon.
CLOSE_WITHIN_S: Final = 25.0


class _Told(BaseModel):
    """One line of a supervisor; untrusted, as the command could write one, too."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    size: int | None = Field(default=None, ge=0, le=MAX_PIECE_BYTES)
    pid: int | None = Field(default=None, ge=1, le=2**31)
    birth: str | None = Field(default=None, max_length=200)
    reason: str | None = Field(default=None, max_length=40)
    code: int | None = Field(default=None, ge=-255, le=255)
    left: int = 0


# The end reasons by the supervisor's names.
REASONS: Final = {
    "exit": EndReason.EXITED,
    "timeout": EndReason.TIMEOUT,
    "flood": EndReason.FLOOD,
    "memory": EndReason.MEMORY,
    "processes": EndReason.PROCESSES,
}


@dataclass(slots=True)
class LiveTask:
    """A task of this daemon in memory, until its end is recorded."""

    output: PendingOutput
    # Why it is to end, once somebody wants that; None: it is no longer this daemon's.
    stop_reason: EndReason | None = None
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    # Set once all output is read.
    is_read: asyncio.Event = field(default_factory=asyncio.Event)
    work: asyncio.Task[None] | None = None

    def ask_to_stop(self, reason: EndReason | None) -> None:
        """Request a stop; the first reason counts."""
        if not self.stop.is_set():
            self.stop_reason = reason
            self.stop.set()


@dataclass(slots=True, kw_only=True)
class BackgroundRunner:
    """Runs commands in the background; all of them end with the daemon."""

    service: BackgroundTaskService
    program: ShellProgram
    _live: dict[str, LiveTask] = field(default_factory=dict)
    # The number of tasks whose records are being created.
    _starting: int = 0
    _is_closed: bool = False

    def is_lost(self, task_id: str) -> bool:
        """Whether a task that the database assigns to this daemon does not run here."""
        # While a record is being created, its task id is not known yet.
        return not self._starting and task_id not in self._live

    @property
    def live(self) -> frozenset[str]:
        """The ids of the tasks that run here; each has a record."""
        return frozenset(self._live)

    async def start(self, wanted: NewBackgroundTask, workspace: Path) -> BackgroundTask:
        """Record a task and start its command, at most once."""
        # Shielded: cancelling the run must not leave the start half done.
        return await asyncio.shield(asyncio.create_task(self._start(wanted, workspace)))

    async def _start(self, wanted: NewBackgroundTask, workspace: Path) -> BackgroundTask:
        self._starting += 1
        try:
            task = await asyncio.to_thread(self.service.create, wanted)
            self._live[task.task_id] = live = LiveTask(PendingOutput(self.service.scrub))
        finally:
            self._starting -= 1
        try:
            started = await self.program.start(workspace)
        except UnderstudyError:
            await self._finish(task.task_id, live, TaskEnd(reason=EndReason.NOT_STARTED))
            raise
        if self._is_closed:
            live.ask_to_stop(EndReason.DAEMON_RESTARTED)
        plan = {**self.program.plan(wanted.command, task.timeout_s), "is_streamed": True}
        # The command may outlive the run, whose fence ends with it.
        work = self._run(task, live, started, plan)
        live.work = asyncio.create_task(work, context=Context())
        return task

    def stop(self, task_id: str, reason: EndReason | None) -> None:
        """Stop a task of this daemon with all its processes; call it on the event loop."""
        live = self._live.get(task_id)
        if live is not None:
            live.ask_to_stop(reason)

    async def close(self) -> None:
        """Stop every task at shutdown of the daemon."""
        self._is_closed = True
        for live in self._live.values():
            live.ask_to_stop(EndReason.DAEMON_RESTARTED)
        working = [live.work for live in self._live.values() if live.work is not None]
        if working:
            # Bounded: if the database is down, the next daemon finds the tasks unfinished.
            await asyncio.wait(working, timeout=CLOSE_WITHIN_S)
        for work in working:
            work.cancel()

    async def _run(
        self,
        task: BackgroundTask,
        live: LiveTask,
        started: StartedProcess,
        plan: dict[str, object],
    ) -> None:
        reading = asyncio.create_task(self._read(task.task_id, live, started))
        storing = asyncio.create_task(self._keep_storing(task.task_id, live))
        stopping = asyncio.create_task(live.stop.wait())
        try:
            await tell(started, plan)
            # The command may have tampered with its supervisor: enforce the timeout here, too.
            await asyncio.wait(
                {reading, stopping},
                return_when=asyncio.FIRST_COMPLETED,
                timeout=task.timeout_s + ANSWER_WITHIN_S,
            )
            if not reading.done() and not stopping.done():
                live.ask_to_stop(EndReason.TIMEOUT)
                started.signal(signal.SIGKILL)
        finally:
            # Kills the process tree; the rest of its output is read meanwhile.
            await self.program.leave(started)
            stopping.cancel()
            await asyncio.wait({reading}, timeout=REST_WITHIN_S)
            reading.cancel()
            live.is_read.set()
        await storing
        told = reading.result() if reading.done() and not reading.cancelled() else None
        await self._finish(task.task_id, live, _end(live, told))

    async def _read(self, task_id: str, live: LiveTask, started: StartedProcess) -> _Told | None:
        """Read the supervisor's lines until the end; None if it reports no end."""
        stdout = started.process.stdout
        assert stdout is not None  # noqa: S101 - asked for as a pipe
        # An overlong line or a truncated chunk: the command has tampered with the stream.
        with suppress(ValidationError, ValueError, asyncio.IncompleteReadError):
            while line := await stdout.readline():
                told = _Told.model_validate_json(line)
                if told.size is not None:
                    live.output.add(await stdout.readexactly(told.size))
                elif told.pid is not None:
                    await self._note_processes(task_id, started, told)
                else:
                    return told
        return None

    async def _note_processes(self, task_id: str, started: StartedProcess, told: _Told) -> None:
        pid = started.process.pid
        named = (
            ProcessName(pid=pid, birth=birth_of(pid)),
            ProcessName(pid=told.pid or 0, birth=told.birth),
        )
        await retry_while_db_down(self.service.started, task_id, named)

    async def _keep_storing(self, task_id: str, live: LiveTask) -> None:
        """Store printed output at an interval until all of it is read."""
        while not live.is_read.is_set():
            if not await self._store(task_id, live):
                # The lease is lost: another daemon has given the task up.
                live.ask_to_stop(None)
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(STORE_EVERY_S):
                    await live.is_read.wait()

    async def _store(self, task_id: str, live: LiveTask, *, is_end: bool = False) -> bool:
        text = live.output.release(is_end=is_end)
        if not text:
            return True
        # In a thread: scrubbing a long text takes time.
        piece = live.output.place(await asyncio.to_thread(self.service.scrub, text))
        total = live.output.total_bytes
        return await retry_while_db_down(
            lambda: self.service.printed(task_id, piece, total_bytes=total)
        )

    async def _finish(self, task_id: str, live: LiveTask, end: TaskEnd) -> None:
        try:
            await self._store(task_id, live, is_end=True)
            await retry_while_db_down(self.service.end, task_id, end)
        except Exception:
            # The next pass of the worker ends it, as it is no longer live.
            log.exception("background_task.end_not_stored", task_id=task_id)
        finally:
            del self._live[task_id]
        log.info("background_task.ended", task_id=task_id, reason=str(end.reason))


def _end(live: LiveTask, told: _Told | None) -> TaskEnd:
    """The end of a task, from the supervisor's report or the stop request."""
    reason = REASONS.get(told.reason or "") if told else None
    if told is not None and reason is not None:
        exit_code = told.code if reason is EndReason.EXITED else None
        return TaskEnd(reason=reason, exit_code=exit_code)
    if live.stop.is_set():
        return TaskEnd(reason=live.stop_reason or EndReason.DAEMON_RESTARTED)
    return TaskEnd(reason=EndReason.LOST)
