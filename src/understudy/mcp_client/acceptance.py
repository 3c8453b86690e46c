"""Which descriptions of MCP tools an admin has accepted: the others taint the runs that are told of them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.principal import Principal
from understudy.mcp_client.connection import McpConnection
from understudy.mcp_client.errors import ServerDown
from understudy.mcp_client.model import AcceptedTool, ServerStatus
from understudy.mcp_client.servers import McpServers
from understudy.mcp_client.session_servers import SessionServerService
from understudy.mcp_client.tool import McpTool
from understudy.tools.base import Tool

if TYPE_CHECKING:
    from understudy.storage.unit import Units

ACCEPT: Final = "mcp_servers.accept"


@dataclass(frozen=True, slots=True, kw_only=True)
class McpAcceptance:
    """Reads and stores what was accepted: a digest for the name, description and parameters of a tool."""

    units: "Units"
    clock: Clock
    servers: McpServers
    session_servers: SessionServerService

    def accepted(self) -> frozenset[str]:
        """The digests of all accepted tools."""
        with self.units.read() as unit:
            return unit.mcp_servers.accepted()

    def unaccepted(self, tools: Iterable[Tool]) -> list[str]:
        """The names of the tools of servers whose description nobody has accepted."""
        return [tool.name for tool in _unread(tools, self.accepted())]

    def with_unaccepted(self, status: ServerStatus, session_id: str | None = None) -> ServerStatus:
        """The status of a server with the number of its tools that nobody has accepted."""
        listed = [
            tool
            for connection in self.servers.of_session(session_id)
            if connection.server.name == status.name
            for tool in self.servers.listed_by(connection)
        ]
        return replace(status, unaccepted=len(_unread(listed, self.accepted())) or None)

    async def listed(self, name: str, session_id: str | None = None) -> tuple[McpTool, ...]:
        """The tools that a server lists now; starts it if needed."""
        try:
            return await self.servers.tools_of(await self._connection(name, session_id))
        except ServerDown as problem:
            raise coded_error(
                "mcp/mcp_server_not_ready", name=name, reason=problem.detail
            ) from None

    def accept(
        self,
        principal: Principal,
        name: str,
        listed: Sequence[McpTool],
        digests: Collection[str] | None = None,
    ) -> Sequence[McpTool]:
        """Accept the descriptions of tools: all that are listed, or those with the digests that were read."""
        chosen = [tool for tool in listed if digests is None or tool.digest in digests]
        if digests is not None and len(chosen) < len(set(digests)):
            raise coded_error("mcp/mcp_tool_changed", pointer="/digests", name=name)
        now = self.clock.now_ms()
        with self.units.write() as unit:
            for tool in _unread(chosen, unit.mcp_servers.accepted()):
                unit.mcp_servers.accept(
                    AcceptedTool(
                        digest=tool.digest,
                        name=tool.name,
                        accepted_by=principal.actor,
                        accepted_at_ms=now,
                    )
                )
                unit.audit.add(
                    audit.done(principal, ACCEPT, tool.name, at_ms=now, reason=tool.digest)
                )
        return chosen

    async def _connection(self, name: str, session_id: str | None) -> McpConnection:
        if session_id is None:
            found = [each for each in self.servers.shared() if each.server.name == name]
        else:
            own = self.session_servers.usable(session_id)
            found = [await self.servers.own(session_id, it) for it in own if it.name == name]
        if not found:
            raise coded_error("mcp/mcp_server_not_found", name=name)
        return found[0]


def _unread(tools: Iterable[Tool], accepted: Collection[str]) -> list[McpTool]:
    return [it for it in tools if isinstance(it, McpTool) and it.digest not in accepted]
