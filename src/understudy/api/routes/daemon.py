"""Probes, metrics and status of the daemon."""

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse, Response

from understudy.api.gate import GatedRoute, require_ready
from understudy.api.operations import anyone, viewer
from understudy.api.services import Caller, Services
from understudy.core.principal import Role
from understudy.telemetry.metrics import CONTENT_TYPE
from understudy.wire.runtime import StatusView

router = APIRouter(tags=["daemon"], route_class=GatedRoute)


@router.get("/healthz", operation_id="probes.health", response_class=PlainTextResponse)
@anyone()
async def health() -> PlainTextResponse:
    """Whether the process answers."""
    return PlainTextResponse("ok\n")


@router.get("/readyz", operation_id="probes.readiness", response_class=PlainTextResponse)
@anyone()
async def readiness(services: Services) -> PlainTextResponse:
    """Whether the daemon takes work."""
    require_ready(services)
    return PlainTextResponse("ready\n")


@router.get("/metrics", operation_id="metrics.read", response_class=PlainTextResponse)
@viewer()
def metrics(services: Services) -> Response:
    """Counters in the text format of Prometheus."""
    return Response(services.metrics.render(), media_type=CONTENT_TYPE)


@router.get("/v1/status", operation_id="status.read")
@viewer()
def status(services: Services, caller: Caller) -> StatusView:
    """What the daemon is and does; an admin is also told which folders and skills need a look."""
    return StatusView(**services.status(in_full=caller.role.includes(Role.ADMIN)))
