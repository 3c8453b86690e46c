"""Request bodies of project tasks."""

from typing import Any

from pydantic import Field

from understudy.sessions.tasks import TaskStatus
from understudy.wire.base import Id, Lax, Metadata, RequestBody, Update


class AssignmentBody(RequestBody):
    """The assignee: exactly one of a member, a session that is one, or an agent of one."""

    assignee_member_id: Id | None = None
    """A member of the project."""
    assignee_session_id: Id | None = None
    """A session that is a member."""
    assignee_agent_id: Id | None = None
    """The agent of a session that is a member."""


class ProjectTaskFields(RequestBody):
    """The fields of a task besides its title."""

    description: str | None = None
    """The task in detail."""
    status: Lax[TaskStatus] | None = None
    """The status of the task."""
    assignment: AssignmentBody | None = None
    """The assignee of the task."""
    parent_task_id: Id | None = None
    """The task that it is a part of."""
    discussion_channel_id: Id | None = None
    """The channel in which it is discussed."""
    discussion_thread_root_message_id: Id | None = None
    """The first message of the thread in which it is discussed."""
    output: str | None = None
    """The result of the task."""
    latest_run_id: Id | None = None
    """The run that worked on it last."""
    metadata: Metadata | None = None
    """Data of the caller, stored with the task."""


class CreateProjectTask(ProjectTaskFields):
    """A new task; `latest_run_id` is a run that has done it already."""

    project_task_id: str | None = None
    """The id; by default a new one."""
    title: str
    """The task in one line."""
    blocked_by: list[Id] = Field(default_factory=list, max_length=1000)
    """Tasks that must be completed first."""


class UpdateProjectTask(ProjectTaskFields, Update):
    """Changes to a task; an omitted field keeps its value, and `blocked_by` is replaced."""

    title: str | None = None
    """The task in one line."""
    blocked_by: list[Id] | None = Field(default=None, max_length=1000)
    """Tasks that must be completed first; they replace the previous ones."""
    clear_assignment: bool = False
    """Remove the assignee."""
    clear_parent: bool = False
    """Remove the parent."""
    clear_discussion: bool = False
    """Remove the discussion."""
    clear_output: bool = False
    """Remove the result."""
    expected_version: int | None = None
    """The version that was read; the call is refused after another change."""


class StartProjectTask(RequestBody):
    """How the run of a task is started: another route or model, and metadata for the run."""

    provider: str | None = None
    """Another route for the run."""
    model: str | None = Field(default=None, max_length=500)
    """Another model of the same provider."""
    kickoff_message: str | None = Field(default=None, max_length=16_384)
    """The input of the run; by default made from the task."""
    metadata: Any = None
    """Data of the caller, stored with the run."""
    locale: str | None = Field(default=None, max_length=64)
    """The language of the daemon's own texts: `en`, `vi` or `zh`."""
    idempotency_key: str | None = None
    """A repeat with the same key starts nothing more."""
