"""The MCP servers of this daemon: the shared ones of the config file, and those of sessions."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.mcp_client.connection import LoadLink, McpConnection
from understudy.mcp_client.errors import ServerDown
from understudy.mcp_client.model import ListedTool, McpServer, ServerState, ServerStatus
from understudy.mcp_client.tool import McpTool
from understudy.mcp_client.visibility import lacks_credentials
from understudy.sessions.model import Session
from understudy.tools.base import Tool, schema_of

# The limit on open session servers, as each may be a process.
MAX_OPEN_FOR_SESSIONS: Final = 64
# The tool list of a server, and the tools built from it.
_Tools = tuple[tuple[ListedTool, ...], tuple[McpTool, ...]]


class McpServers:
    """One connection for each server of the config, and one for each session server."""

    def __init__(
        self,
        servers: Sequence[McpServer],
        clock: Clock,
        load_link: LoadLink,
        *,
        scrub: Callable[[str], str] = str,
        secrets: Sequence[str] = (),
    ) -> None:
        self._clock = clock
        self._load_link = load_link
        self._scrub = scrub
        self._secrets = tuple(secrets)
        self._shared = {server.name: self._connection(server) for server in servers}
        self._own: dict[tuple[str, str], McpConnection] = {}
        self._tools: WeakKeyDictionary[McpConnection, _Tools] = WeakKeyDictionary()

    def shared(self) -> tuple[McpConnection, ...]:
        """The connections shared by all sessions."""
        return tuple(self._shared.values())

    async def own(self, session_id: str, server: McpServer) -> McpConnection:
        """The connection to a session's own server. Raises `ServerDown`."""
        key = session_id, server.name
        known = self._own.get(key)
        if known is not None and known.server == server:
            return known
        if known is not None:
            del self._own[key]
            await known.shut()
        self._forget_idle()
        if sum(each.is_open for each in self._own.values()) >= MAX_OPEN_FOR_SESSIONS:
            raise ServerDown("too many sessions have servers of their own open now")
        return self._own.setdefault(key, self._connection(server))

    async def tools_of(self, connection: McpConnection) -> tuple[McpTool, ...]:
        """The tools of a server; starts it if needed. Raises `ServerDown`."""
        await connection.ready()
        return await asyncio.to_thread(self.listed_by, connection)

    def of_session(self, session_id: str | None) -> tuple[McpConnection, ...]:
        """The shared connections, and those of this session."""
        own = tuple(self._own.items())
        return (*self.shared(), *(each for (owner, _), each in own if owner == session_id))

    def known(self, session: Session | None) -> tuple[McpTool, ...]:
        """The tools of the servers that are ready: the shared ones, and those of the session."""
        return tuple(
            tool
            for connection in self.of_session(None if session is None else session.session_id)
            if connection.state is ServerState.READY
            and (session is None or not lacks_credentials(session, connection.server))
            for tool in self.listed_by(connection)
        )

    def statuses(self) -> tuple[ServerStatus, ...]:
        """The status of each server of the config."""
        now = self._clock.now_ms()
        return tuple(connection.status(now) for connection in self._shared.values())

    def own_status(self, session_id: str, server: McpServer) -> ServerStatus:
        """The status of a session's own server."""
        connection = self._own.get((session_id, server.name)) or self._connection(server)
        return connection.status(self._clock.now_ms())

    async def restart(self, name: str) -> ServerStatus:
        """Restart a server of the config, and return its status."""
        connection = self._shared.get(name)
        if connection is None:
            raise coded_error("mcp/mcp_server_not_found", name=name)
        await connection.restart()
        return connection.status(self._clock.now_ms())

    def describe(self) -> list[dict[str, object]]:
        """The tools of the ready config servers, in the format of `ToolRegistry.describe`."""
        return [_description(tool) | {"digest": tool.digest} for tool in self.known(None)]

    async def close(self) -> None:
        """Stop every server, and wait until all have ended."""
        everyone = (*self._shared.values(), *self._own.values())
        await asyncio.gather(*(connection.shut() for connection in everyone))

    def listed_by(self, connection: McpConnection) -> tuple[McpTool, ...]:
        """The tools of the server's last list, cached per list; starts nothing."""
        listed, tools = self._tools.get(connection, ((), ()))
        if listed is not connection.tools:
            listed = connection.tools
            tools = tuple(McpTool(connection, each, self._secrets) for each in listed)
            self._tools[connection] = listed, tools
        return tools

    def _connection(self, server: McpServer) -> McpConnection:
        return McpConnection(server, self._load_link, scrub=self._scrub)

    def _forget_idle(self) -> None:
        for key in [key for key, each in self._own.items() if each.is_forgettable]:
            del self._own[key]


def _description(tool: Tool) -> dict[str, object]:
    parameters: Mapping[str, Any] = schema_of(tool.parameters)
    return {
        "name": tool.name,
        "description": tool.description,
        "effect": tool.effect.value,
        "approval": tool.approval.value,
        "parameters": parameters,
    }
