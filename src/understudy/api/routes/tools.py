"""Tools: the list, their availability in a session, and the permission check of a call."""

from functools import partial

from fastapi import APIRouter

from understudy.agent.offers import ToolStanding
from understudy.api.gate import GatedRoute
from understudy.api.operations import admin, viewer
from understudy.api.paging import Paging, items
from understudy.api.services import AgentId, Caller, Services, SessionId
from understudy.core.page import Page
from understudy.permissions.model import CallVerdict
from understudy.runtime.two_people import TwoApprovers
from understudy.tools.base import schema_of
from understudy.wire.base import Items
from understudy.wire.permissions import CheckTool, SessionToolView, TraceView, VerdictView
from understudy.wire.runtime import SetTool, ToolView

router = APIRouter(tags=["tools"], route_class=GatedRoute)


@router.get("/v1/tools", operation_id="tools.list")
@viewer()
def list_tools(services: Services, page: Paging) -> Items[ToolView]:
    """List the tools."""
    disabled = services.offers.disabled()
    found = Page.cut(services.known_tools.describe(), page)
    accepted = services.mcp_acceptance.accepted()
    return items(
        found,
        lambda tool: ToolView.model_validate(
            {
                **tool,
                "enabled": tool["name"] not in disabled,
                "accepted": tool["digest"] in accepted if "digest" in tool else None,
            }
        ),
    )


@router.post("/v1/tools/check", operation_id="tools.check")
@viewer()
def check_tool(body: CheckTool, services: Services) -> VerdictView:
    """Check the verdict for a tool call, and the result of every rule; nothing is run."""
    verdict = services.offers.check(
        body.tool, body.arguments, session_id=body.session_id, agent_id=body.agent_id
    )
    return _verdict(verdict)


@router.put("/v1/tools/{name:path}", operation_id="tools.set")
@admin(two=TwoApprovers.POLICY_CHANGE)
def set_tool(name: str, body: SetTool, services: Services, caller: Caller) -> ToolView:
    """Switch a tool on or off for all agents."""
    tool = services.offers.switch(caller, name, enabled=body.enabled)
    return ToolView.of(tool, enabled=body.enabled, parameters=dict(schema_of(tool.parameters)))


@router.get("/v1/sessions/{session_id}/tools", operation_id="sessions.tools")
@viewer()
def list_session_tools(
    session_id: SessionId,
    services: Services,
    page: Paging,
) -> Items[SessionToolView]:
    """List the tools as a session has them: what is gated, and why."""
    standings = Page.cut(services.offers.in_session(session_id), page)
    return items(standings, partial(_in_session, services.mcp_acceptance.accepted()))


@router.get("/v1/agents/{agent_id}/tools", operation_id="agents.tools")
@viewer()
def list_agent_tools(agent_id: AgentId, services: Services, page: Paging) -> Items[SessionToolView]:
    """List the tools as a new session of an agent has them: what is gated, and why."""
    standings = Page.cut(services.offers.of_agent(agent_id), page)
    return items(standings, partial(_in_session, services.mcp_acceptance.accepted()))


def _verdict(verdict: CallVerdict) -> VerdictView:
    lines = [
        TraceView.of(line.placed, matched=line.matched, why=line.why, rule=line.placed.rule)
        for line in verdict.trace
    ]
    return VerdictView.of(verdict, rule=verdict.rule, trace=lines)


def _in_session(accepted: frozenset[str], standing: ToolStanding) -> SessionToolView:
    verdict = standing.verdict
    digest: str | None = getattr(standing.tool, "digest", None)
    return SessionToolView.of(
        standing.tool,
        enabled=standing.enabled,
        decision=verdict.decision,
        level=verdict.level,
        reason=verdict.reason,
        depends_on_arguments=standing.depends_on_arguments,
        digest=digest,
        accepted=None if digest is None else digest in accepted,
    )
