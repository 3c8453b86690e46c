"""The tasks of a project."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query

from understudy.api.bodies import record_of
from understudy.api.gate import GatedRoute
from understudy.api.idempotency import key_for_receipt
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging
from understudy.api.routes.projects import ONE as PROJECT
from understudy.api.routes.projects import ProjectId
from understudy.api.routes.runs import IdempotencyKey
from understudy.api.services import Caller, Services
from understudy.api.views.runs import run_view
from understudy.core.errors import coded_error
from understudy.core.page import Page
from understudy.project_tasks.model import (
    Assignment,
    Discussion,
    NewProjectTask,
    ProjectTaskChange,
    ProjectTaskDetail,
)
from understudy.project_tasks.start import TaskStart
from understudy.sessions.tasks import TaskStatus
from understudy.wire.base import Deleted
from understudy.wire.project_tasks import (
    CreateProjectTask,
    ProjectTaskFields,
    StartProjectTask,
    UpdateProjectTask,
)
from understudy.wire.runs import RunView

router = APIRouter(tags=["project_tasks"], route_class=GatedRoute)
ProjectTaskId = Annotated[str, Path(description="id of the task within its project")]
ALL: Final = PROJECT + "/tasks"
ONE: Final = ALL + "/{project_task_id}"
CLEARED: Final = ("assignment", "parent", "discussion", "output")


@router.get(ALL, operation_id="project_tasks.list")
@viewer()
def list_project_tasks(
    project_id: ProjectId,
    services: Services,
    page: Paging,
    query: Annotated[str | None, Query(description="in id, title, description or output")] = None,
    status: Annotated[TaskStatus | None, Query(description="only of this status")] = None,
    assignee_member_id: Annotated[str | None, Query(description="only of this member")] = None,
) -> Page[ProjectTaskDetail]:
    """List the tasks of a project, oldest first."""
    found = services.projects.tasks.list(
        project_id, query=query, status=status, assignee_member_id=assignee_member_id
    )
    return Page.cut(found, page)


@router.post(ALL, operation_id="project_tasks.create", status_code=201)
@operator(body_id="project_task_id")
def create(
    project_id: ProjectId, body: CreateProjectTask, services: Services, caller: Caller
) -> ProjectTaskDetail:
    """Add a task to a project."""
    wanted = NewProjectTask(
        title=body.title,
        project_task_id=body.project_task_id,
        description=body.description or "",
        status=body.status or TaskStatus.PENDING,
        blocked_by=tuple(body.blocked_by),
        parent_task_id=body.parent_task_id,
        output=body.output,
        latest_run_id=body.latest_run_id,
        metadata=body.metadata or {},
        **_links(body),
    )
    return services.projects.tasks.create(caller, project_id, wanted)


@router.get(ONE, operation_id="project_tasks.get")
@viewer()
def get(
    project_id: ProjectId, project_task_id: ProjectTaskId, services: Services
) -> ProjectTaskDetail:
    """Show a task of a project."""
    return services.projects.tasks.get(project_id, project_task_id)


@router.put(ONE, operation_id="project_tasks.update")
@operator()
def update(
    project_id: ProjectId,
    project_task_id: ProjectTaskId,
    body: UpdateProjectTask,
    services: Services,
    caller: Caller,
) -> ProjectTaskDetail:
    """Change a task, as far as its run and its state allow."""
    change = record_of(
        ProjectTaskChange,
        body,
        blocked_by=None if body.blocked_by is None else tuple(body.blocked_by),
        clear=frozenset(name for name in CLEARED if getattr(body, f"clear_{name}")),
        **_links(body),
    )
    return services.projects.tasks.update(caller, project_id, project_task_id, change)


@router.delete(ONE, operation_id="project_tasks.delete")
@operator()
def delete(
    project_id: ProjectId, project_task_id: ProjectTaskId, services: Services, caller: Caller
) -> Deleted:
    """Delete a task that no other one names and no run works on."""
    services.projects.tasks.delete(caller, project_id, project_task_id)
    return Deleted()


@router.post(ONE + "/start", operation_id="project_tasks.start", status_code=202)
@operator(own_receipts=True)
def start(
    project_id: ProjectId,
    project_task_id: ProjectTaskId,
    body: StartProjectTask,
    services: Services,
    caller: Caller,
    idempotency_key: IdempotencyKey = None,
) -> RunView:
    """Start a task: a run in the session of its assignee, once the tasks before it are completed."""
    key = key_for_receipt(services, caller, idempotency_key, body.idempotency_key)
    if body.metadata is not None and not isinstance(body.metadata, dict):
        raise coded_error("project_tasks/metadata_not_an_object", pointer="/metadata")
    started = services.projects.starter.start(
        caller, project_id, project_task_id, record_of(TaskStart, body), idempotency_key=key
    )
    return run_view(started, caller)


def _links(body: ProjectTaskFields) -> dict[str, Any]:
    """The assignment and the discussion of a body."""
    assignment = body.assignment
    pair = (body.discussion_channel_id, body.discussion_thread_root_message_id)
    if (pair[0] is None) != (pair[1] is None):
        raise coded_error("project_tasks/discussion_incomplete", pointer="/discussion_channel_id")
    return {
        "assignment": None if assignment is None else Assignment(**assignment.model_dump()),
        "discussion": None
        if pair[0] is None or pair[1] is None
        else Discussion(channel_id=pair[0], thread_root_message_id=pair[1]),
    }
