"""The tools there are, how a session has them, and what a call would get."""

from typing import Annotated

from fastapi import APIRouter, Path

from understudy.api.gate import GatedRoute
from understudy.api.operations import admin, viewer
from understudy.api.paging import Paging, items
from understudy.api.services import Caller, Services
from understudy.api.views.permissions import session_tool_view, tool_view, verdict_view
from understudy.core.page import Page
from understudy.wire.base import Items
from understudy.wire.permissions import CheckTool, SessionToolView, VerdictView
from understudy.wire.runtime import SetTool, ToolView

router = APIRouter(tags=["tools"], route_class=GatedRoute)


@router.get("/v1/tools", operation_id="tools.list")
@viewer()
def list_tools(services: Services, page: Paging) -> Items[ToolView]:
    """The tools there are."""
    disabled = services.offers.disabled()
    found = Page.cut(services.known_tools.describe(), page)
    return items(
        found,
        lambda tool: ToolView.model_validate({**tool, "enabled": tool["name"] not in disabled}),
    )


@router.post("/v1/tools/check", operation_id="tools.check")
@viewer()
def check_tool(body: CheckTool, services: Services) -> VerdictView:
    """What would become of a call, by which rule, and how every rule fared; nothing is run."""
    verdict = services.offers.check(
        body.tool, body.arguments, session_id=body.session_id, agent_id=body.agent_id
    )
    return verdict_view(verdict)


@router.put("/v1/tools/{name:path}", operation_id="tools.set")
@admin()
def set_tool(name: str, body: SetTool, services: Services, caller: Caller) -> ToolView:
    """Switch a tool on or off for all agents."""
    tool = services.offers.switch(caller, name, enabled=body.enabled)
    return tool_view(tool, enabled=body.enabled)


@router.get("/v1/sessions/{session_id}/tools", operation_id="sessions.tools")
@viewer()
def list_session_tools(
    session_id: Annotated[str, Path(description="id of the session")],
    services: Services,
    page: Paging,
) -> Items[SessionToolView]:
    """The tools as a session has them: what is gated, and why."""
    return items(Page.cut(services.offers.in_session(session_id), page), session_tool_view)
