"""What tool calls are judged by at one moment: switches, the session's sight, and rules."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from understudy.core.errors import Invalid
from understudy.mcp_client.visibility import SERVER, McpVisibility
from understudy.permissions.globs import matches
from understudy.permissions.model import CallVerdict, Level, PermissionDecision
from understudy.permissions.sidechain_verdict import RuleSet, decide_in_all
from understudy.sessions.model import Session
from understudy.sessions.scopes import effective_capability_scope
from understudy.tools.base import Approval, Tool

DEFAULTS: Final = {
    Approval.ALWAYS: PermissionDecision.ASK,
    Approval.NEVER: PermissionDecision.ALLOW,
}

SWITCHED_OFF: Final = CallVerdict(
    decision=PermissionDecision.DENY,
    level=Level.DAEMON,
    reason="the tool is switched off for all agents",
)
HIDDEN: Final = CallVerdict(
    decision=PermissionDecision.DENY,
    level=Level.SESSION,
    reason="the session's capability scope hides the tool",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What holds for the calls of one agent in one session, or in none."""

    disabled: frozenset[str]
    session: Session | None
    readings: tuple[RuleSet, ...] = ()
    # What every call gets when the rules cannot be read.
    unreadable: CallVerdict | None = None

    def verdict(self, tool: Tool, arguments: Mapping[str, Any]) -> CallVerdict:
        """What becomes of a call."""
        if tool.name in self.disabled:
            return SWITCHED_OFF
        if is_hidden(tool.name, self.session):
            return HIDDEN
        if self.unreadable is not None:
            return self.unreadable
        return decide_in_all(tool.name, arguments, self.readings, DEFAULTS[tool.approval])

    def depend_on_arguments(self, tool: Tool) -> bool:
        """Whether there are rules about what the tool is called with."""
        return any(
            placed.rule.arguments and matches(placed.rule.tool, tool.name)
            for reading in self.readings
            for placed in reading.placed
        )


def is_hidden(name: str, session: Session | None) -> bool:
    """Whether the session's capability scope hides a tool; only those of MCP servers can be."""
    server, slash, tool = name.partition("/")
    if session is None or not slash:
        return False
    try:
        scope = effective_capability_scope(session)
        hides_server = scope is not None and not scope.gate(SERVER).permits(server)
        return hides_server or McpVisibility(session).tool_hidden_by(server, tool) is not None
    except Invalid:
        # What was stored cannot be read, so nobody knows what it shows.
        return True
