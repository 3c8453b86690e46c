"""The tool for the task list of a session."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, model_validator

from understudy.core.errors import UnderstudyError
from understudy.core.text import preview
from understudy.sessions.task_service import NewTask, TaskChange, TaskService
from understudy.sessions.tasks import (
    MAX_DEPENDENCIES,
    MAX_DESCRIPTION_CHARS,
    MAX_REFERENCE_CHARS,
    MAX_TITLE_CHARS,
    TaskDetail,
    TaskStatus,
)
from understudy.tools.base import Approval, Effect, ToolContext, ToolError, in_thread

# Models write numbers as integers and as text.
Reference = int | Annotated[str, Field(max_length=MAX_REFERENCE_CHARS)]


class TaskAction(StrEnum):
    """What the tool can do."""

    CREATE = "create"
    UPDATE = "update"
    LIST = "list"


_NEEDED: Final[Mapping[TaskAction, str | None]] = {
    TaskAction.CREATE: "title",
    TaskAction.UPDATE: "task",
    TaskAction.LIST: None,
}
# The fields that each action reads, besides `action`.
_READ: Final[Mapping[TaskAction, frozenset[str]]] = {
    TaskAction.CREATE: frozenset({"title", "description", "depends_on"}),
    TaskAction.UPDATE: frozenset({"task", "title", "description", "depends_on", "status"}),
    TaskAction.LIST: frozenset({"status"}),
}


class TasksParameters(BaseModel):
    """What `tasks` takes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    action: TaskAction = Field(
        description="create needs title; update needs task; list takes status to show only those."
    )
    task: Reference | None = Field(default=None, description="Number or id of the task to update.")
    title: str | None = Field(
        default=None, max_length=MAX_TITLE_CHARS, description="What is to be done, in one line."
    )
    description: str | None = Field(default=None, max_length=MAX_DESCRIPTION_CHARS)
    status: TaskStatus | None = None
    depends_on: list[Reference] | None = Field(
        default=None,
        max_length=MAX_DEPENDENCIES,
        description="Numbers or ids of tasks that must be completed first.",
    )

    @model_validator(mode="after")
    def _fits_the_action(self) -> "TasksParameters":
        needed = _NEEDED[self.action]
        if needed is not None and getattr(self, needed) is None:
            raise ValueError(f"{self.action} needs {needed}")
        given = {name for name, value in self if name != "action" and value is not None}
        if unread := sorted(given - _READ[self.action]):
            raise ValueError(f"{self.action} does not take {', '.join(unread)}")
        return self


class Tasks:
    """The agent's task list, which people see and may change too."""

    name = "tasks"
    description = (
        "Keep the task list of this session, which people see too. Create tasks for work of several "
        "steps, name what each depends on, set one to in_progress before you begin it and to "
        "completed when it is done. A task cannot begin before its dependencies are completed."
    )
    effect = Effect.IDEMPOTENT
    approval = Approval.NEVER
    parameters: type[BaseModel] = TasksParameters

    def __init__(self, service: TaskService) -> None:
        self._service = service

    async def call(self, arguments: TasksParameters, context: ToolContext) -> str:
        """The task after the change, or the list."""
        try:
            return await in_thread(_ACTIONS[arguments.action], self._service, arguments, context)
        except UnderstudyError as problem:
            raise ToolError(problem.detail, code=problem.code) from problem


def _create(service: TaskService, wanted: TasksParameters, context: ToolContext) -> str:
    task = NewTask(
        title=wanted.title or "",
        description=wanted.description,
        depends_on=_references(wanted) or (),
        run_id=context.run_id,
        call_digest=context.call_digest,
    )
    return f"created {_line(service.create(context.caller, context.session_id, task))}"


def _update(service: TaskService, wanted: TasksParameters, context: ToolContext) -> str:
    change = TaskChange(
        title=wanted.title,
        description=wanted.description,
        status=wanted.status,
        depends_on=_references(wanted),
    )
    detail = service.update(context.caller, context.session_id, str(wanted.task), change)
    return f"updated {_line(detail)}"


def _list(service: TaskService, wanted: TasksParameters, context: ToolContext) -> str:
    statuses = () if wanted.status is None else (wanted.status,)
    found = service.list(context.session_id, statuses=statuses)
    return "\n".join(_line(detail, with_description=True) for detail in found) or "no tasks"


_ACTIONS: Final[Mapping[TaskAction, Callable[[TaskService, TasksParameters, ToolContext], str]]] = {
    TaskAction.CREATE: _create,
    TaskAction.UPDATE: _update,
    TaskAction.LIST: _list,
}


def _references(wanted: TasksParameters) -> tuple[str, ...] | None:
    return None if wanted.depends_on is None else tuple(str(each) for each in wanted.depends_on)


def _line(task: TaskDetail, *, with_description: bool = False) -> str:
    line = f"task {task.number} [{task.status}] {preview(task.title)} (id {task.task_id})"
    if task.waits_for:
        line += f"; waits for {', '.join(task.waits_for)}"
    if with_description and task.description:
        line += f"\n    {preview(task.description)}"
    return line
