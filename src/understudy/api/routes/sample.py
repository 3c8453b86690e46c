"""The sample workspace: state, load, remove."""

from typing import Any, Final

from fastapi import APIRouter, Request

from understudy.api.gate import GatedRoute
from understudy.api.in_process import InProcessCalls, OperationRefused
from understudy.api.operations import admin, viewer
from understudy.api.services import Caller, Services
from understudy.core.principal import Principal
from understudy.i18n.locales import DEFAULT
from understudy.sample.story import Call, CallRefused
from understudy.sample.workspace import SampleWorkspace

router = APIRouter(tags=["daemon"], route_class=GatedRoute)
PATH: Final = "/v1/sample"


@router.get(PATH, operation_id="sample.read")
@viewer()
def read(services: Services) -> SampleWorkspace:
    """Show whether the sample workspace is loaded, and what belongs to it."""
    return services.sample.state()


@router.post(PATH, operation_id="sample.load")
@admin()
async def load(services: Services, caller: Caller, request: Request) -> SampleWorkspace:
    """Fill a sample workspace by calls of this API; one that is complete stays as it is."""
    return await services.sample.load(caller, _caller_of(request, caller))


@router.delete(PATH, operation_id="sample.remove")
@admin()
async def remove(services: Services, caller: Caller, request: Request) -> SampleWorkspace:
    """Delete the sample's agents with all that was made in their sessions, and its skills."""
    return await services.sample.remove(_caller_of(request, caller))


def _caller_of(request: Request, caller: Principal) -> Call:
    """A function that calls operations as the caller who loads the sample."""
    calls = InProcessCalls(request.app)

    async def call(operation: str, /, *, body: object = None, **ids: str) -> Any:
        try:
            return await calls.call(caller, operation, ids, body=body, language=DEFAULT)
        except OperationRefused as refused:
            raise CallRefused(operation, str(refused)) from refused

    return call
