"""Tasks of a session."""

from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query

from understudy.api.bodies import record_of
from understudy.api.gate import GatedRoute
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging
from understudy.api.services import Caller, Services, SessionId
from understudy.core.page import Page
from understudy.sessions.task_service import NewTask, TaskChange
from understudy.sessions.tasks import TaskDetail, TaskStatus
from understudy.wire.tasks import CreateTask, UpdateTask

router = APIRouter(tags=["tasks"], route_class=GatedRoute)
TaskId = Annotated[str, Path(description="id or number of the task")]
ALL: Final = "/v1/sessions/{session_id}/tasks"
ONE: Final = ALL + "/{task_id}"


@router.get(ALL, operation_id="tasks.list")
@viewer()
def list_tasks(
    session_id: SessionId,
    services: Services,
    page: Paging,
    status: Annotated[TaskStatus | None, Query(description="only of this status")] = None,
) -> Page[TaskDetail]:
    """List the tasks of a session, by number."""
    statuses = () if status is None else (status,)
    return Page.cut(services.tasks.list(session_id, statuses=statuses), page)


@router.get(ONE, operation_id="tasks.get")
@viewer()
def get(session_id: SessionId, task_id: TaskId, services: Services) -> TaskDetail:
    """Show a task."""
    return services.tasks.get(session_id, task_id)


@router.post(ALL, operation_id="tasks.create", status_code=201)
@operator()
def create(
    session_id: SessionId, body: CreateTask, services: Services, caller: Caller
) -> TaskDetail:
    """Add a task to the list."""
    wanted = record_of(NewTask, body, depends_on=_references(body.depends_on))
    return services.tasks.create(caller, session_id, wanted)


@router.patch(ONE, operation_id="tasks.update")
@operator()
def update(
    session_id: SessionId, task_id: TaskId, body: UpdateTask, services: Services, caller: Caller
) -> TaskDetail:
    """Change a task, if its state and its dependencies allow it."""
    references = None if body.depends_on is None else _references(body.depends_on)
    change = record_of(TaskChange, body, depends_on=references)
    return services.tasks.update(caller, session_id, task_id, change)


@router.post(ONE + "/stop", operation_id="tasks.stop")
@operator()
def stop(session_id: SessionId, task_id: TaskId, services: Services, caller: Caller) -> TaskDetail:
    """Cancel a task; one that has ended is answered as it is."""
    return services.tasks.stop(caller, session_id, task_id)


def _references(given: Sequence[int | str]) -> tuple[str, ...]:
    return tuple(str(reference) for reference in given)
