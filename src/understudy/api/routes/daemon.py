"""Probes, metrics and status of the daemon."""

from typing import Annotated, Final

from fastapi import APIRouter, Query
from fastapi.responses import PlainTextResponse, Response

from understudy.api.gate import GatedRoute, require_ready
from understudy.api.operations import admin, anyone, viewer
from understudy.api.services import Caller, Services
from understudy.core.errors import coded_error
from understudy.core.principal import Role
from understudy.core.visibility import PER_USER
from understudy.settings.effective import route_rows, setting_rows
from understudy.telemetry.metrics import CONTENT_TYPE
from understudy.wire.overview import EffectiveSettings, OverviewView
from understudy.wire.runtime import StatusView

router = APIRouter(tags=["daemon"], route_class=GatedRoute)
MAX_DAYS: Final = 90


@router.get("/healthz", operation_id="probes.health", response_class=PlainTextResponse)
@anyone()
async def health() -> PlainTextResponse:
    """Answer whether the process lives."""
    return PlainTextResponse("ok\n")


@router.get("/readyz", operation_id="probes.readiness", response_class=PlainTextResponse)
@anyone()
def readiness(services: Services) -> PlainTextResponse:
    """Answer whether the daemon takes work: it has started, does not stop, and has room on its disk."""
    require_ready(services)
    if not services.resources.units.has_room():
        raise coded_error("storage/disk_full")
    return PlainTextResponse("ready\n")


@router.get("/metrics", operation_id="metrics.read", response_class=PlainTextResponse)
@viewer()
def metrics(services: Services, caller: Caller) -> Response:
    """Show counters in the text format of Prometheus; of all users, so an admin's with isolation."""
    if services.resources.settings.isolation == PER_USER:
        caller.require(Role.ADMIN)
    return Response(services.metrics.render(), media_type=CONTENT_TYPE)


@router.get("/v1/status", operation_id="status.read")
@viewer()
def status(services: Services, caller: Caller) -> StatusView:
    """Show the state of the daemon; an admin also sees which folders and skills need attention."""
    return StatusView(**services.status(in_full=caller.role.includes(Role.ADMIN)))


@router.get("/v1/overview", operation_id="overview.read")
@viewer()
def overview(
    services: Services,
    days: Annotated[
        int, Query(ge=1, le=MAX_DAYS, description="how many days, today included")
    ] = 14,
) -> OverviewView:
    """Runs and learning day by day, and tokens by agent and model, with their cost where it is known."""
    return services.overview(days)


@router.get("/v1/settings", operation_id="settings.read")
@admin()
def settings(services: Services) -> EffectiveSettings:
    """Show the settings that the daemon started with, and where each came from; never a secret."""
    in_force = services.resources.settings
    return EffectiveSettings(settings=setting_rows(in_force), routes=route_rows(in_force))
