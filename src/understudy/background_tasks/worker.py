"""The worker duty of background tasks: stop on request, take over expired leases, notify agents."""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

import structlog

from understudy.background_tasks.model import (
    LEASE_MS,
    TOLD_CHARS,
    BackgroundTask,
    EndReason,
    ProcessName,
    TaskEnd,
    outcome,
)
from understudy.background_tasks.runner import BackgroundRunner
from understudy.background_tasks.service import TOPIC
from understudy.core.bell import EVENTS
from understudy.core.errors import UnderstudyError
from understudy.core.principal import DAEMON
from understudy.mailboxes.model import MAX_HOPS, MailSender, NewMessage
from understudy.mailboxes.outgoing import hops_of
from understudy.mailboxes.service import MailboxService
from understudy.tools.process_tree import birth_of, send
from understudy.work.worker import Claim, WorkerSleep

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

log = structlog.get_logger()

# While a task runs or a notice is due, any journal event may be relevant.
BUSY: Final = WorkerSleep(topics=(TOPIC, EVENTS), longest_s=2.0, pause_s=0.1)
IDLE: Final = WorkerSleep(topics=(TOPIC,), longest_s=5.0, shortest_s=0.1)
# The grace period in which a supervisor without its daemon kills everything itself.
ORPHANS_END_WITHIN_S: Final = 10.0
CUT: Final = "[the beginning is left out; task_output reads it]\n"
NO_OUTPUT: Final = "[no output]"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundTaskDuty:
    """Maintains the tasks of this daemon, and takes over those of a crashed one."""

    at_once: ClassVar[int] = 16
    sleep: ClassVar[WorkerSleep] = BUSY

    runner: BackgroundRunner
    mail: MailboxService
    loop: asyncio.AbstractEventLoop

    def claim(self, _: int) -> Claim[BackgroundTask]:
        """Do everything that is due; the claimed items are orphaned processes to kill."""
        service = self.runner.service
        units, now = service.units, service.clock.now_ms()
        # Read before the records: a task that starts meanwhile must not count as missing.
        live = self.runner.live
        with units.read() as unit:
            tasks = unit.background_tasks
            own, given_up = (
                tasks.of_holder(service.holder),
                tasks.given_up(service.holder, now_ms=now),
            )
            endless, untold = tasks.of_ended_sessions(), tasks.untold()
        self._stop(endless)
        orphaned = [
            task
            for task in (
                *(self._give_up(task.task_id) for task in own if self.runner.is_lost(task.task_id)),
                *(self._give_up(task_id) for task_id in given_up),
            )
            if task is not None
        ]
        self._obey(own, live)
        self._renew(own, now)
        for task_id in untold:
            self._tell(task_id)
        return Claim(
            items=tuple(orphaned), sleep=BUSY if own or untold else IDLE, is_all=not orphaned
        )

    async def do(self, task: BackgroundTask) -> None:
        """Kill the orphaned processes of a task whose daemon is gone."""
        await end_orphans(task.processes)

    def _obey(self, own: Sequence[BackgroundTask], live: frozenset[str]) -> None:
        """Stop tasks with a stop request, and tasks that were given up or unlearned meanwhile."""
        wanted: dict[str, EndReason | None] = {
            task.task_id: task.stop_requested.reason for task in own if task.stop_requested
        }
        wanted |= dict.fromkeys(live - {task.task_id for task in own})
        for task_id, reason in wanted.items():
            self.loop.call_soon_threadsafe(self.runner.stop, task_id, reason)

    def _renew(self, own: Sequence[BackgroundTask], now_ms: int) -> None:
        if any(task.lease_until_ms < now_ms + LEASE_MS // 2 for task in own):
            service = self.runner.service
            with service.units.write() as unit:
                unit.background_tasks.renew(service.holder, until_ms=now_ms + LEASE_MS)

    def _stop(self, task_ids: Sequence[str]) -> None:
        """Request a stop of tasks whose session has ended."""
        service = self.runner.service
        for task_id in task_ids:
            with service.units.write() as unit:
                task = unit.background_tasks.get(task_id, lock=True)
                if task is not None:
                    reason = EndReason.SESSION_ENDED
                    service.wish_to_stop(unit, task, reason, by=DAEMON.user_id)

    def _give_up(self, task_id: str) -> BackgroundTask | None:
        """End a task whose daemon is gone; returns it unless it had ended."""
        service = self.runner.service
        with service.units.read() as unit:
            task = unit.background_tasks.get(task_id)
        end = TaskEnd(reason=EndReason.DAEMON_RESTARTED)
        if task is None or not service.end(task_id, end, holder=task.holder):
            return None
        log.warning("background_task.given_up", task_id=task_id, holder=task.holder)
        return task

    def _tell(self, task_id: str) -> None:
        """Send one message about the end of a task to the mailbox of its session."""
        with self.runner.service.units.write() as unit:
            task = unit.background_tasks.get(task_id, lock=True)
            if task is None or not task.needs_notice:
                return
            message_id = None
            try:
                message_id = self._letter(unit, task)
            except UnderstudyError as problem:
                # The session has ended or its mailbox is full: there is no reader to notify.
                log.warning("background_task.not_told", task_id=task_id, reason=problem.code)
            unit.background_tasks.update(replace(task, needs_notice=False, message_id=message_id))
            unit.after_commit(self.mail.changed)

    def _letter(self, unit: "Unit", task: BackgroundTask) -> str | None:
        sender = MailSender(
            user_id=task.user_id,
            run_id=task.run_id,
            session_id=task.session_id,
            agent_id=task.agent_id,
        )
        hops = hops_of(unit, sender) + 1
        if hops > MAX_HOPS:
            log.warning(
                "background_task.not_told", task_id=task.task_id, reason="mail_goes_in_circles"
            )
            return None
        wanted = NewMessage(
            session_id=task.session_id,
            subject=f"Background task {task.task_id}: {outcome(task)}",
            content=f"Output of background task {task.task_id}:\n{last_words(unit, task)}",
            metadata={"background_task_id": task.task_id},
        )
        return self.mail.put(unit, DAEMON, sender, wanted, hops=hops).message_id


def last_words(unit: "Unit", task: BackgroundTask) -> str:
    """The tail of a task's output."""
    pieces = unit.background_tasks.output(task.task_id, offset=task.output_chars - TOLD_CHARS)
    text = "".join(piece.text for piece in pieces)
    if task.output_chars > TOLD_CHARS:
        # Start at a line break: half a redaction marker would confuse.
        kept = text[-TOLD_CHARS:]
        return CUT + (kept.partition("\n")[2] or kept)
    return text or NO_OUTPUT


def message_of(unit: "Unit", task_id: str) -> Mapping[str, Any] | None:
    """The webhook payload about the end of a task; the same on every retry."""
    task = unit.background_tasks.get(task_id)
    if task is None:
        return None
    told = {
        "task_id": task.task_id,
        "run_id": task.run_id,
        "session_id": task.session_id,
        "status": str(task.status),
        "terminal_reason": task.terminal_reason and str(task.terminal_reason),
        "exit_code": task.exit_code,
        "command": task.command,
        "output": last_words(unit, task),
        "finished_at_ms": task.ended_at_ms,
    }
    return {name: value for name, value in told.items() if value is not None}


async def end_orphans(
    processes: Sequence[ProcessName], *, within_s: float = ORPHANS_END_WITHIN_S
) -> None:
    """Kill the processes of a task whose daemon is gone, if pid and start time match.

    The supervisor kills everything itself once the daemon is gone, unless it was stopped (SIGSTOP).
    """
    supervisor, *commands = processes or (ProcessName(pid=0),)
    for command in commands:
        _signal(command, signal.SIGKILL, os.killpg)
    _signal(supervisor, signal.SIGCONT, send)
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            while _is_there(supervisor):  # noqa: ASYNC110 - nobody tells of it
                await asyncio.sleep(0.1)
    _signal(supervisor, signal.SIGKILL, send)


def _is_there(process: ProcessName) -> bool:
    """Whether this very process still runs; its pid may be reused."""
    return process.birth is not None and birth_of(process.pid) == process.birth


def _signal(process: ProcessName, number: int, deliver: Callable[[int, int], None]) -> None:
    if _is_there(process):
        with suppress(ProcessLookupError, PermissionError):
            deliver(process.pid, number)
