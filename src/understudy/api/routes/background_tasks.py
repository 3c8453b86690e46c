"""Background tasks: list, output, stop."""

from typing import Annotated, Final

from fastapi import APIRouter, Path, Query

from understudy.api.gate import GatedRoute
from understudy.api.operations import operator, viewer
from understudy.api.paging import Paging
from understudy.api.services import Caller, Services
from understudy.background_tasks.model import (
    MAX_SLICE_CHARS,
    BackgroundStatus,
    BackgroundTaskDetail,
    OutputSlice,
)
from understudy.core.page import Page
from understudy.core.visibility import current_visibility
from understudy.wire.masking import quotations_near

router = APIRouter(tags=["background_tasks"], route_class=GatedRoute)
TaskId = Annotated[str, Path(description="id of the background task")]
ALL: Final = "/v1/background-tasks"
ONE: Final = ALL + "/{task_id}"


@router.get(ALL, operation_id="background_tasks.list")
@viewer()
def list_background_tasks(
    services: Services,
    page: Paging,
    session_id: Annotated[str | None, Query(description="only in this session")] = None,
    run_id: Annotated[str | None, Query(description="only started by this run")] = None,
    status: Annotated[BackgroundStatus | None, Query(description="only of this status")] = None,
) -> Page[BackgroundTaskDetail]:
    """List background tasks, newest first."""
    return services.background_tasks.page(page, session_id=session_id, run_id=run_id, status=status)


@router.get(ONE, operation_id="background_tasks.get")
@viewer()
def get(task_id: TaskId, services: Services) -> BackgroundTaskDetail:
    """Show a background task, with its deliveries to each reply target."""
    return services.background_tasks.get(task_id)


@router.get(ONE + "/output", operation_id="background_tasks.output")
@viewer()
def output(
    task_id: TaskId,
    services: Services,
    offset: Annotated[
        int, Query(ge=0, le=2**31 - 1, description="where to begin, in characters")
    ] = 0,
    limit: Annotated[
        int, Query(ge=1, le=MAX_SLICE_CHARS, description="how many characters at most")
    ] = MAX_SLICE_CHARS,
) -> OutputSlice:
    """Show the output of a background task from an offset on; secrets are redacted."""

    def masked(text: str, session_id: str, run_id: str) -> str:
        return quotations_near(services.resources.units, (session_id, run_id)).covered(text)

    mask = None if current_visibility.get().sees_sensitive else masked
    return services.background_tasks.output(task_id, offset=offset, limit=limit, mask=mask)


@router.post(ONE + "/stop", operation_id="background_tasks.stop", status_code=202)
@operator()
def stop(task_id: TaskId, services: Services, caller: Caller) -> BackgroundTaskDetail:
    """Stop a background task and all processes that it started."""
    return services.background_tasks.stop(caller, task_id)
