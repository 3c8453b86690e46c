"""The MCP tools of a run; unreachable servers are left out."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from understudy.core.errors import UnderstudyError
from understudy.mcp_client.connection import McpConnection
from understudy.mcp_client.errors import ServerDown
from understudy.mcp_client.model import McpServer
from understudy.mcp_client.servers import McpServers
from understudy.mcp_client.session_servers import SessionServerService
from understudy.mcp_client.tool import McpTool
from understudy.mcp_client.visibility import McpVisibility
from understudy.sessions.model import Session
from understudy.tools.base import Tool
from understudy.tools.registry import wire_name

log = structlog.get_logger()

# Model APIs accept at most 128 tools, including the built-in ones.
MAX_TOOLS: Final = 96


@dataclass(frozen=True, slots=True)
class McpToolSource:
    """The tools of all servers that are visible to a session."""

    servers: McpServers
    session_servers: SessionServerService
    # The tools that are disabled for all agents.
    disabled: Callable[[], frozenset[str]]

    async def tools_for(self, session: Session) -> Sequence[Tool]:
        """The MCP tools of a session. Starts servers; never raises, and waits only briefly."""
        try:
            visibility = McpVisibility(session)
            servers, disabled = await asyncio.to_thread(
                lambda: (self.session_servers.usable(session.session_id), self.disabled())
            )
        except UnderstudyError as problem:
            log.warning("mcp.unknown", session_id=session.session_id, reason=problem.detail)
            return []
        connections = [
            connection
            for connection in self.servers.shared()
            if visibility.server_hidden_by(connection.server) is None
        ]
        connections += await self._own(session, visibility, servers)
        found = await asyncio.gather(
            *(self._tools(session, visibility, connection) for connection in connections)
        )
        tools = [tool for tools in found for tool in tools if tool.name not in disabled]
        return _fitting(session, tools)

    def last_listed(self, session: Session, disabled: Collection[str]) -> Sequence[Tool]:
        """The tools of a session by the last lists of its servers; starts no server."""
        try:
            visibility = McpVisibility(session)
        except UnderstudyError:
            return []
        tools = [
            tool
            for connection in self.servers.of_session(session.session_id)
            if visibility.server_hidden_by(connection.server) is None
            for tool in self.servers.listed_by(connection)
            if visibility.tool_hidden_by(connection.server.name, tool.listed.name) is None
            and tool.name not in disabled
        ]
        return _fitting(session, tools)

    async def _own(
        self, session: Session, visibility: McpVisibility, servers: Sequence[McpServer]
    ) -> list[McpConnection]:
        opened = []
        for server in servers:
            if visibility.server_hidden_by(server) is None:
                try:
                    opened.append(await self.servers.own(session.session_id, server))
                except ServerDown as problem:
                    _tell_missing(session, server.name, problem)
        return opened

    async def _tools(
        self, session: Session, visibility: McpVisibility, connection: McpConnection
    ) -> list[McpTool]:
        name = connection.server.name
        try:
            tools = await self.servers.tools_of(connection)
        except ServerDown as problem:
            _tell_missing(session, name, problem)
            return []
        return [tool for tool in tools if visibility.tool_hidden_by(name, tool.listed.name) is None]


def _tell_missing(session: Session, server: str, problem: ServerDown) -> None:
    log.warning(
        "mcp.tools_missing", session_id=session.session_id, server=server, reason=problem.detail
    )


def _fitting(session: Session, tools: Sequence[McpTool]) -> list[Tool]:
    """The tools with distinct wire names, up to the limit of model APIs."""
    by_wire_name: dict[str, Tool] = {}
    for tool in tools:
        by_wire_name.setdefault(wire_name(tool.name), tool)
    kept = list(by_wire_name.values())[:MAX_TOOLS]
    if len(kept) < len(tools):
        log.warning(
            "mcp.tools_left_out", session_id=session.session_id, number=len(tools) - len(kept)
        )
    return kept
