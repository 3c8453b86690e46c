"""MCP servers: those of the config file, and those of a session."""

import asyncio
from dataclasses import asdict
from typing import Annotated, Final

from fastapi import APIRouter, Path

from understudy.api.gate import GatedRoute
from understudy.api.operations import POST_TWIN, admin, operator, viewer
from understudy.api.paging import Paging
from understudy.api.services import Caller, Services, SessionId
from understudy.core import audit
from understudy.core.page import Page
from understudy.core.principal import Principal
from understudy.mcp_client.model import ServerStatus, SessionServer
from understudy.wire.mcp import (
    AcceptedMcpTools,
    AcceptMcpTools,
    McpToolView,
    SessionMcpServer,
    SessionMcpServersView,
    SessionMcpServerView,
    SetSessionMcpServers,
)

router = APIRouter(tags=["mcp"], route_class=GatedRoute)
Name = Annotated[str, Path(description="name of the server")]
OWN: Final = "/v1/sessions/{session_id}/mcp-servers"


@router.get("/v1/mcp-servers", operation_id="mcp_servers.list")
@viewer()
def list_servers(services: Services, page: Paging) -> Page[ServerStatus]:
    """List the servers of the config file, and their state."""
    statuses = map(services.mcp_acceptance.with_unaccepted, services.mcp.statuses())
    return Page.cut(tuple(statuses), page)


@router.post("/v1/mcp-servers/{name}/restart", operation_id="mcp_servers.restart")
@admin()
async def restart(name: Name, services: Services, caller: Caller) -> ServerStatus:
    """Restart a server, whether it runs or not; the answer has the result."""
    status = await services.mcp.restart(name)
    await asyncio.to_thread(_note_restart, services, caller, name)
    return await asyncio.to_thread(services.mcp_acceptance.with_unaccepted, status)


@router.post("/v1/mcp-servers/{name}/accept", operation_id="mcp_servers.accept")
@admin()
async def accept(
    name: Name, services: Services, caller: Caller, body: AcceptMcpTools | None = None
) -> AcceptedMcpTools:
    """Accept what the tools of a server say of themselves: it no longer counts as text of others."""
    wanted, acceptance = body or AcceptMcpTools(), services.mcp_acceptance
    listed = await acceptance.listed(name, wanted.session_id)
    tools = await asyncio.to_thread(acceptance.accept, caller, name, listed, wanted.digests)
    return AcceptedMcpTools(tools=[McpToolView.of(tool) for tool in tools])


@router.get(OWN, operation_id="sessions.mcp_servers")
@viewer()
def get_own(session_id: SessionId, services: Services) -> SessionMcpServersView:
    """List the session's own servers."""
    return _view(services, session_id, services.session_mcp.get(session_id))


@router.post(OWN, operation_id="sessions.set_mcp_servers" + POST_TWIN)
@router.put(OWN, operation_id="sessions.set_mcp_servers")
@operator()
async def set_own(
    session_id: SessionId, body: SetSessionMcpServers, services: Services, caller: Caller
) -> SessionMcpServersView:
    """Replace the session's own servers for its future runs."""
    wanted = [_server(name, each) for name, each in body.mcp_servers.items()]
    return _view(services, session_id, await services.session_mcp.set(caller, session_id, wanted))


@router.delete(OWN, operation_id="sessions.clear_mcp_servers")
@operator(action="sessions.set_mcp_servers")
async def clear_own(
    session_id: SessionId, services: Services, caller: Caller
) -> SessionMcpServersView:
    """Remove the session's own servers; those of the config file stay."""
    return _view(services, session_id, await services.session_mcp.set(caller, session_id, ()))


def _server(name: str, wanted: SessionMcpServer) -> SessionServer:
    fields = wanted.model_dump()
    return SessionServer(**{**fields, "name": name, "args": tuple(fields["args"])})


def _view(
    services: Services, session_id: str, servers: tuple[SessionServer, ...]
) -> SessionMcpServersView:
    return SessionMcpServersView(
        session_id=session_id,
        mcp_servers={
            each.name: _own_view(
                each,
                services.mcp_acceptance.with_unaccepted(
                    services.mcp.own_status(session_id, services.session_mcp.server(each)),
                    session_id,
                ),
            )
            for each in servers
        },
    )


def _own_view(server: SessionServer, status: ServerStatus) -> SessionMcpServerView:
    # Empty fields are omitted, so that the answer can be sent back unchanged.
    set_parts = {key: value for key, value in asdict(server).items() if value not in (None, (), {})}
    return SessionMcpServerView.model_validate({**set_parts, **asdict(status)})


def _note_restart(services: Services, principal: Principal, name: str) -> None:
    with services.resources.units.write() as unit:
        now = services.resources.clock.now_ms()
        unit.audit.add(audit.done(principal, "mcp_servers.restart", name, at_ms=now))
