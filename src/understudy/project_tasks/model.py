"""The records of project tasks, and the status of a task by that of its run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final

from understudy.core.errors import coded_error
from understudy.core.machine import Machine
from understudy.core.records import HIDDEN, OMIT, JsonObject
from understudy.runs.model import RunStatus
from understudy.sessions.tasks import TaskStatus

MAX_TASKS: Final = 2000
MAX_TITLE_CHARS: Final = 500
MAX_DESCRIPTION_CHARS: Final = 16_384
MAX_OUTPUT_CHARS: Final = 65_536
MAX_DEPENDENCIES: Final = 64
MAX_QUERY_CHARS: Final = 500

_S = TaskStatus
ENDED: Final = frozenset({_S.COMPLETED, _S.FAILED, _S.CANCELLED})
_OPEN: Final = frozenset(_S) - ENDED
# The transitions that people may make while no run is live.
PROJECT_TASK: Final = Machine(
    name="project task",
    domain="project_tasks",
    conflict_code="task_is_terminal",
    steps={
        **{status: frozenset(_S) - {status} for status in _OPEN},
        **{status: frozenset({_S.PENDING}) for status in ENDED},
    },
)
STATUS_OF_RUN: Final[Mapping[RunStatus, TaskStatus]] = {
    RunStatus.QUEUED: _S.PENDING,
    RunStatus.RUNNING: _S.IN_PROGRESS,
    RunStatus.WAITING_FOR_APPROVAL: _S.IN_PROGRESS,
    RunStatus.WAITING_FOR_USER_QUESTION: _S.IN_PROGRESS,
    RunStatus.COMPLETED: _S.COMPLETED,
    RunStatus.FAILED: _S.FAILED,
    RunStatus.INTERRUPTED: _S.FAILED,
    RunStatus.CANCELLED: _S.CANCELLED,
}
# The output of a task whose run ended without output or error.
SILENT_END: Final[Mapping[RunStatus, str | None]] = {
    RunStatus.COMPLETED: None,
    RunStatus.FAILED: "Run failed",
    RunStatus.INTERRUPTED: "Run interrupted",
    RunStatus.CANCELLED: "Run cancelled",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Discussion:
    """The channel thread about a task."""

    channel_id: str
    thread_root_message_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectTask:
    """A work item of a project; a run in the session of its assignee carries it out."""

    project_id: str
    project_task_id: str
    title: str
    created_by: str
    created_at_ms: int
    updated_at_ms: int
    description: str = ""
    status: TaskStatus = TaskStatus.PENDING
    assignee_member_id: Annotated[str | None, OMIT] = None
    # The session of the assignee.
    primary_session_id: Annotated[str | None, OMIT] = None
    # The current or last run of the task.
    latest_run_id: Annotated[str | None, OMIT] = None
    # The ids of its dependencies, in the same project.
    blocked_by: tuple[str, ...] = ()
    parent_task_id: Annotated[str | None, OMIT] = None
    discussion: Annotated[Discussion | None, OMIT] = None
    output: Annotated[str | None, OMIT] = None
    metadata: JsonObject = field(default_factory=dict)
    # The run whose agent wrote its title and description; None where a person did.
    created_by_run_id: Annotated[str | None, OMIT] = None
    # Untrusted sources that this run had read; empty once a person has changed the words.
    untrusted_sources: tuple[str, ...] = ()
    # The person who changed the words of the run.
    reviewed_by: Annotated[str | None, OMIT] = None
    # The digest of the tool call that created it: a repeated call finds it.
    call_digest: Annotated[str | None, HIDDEN] = None
    version: int = 1

    @property
    def is_by_agent(self) -> bool:
        """Whether a run wrote its words and no person has changed them."""
        return self.created_by_run_id is not None and self.reviewed_by is None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectTaskDetail(ProjectTask):
    """A task with its current status, its live run and its unfinished dependencies."""

    waits_for: tuple[str, ...] = ()
    # The status of its live run; None without one.
    run_status: Annotated[RunStatus | None, OMIT] = None
    actions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The assignee of a task: exactly one of a member, a session, or an agent."""

    assignee_member_id: str | None = None
    assignee_session_id: str | None = None
    assignee_agent_id: str | None = None

    def __post_init__(self) -> None:
        given = (self.assignee_member_id, self.assignee_session_id, self.assignee_agent_id)
        if sum(each is not None for each in given) != 1:
            raise coded_error("project_tasks/invalid_assignment", pointer="/assignment")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewProjectTask:
    """A task to be created."""

    title: str
    project_task_id: str | None = None
    description: str = ""
    status: TaskStatus = TaskStatus.PENDING
    assignment: Assignment | None = None
    blocked_by: tuple[str, ...] = ()
    parent_task_id: str | None = None
    discussion: Discussion | None = None
    output: str | None = None
    latest_run_id: str | None = None
    metadata: JsonObject = field(default_factory=dict)
    created_by_run_id: str | None = None
    call_digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectTaskChange:
    """A change of a task; None keeps a field, and `clear` names fields to remove."""

    title: str | None = None
    description: str | None = None
    status: TaskStatus | None = None
    assignment: Assignment | None = None
    blocked_by: tuple[str, ...] | None = None
    parent_task_id: str | None = None
    discussion: Discussion | None = None
    latest_run_id: str | None = None
    output: str | None = None
    metadata: JsonObject | None = None
    # A subset of `assignment`, `parent`, `discussion` and `output`.
    clear: frozenset[str] = frozenset()
    expected_version: int | None = None


def check_text(
    *, title: str | None = None, description: str | None = None, output: str | None = None
) -> None:
    """Refuse a blank title, and any text that is too long."""
    if title is not None and not 1 <= len(title.strip()) <= MAX_TITLE_CHARS:
        raise coded_error(
            "project_tasks/invalid_title", pointer="/title", max_title_chars=MAX_TITLE_CHARS
        )
    limits = {"description": MAX_DESCRIPTION_CHARS, "output": MAX_OUTPUT_CHARS}
    for name, text in (("description", description), ("output", output)):
        if text is not None and len(text) > limits[name]:
            raise coded_error(
                "project_tasks/text_too_long", pointer=f"/{name}", field=name, limit=limits[name]
            )
