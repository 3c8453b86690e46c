"""The MCP servers and tools visible to a session, and the scope that hides the others."""

from collections.abc import Sequence
from typing import Final

from understudy.core.scope import Gate, Scope
from understudy.mcp_client.model import McpServer
from understudy.sessions.model import Session
from understudy.sessions.scopes import effective_capability_scope, effective_credential_scope

SERVER: Final = "mcp_server"
TOOL: Final = "mcp_tool"
OPEN: Final = Scope(gates={})


class McpVisibility:
    """The MCP servers and tools that are visible to one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._capabilities = effective_capability_scope(session) or OPEN

    def server_hidden_by(self, server: McpServer) -> str | None:
        """The scope that hides a server from the session; None if it is visible."""
        if not self._capabilities.gate(SERVER).permits(server.name):
            return "capability_scope"
        return "credential_scope" if lacks_credentials(self._session, server) else None

    def tool_hidden_by(self, server: str, tool: str) -> str | None:
        """The scope that hides a tool; scopes name it `server/tool`, or just `tool`."""
        spellings = (f"{server}/{tool}", tool)
        return None if _permits(self._capabilities.gate(TOOL), spellings) else "capability_scope"


def lacks_credentials(session: Session, server: McpServer) -> bool:
    """Whether the server needs a credential that the session may not use."""
    scope = effective_credential_scope(session) or OPEN
    return server.is_credentialed and not scope.gate(SERVER).permits(server.name)


def _permits(gate: Gate, spellings: Sequence[str]) -> bool:
    """Whether no spelling is denied and at least one is allowed."""
    denials = Gate(deny=gate.deny)
    return all(map(denials.permits, spellings)) and any(map(gate.permits, spellings))
