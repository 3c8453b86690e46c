"""Permission rules and verdicts on the wire."""

from pydantic import Field

from understudy.permissions.model import CallRule, Level, PermissionDecision
from understudy.wire.base import Int32, JsonObject, Lax, Omitted, RequestBody, View


class PermissionRule(RequestBody):
    """The decision for the calls that match; in patterns `*` is any text and `?` one character."""

    tool: str
    """The name of a tool, or a pattern of names."""
    decision: Lax[PermissionDecision]
    """`allow`, `ask` or `deny`."""
    arguments: dict[str, str] | None = None
    """A pattern for each argument that must match."""
    reason: str | None = None
    """The reason that people and the model are shown."""


class SetSessionPermissions(RequestBody):
    """The rules to set for a session."""

    rules: list[PermissionRule]
    """The rules, in order."""


class SetPermissions(SetSessionPermissions):
    """The rules to set for every agent."""

    expected_revision: Int32 | None = None
    """The revision that was read; the call is refused after another change."""


class PermissionsView(View):
    """The rules for every agent, and their runtime revision."""

    rules: list[CallRule]
    revision: int
    updated_at_ms: int


class SessionPermissionsView(View):
    """The rules of a session; `inherited` are those a sidechain took from its parent."""

    session_id: str
    rules: list[CallRule]
    inherited: list[CallRule] = Field(default_factory=list)


class CheckTool(RequestBody):
    """A hypothetical tool call, to get its verdict."""

    tool: str
    """The name of the tool."""
    arguments: JsonObject = Field(default_factory=dict)
    """The arguments of the call."""
    session_id: str | None = None
    """The session whose rules count."""
    agent_id: str | None = None
    """The agent whose rules count."""


class TraceView(View):
    """The result of one rule; `index` is its place among the rules of its level, from 0.

    `owner` is the agent or session that has the rule, if not that of the call.
    """

    level: Level
    index: int
    owner: Omitted[str] = None
    rule: CallRule
    matched: bool
    why: str


class VerdictView(View):
    """The verdict for a call, and the rule that was applied; no rule is the tool's own default.

    `above` is the ancestor session whose rules are the strictest.
    """

    decision: PermissionDecision
    level: Level
    above: Omitted[str] = None
    rule: CallRule | None = None
    reason: str
    trace: list[TraceView]


class SessionToolView(View):
    """A tool as one session has it; the decision is that of a call without arguments."""

    name: str
    description: str
    effect: str
    approval: str
    enabled: bool
    decision: PermissionDecision
    level: Level
    reason: str
    # Whether any rule matches on the arguments.
    depends_on_arguments: bool
    # Of a tool of an MCP server: the digest of what it says of itself, and whether that is accepted.
    digest: Omitted[str] = None
    accepted: Omitted[bool] = None
