"""MCP servers as the API shows them."""

from collections.abc import Sequence
from dataclasses import asdict

from understudy.mcp_client.model import ServerStatus, SessionServer
from understudy.mcp_client.servers import McpServers
from understudy.mcp_client.session_servers import SessionServerService
from understudy.wire.mcp import McpServerView, SessionMcpServersView, SessionMcpServerView


def server_view(status: ServerStatus) -> McpServerView:
    """A server of the config file."""
    return McpServerView.model_validate(asdict(status))


def session_servers_view(
    session_id: str,
    servers: Sequence[SessionServer],
    service: SessionServerService,
    connections: McpServers,
) -> SessionMcpServersView:
    """The servers of a session, each with how it stands."""
    return SessionMcpServersView(
        session_id=session_id,
        mcp_servers={
            each.name: _own_view(each, connections.own_status(session_id, service.server(each)))
            for each in servers
        },
    )


def _own_view(server: SessionServer, status: ServerStatus) -> SessionMcpServerView:
    # Empty parts are left out, so that the answer can be sent back as it came.
    set_parts = {key: value for key, value in asdict(server).items() if value not in (None, (), {})}
    return SessionMcpServerView.model_validate({**set_parts, **asdict(status)})
