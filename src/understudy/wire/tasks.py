"""Tasks of a session on the wire."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from understudy.wire.base import Omitted, Request, Update, View

TaskStatus: TypeAlias = Literal[
    "pending", "in_progress", "blocked", "completed", "failed", "cancelled"
]
# The number or the id of a task of the same session.
TaskReference = Annotated[int, Field(ge=1, le=2**31 - 1)] | Annotated[str, Field(max_length=100)]


class CreateTask(Request):
    """A new task at the end of the list."""

    title: str = Field(max_length=500)
    description: str | None = Field(default=None, max_length=8000)
    depends_on: list[TaskReference] = Field(default_factory=list, max_length=32)


class UpdateTask(Update):
    """Changes to a task; what is left out keeps its value, an empty description removes it."""

    title: str | None = Field(default=None, max_length=500)
    description: str | None = Field(default=None, max_length=8000)
    status: TaskStatus | None = None
    depends_on: list[TaskReference] | None = Field(default=None, max_length=32)


class TaskView(View):
    """A task of a session."""

    task_id: str
    session_id: str
    number: int
    title: str
    description: Omitted[str] = None
    status: TaskStatus
    depends_on: list[str]
    # Those of them that are not completed.
    waits_for: list[str]
    created_by: str
    run_id: Omitted[str] = None
    version: int
    created_at_ms: int
    updated_at_ms: int
    # The statuses that may follow.
    actions: list[str]
