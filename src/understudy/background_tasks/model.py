"""The records of a background task, its state machine, and the status after each end."""

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

# The output that is stored, in characters: its head and its tail.
HEAD_CHARS: Final = 64 * 1024
TAIL_CHARS: Final = 192 * 1024
# The most output of one answer.
MAX_SLICE_CHARS: Final = 64 * 1024
# The most output in a delivery and in a mailbox message: the tail.
TOLD_CHARS: Final = 8 * 1024
# A holder that does not renew its lease for this long counts as crashed.
LEASE_MS: Final = 20_000


class BackgroundStatus(StrEnum):
    """The status of a background task."""

    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"  # exit code 0
    FAILED = "failed"
    CANCELLED = "cancelled"  # stopped on request


class EndReason(StrEnum):
    """Why a background task ended."""

    EXITED = "exited"  # by itself; see the exit code
    TIMEOUT = "timeout"
    FLOOD = "flood"  # too much output
    MEMORY = "memory"
    PROCESSES = "processes"
    STOPPED = "stopped"  # on request of an agent or a person
    SESSION_ENDED = "session_ended"
    DAEMON_RESTARTED = "daemon_restarted"
    NOT_STARTED = "not_started"
    LOST = "lost"  # its supervisor was killed, so the exit code is unknown


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
# Every other reason means `failed`.
STATUS_AFTER: Final[Mapping[EndReason, BackgroundStatus]] = {
    EndReason.STOPPED: _S.CANCELLED,
    EndReason.SESSION_ENDED: _S.CANCELLED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessName:
    """A process by pid and start time, so that a reused pid is not mistaken for it."""

    pid: int
    birth: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEnd:
    """How a background task ended."""

    reason: EndReason
    exit_code: int | None = None

    @property
    def status(self) -> BackgroundStatus:
        """The final status of the task."""
        if self.reason is EndReason.EXITED and self.exit_code == 0:
            return BackgroundStatus.COMPLETED
        return STATUS_AFTER.get(self.reason, BackgroundStatus.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class StopWish:
    """A request to stop a background task: by whom and why; its holder carries it out."""

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
    # Scrubbed of secrets.
    command: str
    timeout_s: int
    created_at_ms: int
    updated_at_ms: int
    status: BackgroundStatus = BackgroundStatus.IN_PROGRESS
    ended_at_ms: Annotated[int | None, OMIT] = None
    exit_code: Annotated[int | None, OMIT] = None
    terminal_reason: Annotated[EndReason | None, OMIT] = None
    # The end offset of the output in characters, and the number of bytes printed.
    output_chars: int = 0
    output_bytes: int = 0
    # The targets of the final delivery, captured at the start; later changes of the session's do
    # not count.
    reply_targets: tuple[ReplyTarget, ...] = ()
    # The untrusted sources that its run had read at the start.
    untrusted_sources: tuple[str, ...] = ()
    stop_requested: Annotated[StopWish | None, OMIT] = None
    # The mailbox message that told the agent of the end.
    message_id: Annotated[str | None, OMIT] = None
    # Whether the agent is not yet notified of the end.
    needs_notice: Annotated[bool, HIDDEN] = False
    # The daemon that runs it, and the end of its lease, before which no other takes it over.
    holder: Annotated[str, HIDDEN] = ""
    lease_until_ms: Annotated[int, HIDDEN] = 0
    # The supervisor and the command, so that orphaned processes can be killed.
    processes: Annotated[tuple[ProcessName, ...], HIDDEN] = ()

    @computed_field
    @property
    def actions(self) -> tuple[str, ...]:
        """The actions that the current status allows."""
        is_running = self.status is BackgroundStatus.IN_PROGRESS
        return ("stop",) if is_running and self.stop_requested is None else ()

    @property
    def has_ended(self) -> bool:
        """Whether the task has ended."""
        return self.status is not BackgroundStatus.IN_PROGRESS


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundTaskDetail(BackgroundTask):
    """A background task, with the delivery of its end to each reply target."""

    deliveries: tuple[Delivery, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputPiece:
    """A stored piece of scrubbed output, with its start offset."""

    start: int
    text: str

    @property
    def end(self) -> int:
        """The start offset of the next piece, unless output was dropped between."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSlice:
    """A part of the output of a background task."""

    task_id: str
    session_id: str
    run_id: str
    status: BackgroundStatus
    # The offset of the text, and the cursor for the next call, in characters.
    offset: int
    next_offset: int
    # Requested characters before `offset` that are not stored.
    skipped_chars: int
    total_chars: int
    text: str
    # Whether the task has ended and this is the end of its output.
    is_end: bool


def require_background_task(unit: "Unit", task_id: str, *, lock: bool = False) -> BackgroundTask:
    """The task, or `NotFound`."""
    task = unit.background_tasks.get(task_id, lock=lock)
    if task is None:
        raise coded_error("background_tasks/background_task_not_found", task_id=task_id)
    return task


def outcome(task: BackgroundTask) -> str:
    """The status of a task with its reason or exit code, on one line."""
    if task.terminal_reason is None:
        return str(task.status)
    if task.exit_code is not None and task.terminal_reason is EndReason.EXITED:
        return f"{task.status}: exit code {task.exit_code}"
    return f"{task.status}: {task.terminal_reason}"
