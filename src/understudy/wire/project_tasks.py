"""Request bodies of project tasks."""

from typing import Any

from pydantic import Field

from understudy.sessions.tasks import TaskStatus
from understudy.wire.base import Id, Lax, Metadata, RequestBody, Update


class AssignmentBody(RequestBody):
    """The assignee: exactly one of a member, a session that is one, or an agent of one."""

    assignee_member_id: Id | None = None
    assignee_session_id: Id | None = None
    assignee_agent_id: Id | None = None


class ProjectTaskFields(RequestBody):
    """The fields of a task besides its title."""

    description: str | None = None
    status: Lax[TaskStatus] | None = None
    assignment: AssignmentBody | None = None
    parent_task_id: Id | None = None
    discussion_channel_id: Id | None = None
    discussion_thread_root_message_id: Id | None = None
    output: str | None = None
    latest_run_id: Id | None = None
    metadata: Metadata | None = None


class CreateProjectTask(ProjectTaskFields):
    """A new task; `latest_run_id` is a run that has done it already."""

    project_task_id: str | None = None
    title: str
    blocked_by: list[Id] = Field(default_factory=list, max_length=1000)


class UpdateProjectTask(ProjectTaskFields, Update):
    """Changes to a task; an omitted field keeps its value, and `blocked_by` is replaced."""

    title: str | None = None
    blocked_by: list[Id] | None = Field(default=None, max_length=1000)
    clear_assignment: bool = False
    clear_parent: bool = False
    clear_discussion: bool = False
    clear_output: bool = False
    expected_version: int | None = None


class StartProjectTask(RequestBody):
    """How the run of a task is started: another route or model, and metadata for the run."""

    provider: str | None = None
    model: str | None = Field(default=None, max_length=500)
    kickoff_message: str | None = Field(default=None, max_length=16_384)
    metadata: Any = None
    locale: str | None = Field(default=None, max_length=64)
    idempotency_key: str | None = None
