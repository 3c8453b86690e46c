"""Request bodies of session tasks."""

from typing import Annotated

from pydantic import Field

from understudy.sessions.tasks import TaskStatus
from understudy.wire.base import Lax, RequestBody, Update

# The number or the id of a task of the same session.
TaskReference = Annotated[int, Field(ge=1, le=2**31 - 1)] | Annotated[str, Field(max_length=100)]


class CreateTask(RequestBody):
    """A new task at the end of the list."""

    title: str = Field(max_length=500)
    """The task in one line."""
    description: str | None = Field(default=None, max_length=8000)
    """The task in detail."""
    depends_on: list[TaskReference] = Field(default_factory=list, max_length=32)
    """Numbers or ids of tasks that must be completed first."""


class UpdateTask(Update):
    """Changes to a task; an omitted field keeps its value, an empty description removes it."""

    title: str | None = Field(default=None, max_length=500)
    """The task in one line."""
    description: str | None = Field(default=None, max_length=8000)
    """The task in detail; empty removes it."""
    status: Lax[TaskStatus] | None = None
    """The status of the task."""
    depends_on: list[TaskReference] | None = Field(default=None, max_length=32)
    """Numbers or ids of tasks that must be completed first; they replace the previous ones."""
