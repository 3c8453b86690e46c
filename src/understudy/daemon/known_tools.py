"""The tools there are at this moment: our own, and those of the servers that are up."""

from collections.abc import Sequence
from dataclasses import dataclass

from understudy.mcp_client.servers import McpServers
from understudy.sessions.model import Session
from understudy.tools.base import Tool
from understudy.tools.registry import ToolRegistry


@dataclass(frozen=True, slots=True)
class KnownTools:
    """Looks anew whenever it is asked."""

    registry: ToolRegistry
    mcp: McpServers

    def __call__(self, session: Session | None) -> Sequence[Tool]:
        """Every tool, for one session or in general."""
        return (*self.registry.all(), *self.mcp.known(session))

    def describe(self) -> list[dict[str, object]]:
        """What a client may know of each tool."""
        return [*self.registry.describe(), *self.mcp.describe()]
