"""What the MCP client needs from outside."""

from collections.abc import Sequence
from typing import Protocol

from understudy.mcp_client.model import SessionServer
from understudy.sessions.ports import SessionUnit


class SessionServerStore(Protocol):
    """The servers that sessions have for themselves."""

    def of(self, session_id: str) -> tuple[SessionServer, ...]:
        """A session's servers, by name."""
        ...

    def replace(self, session_id: str, servers: Sequence[SessionServer]) -> None:
        """Give a session these servers and no others."""
        ...


class McpUnit(SessionUnit, Protocol):
    """One transaction over sessions and their servers."""

    @property
    def mcp_servers(self) -> SessionServerStore: ...
