"""Calls about MCP servers."""

from collections.abc import Iterator, Mapping

from understudy.client.calls import at, delete, get, given, post, put
from understudy.client.groups.resource import Resource, body, every
from understudy.wire.base import Items
from understudy.wire.mcp import (
    McpServerView,
    SessionMcpServer,
    SessionMcpServersView,
    SetSessionMcpServers,
)

_own = SessionMcpServersView.model_validate


class McpServers(Resource):
    """Servers whose tools agents can use."""

    def page(self, *, limit: int | None = None, cursor: str | None = None) -> Items[McpServerView]:
        """Some servers of the config file."""
        read = Items[McpServerView].model_validate
        query = given(limit=limit, cursor=cursor)
        return self.transport.send(get(at("mcp-servers"), read, **query))

    def list(self) -> Iterator[McpServerView]:
        """All servers of the config file."""
        return every(lambda cursor: self.page(cursor=cursor))

    def restart(self, name: str) -> McpServerView:
        """Start a server anew, whether it runs or not."""
        read = McpServerView.model_validate
        return self.transport.send(post(at("mcp-servers", name, "restart"), read))

    def of_session(self, session_id: str) -> SessionMcpServersView:
        """The servers that a session has for itself."""
        return self.transport.send(get(at("sessions", session_id, "mcp-servers"), _own))

    def set_for_session(
        self, session_id: str, servers: Mapping[str, SessionMcpServer]
    ) -> SessionMcpServersView:
        """Give future runs of a session these servers and no others."""
        wanted = body(SetSessionMcpServers(mcp_servers=dict(servers)))
        return self.transport.send(put(at("sessions", session_id, "mcp-servers"), _own, wanted))

    def clear_for_session(self, session_id: str) -> SessionMcpServersView:
        """Leave a session with the servers of the config file alone."""
        return self.transport.send(delete(at("sessions", session_id, "mcp-servers"), _own))
