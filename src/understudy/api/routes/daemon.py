"""Probes, metrics, status and tools of the daemon."""

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse, Response

from understudy.api.gate import GatedRoute, require_ready
from understudy.api.paging import Paging, items
from understudy.api.parts import Caller, Parts
from understudy.api.tool_switches import switch_tool, tool_views
from understudy.core.page import Page
from understudy.wire.base import Items
from understudy.wire.runtime import SetTool, StatusView, ToolView

router = APIRouter(tags=["daemon"], route_class=GatedRoute)
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@router.get("/healthz", operation_id="probes.health", response_class=PlainTextResponse)
async def health() -> PlainTextResponse:
    """Whether the process answers."""
    return PlainTextResponse("ok\n")


@router.get("/readyz", operation_id="probes.readiness", response_class=PlainTextResponse)
async def readiness(parts: Parts) -> PlainTextResponse:
    """Whether the daemon takes work."""
    require_ready(parts)
    return PlainTextResponse("ready\n")


@router.get("/metrics", operation_id="metrics.read", response_class=PlainTextResponse)
def metrics(parts: Parts) -> Response:
    """Counters in the text format of Prometheus."""
    return Response(parts.metrics.render(), media_type=METRICS_TYPE)


@router.get("/v1/status", operation_id="status.read")
def status(parts: Parts) -> StatusView:
    """What the daemon is and does."""
    return StatusView(**parts.status())


@router.get("/v1/tools", operation_id="tools.list")
def list_tools(parts: Parts, page: Paging) -> Items[ToolView]:
    """The tools there are."""
    return items(Page.cut(tool_views(parts), page), lambda view: view)


@router.put("/v1/tools/{name}", operation_id="tools.set")
def set_tool(name: str, body: SetTool, parts: Parts, caller: Caller) -> ToolView:
    """Switch a tool on or off for all agents."""
    return switch_tool(parts, caller, name, enabled=body.enabled)
