"""Second approvals: the first call is stored as pending, the same call of another person acts."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from fastapi.responses import JSONResponse
from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from understudy.api.operations import Operation
from understudy.api.services import principal_of
from understudy.core.rehearsal import Rehearsed, rehearsal
from understudy.inbox.second_approvals import GatedChange
from understudy.runtime.two_people import WaitingForSecond, waiting_answer

if TYPE_CHECKING:
    from understudy.api.gate import StrictRequest
    from understudy.daemon.services import Services

ACCEPTED: Final = 202
_ANSWER: Final = TypeAdapter(WaitingForSecond)


async def with_second(
    request: "StrictRequest",
    services: "Services",
    operation: Operation,
    name: str,
    act: Callable[[], Awaitable[Response]],
) -> Response:
    """Execute a request, or store it as pending for a second approver.

    A request that fails, or changes nothing, is answered at once.
    """
    body = getattr(request.state, "body", None)
    if operation.two is None or not operation.two_if(body):
        return await act()
    asked = GatedChange(
        units=services.resources.units,
        clock=services.resources.clock,
        principal=principal_of(request),
        subject=operation.two,
        operation=name,
        # None of these operations reads the query, so it cannot select another version.
        values=dict(request.path_params),
        body=await run_in_threadpool(operation.two_body, services, body),
    )
    change = await run_in_threadpool(asked.gated)
    if change is None:
        return await act()
    request.take_body(change.body)
    try:
        with rehearsal():
            return await act()
    except Rehearsed:
        waiting = await run_in_threadpool(change.approve_first)
    if waiting is not None:
        told = _ANSWER.dump_python(waiting_answer(waiting), mode="json")
        return JSONResponse(told, status_code=ACCEPTED)
    with change.as_second():
        return await act()
