"""The records of a background task, its state machine, and what its end means."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import computed_field

from understudy.core.errors import coded_error
from understudy.core.machine import Machine
from understudy.core.records import HIDDEN, OMIT
from understudy.runs.model import Delivery
from understudy.sessions.model import ReplyTarget

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# What is kept of the output, in characters: its beginning, and the last of it.
HEAD_CHARS: Final = 64 * 1024
TAIL_CHARS: Final = 192 * 1024
# How much of the output one answer holds.
MAX_SLICE_CHARS: Final = 64 * 1024
# How much of the output a delivery and a letter hold: the last of it.
TOLD_CHARS: Final = 8 * 1024
# A holder that does not renew its lease for so long is taken for dead.
LEASE_MS: Final = 20_000


class BackgroundStatus(StrEnum):
    """Where a background task stands."""

    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"  # it ended by itself, with exit code 0
    FAILED = "failed"
    CANCELLED = "cancelled"  # it was stopped


class EndReason(StrEnum):
    """Why a background task ended."""

    EXITED = "exited"  # by itself; the exit code tells how
    TIMEOUT = "timeout"
    FLOOD = "flood"  # it printed too much
    MEMORY = "memory"
    PROCESSES = "processes"
    STOPPED = "stopped"  # an agent or a person wanted it
    SESSION_ENDED = "session_ended"
    DAEMON_RESTARTED = "daemon_restarted"
    NOT_STARTED = "not_started"
    LOST = "lost"  # its supervisor was ended, so nobody knows how it went


_S = BackgroundStatus
BACKGROUND_TASK: Final = Machine(
    name="background task",
    domain="background_tasks",
    conflict_code="background_task_ended",
    steps={
        _S.IN_PROGRESS: frozenset({_S.COMPLETED, _S.FAILED, _S.CANCELLED}),
        _S.COMPLETED: frozenset(),
        _S.FAILED: frozenset(),
        _S.CANCELLED: frozenset(),
    },
)
# Every other reason is a failure.
STATUS_AFTER: Final[Mapping[EndReason, BackgroundStatus]] = {
    EndReason.STOPPED: _S.CANCELLED,
    EndReason.SESSION_ENDED: _S.CANCELLED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessName:
    """A process by its number and when it began, so that no other is taken for it."""

    pid: int
    birth: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEnd:
    """How a background task ended."""

    reason: EndReason
    exit_code: int | None = None

    @property
    def status(self) -> BackgroundStatus:
        """The state that the task ends in."""
        if self.reason is EndReason.EXITED and self.exit_code == 0:
            return BackgroundStatus.COMPLETED
        return STATUS_AFTER.get(self.reason, BackgroundStatus.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class StopWish:
    """Who wants a background task to end, and why; its holder sees to it."""

    reason: EndReason
    by: str
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundTask:
    """A shell command that runs, or ran, in the background."""

    task_id: str
    session_id: str
    run_id: str
    agent_id: str
    user_id: str
    # Without the secrets that it was started with.
    command: str
    timeout_s: int
    created_at_ms: int
    updated_at_ms: int
    status: BackgroundStatus = BackgroundStatus.IN_PROGRESS
    ended_at_ms: Annotated[int | None, OMIT] = None
    exit_code: Annotated[int | None, OMIT] = None
    terminal_reason: Annotated[EndReason | None, OMIT] = None
    # Where its output ends, in characters from its beginning, and how many bytes were printed.
    output_chars: int = 0
    output_bytes: int = 0
    # Where its end is told: captured when it was started, whatever the session has by now.
    reply_targets: tuple[ReplyTarget, ...] = ()
    # The untrusted text that its run had read when it was started.
    untrusted_sources: tuple[str, ...] = ()
    stop_requested: Annotated[StopWish | None, OMIT] = None
    # The letter that told the agent of the end.
    message_id: Annotated[str | None, OMIT] = None
    # Whether the agent is yet to hear of the end.
    needs_notice: Annotated[bool, HIDDEN] = False
    # Which daemon runs it, and until when nobody else may give it up.
    holder: Annotated[str, HIDDEN] = ""
    lease_until_ms: Annotated[int, HIDDEN] = 0
    # The supervisor and the command, for whoever finds them orphaned.
    processes: Annotated[tuple[ProcessName, ...], HIDDEN] = ()

    @computed_field
    @property
    def actions(self) -> tuple[str, ...]:
        """What can be done about it now."""
        is_running = self.status is BackgroundStatus.IN_PROGRESS
        return ("stop",) if is_running and self.stop_requested is None else ()

    @property
    def has_ended(self) -> bool:
        """Whether nothing of it runs any more."""
        return self.status is not BackgroundStatus.IN_PROGRESS


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundTaskDetail(BackgroundTask):
    """A background task, with how its end fared at each of its reply targets."""

    deliveries: tuple[Delivery, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputPiece:
    """Some output as it is stored: no secrets, and where it begins."""

    start: int
    text: str

    @property
    def end(self) -> int:
        """Where the next piece begins, unless something was left out."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSlice:
    """A part of the output of a background task."""

    task_id: str
    session_id: str
    run_id: str
    status: BackgroundStatus
    # Where the text begins and where the next call goes on, in characters.
    offset: int
    next_offset: int
    # What was asked for and is no longer kept, or never was.
    skipped_chars: int
    total_chars: int
    text: str
    # Whether there is no more to come.
    is_end: bool


def require_background_task(unit: "Unit", task_id: str, *, lock: bool = False) -> BackgroundTask:
    """The task, or `NotFound`."""
    task = unit.background_tasks.get(task_id, lock=lock)
    if task is None:
        raise coded_error("background_tasks/background_task_not_found", task_id=task_id)
    return task


def outcome(task: BackgroundTask) -> str:
    """How a task stands, on one line."""
    if task.terminal_reason is None:
        return str(task.status)
    if task.exit_code is not None and task.terminal_reason is EndReason.EXITED:
        return f"{task.status}: exit code {task.exit_code}"
    return f"{task.status}: {task.terminal_reason}"
