"""Permission rules and verdicts on the wire."""

from pydantic import Field

from understudy.permissions.model import CallRule, Level, PermissionDecision
from understudy.wire.base import Int32, JsonObject, Lax, Omitted, RequestBody, View


class PermissionRule(RequestBody):
    """The decision for the calls that match; in patterns `*` is any text and `?` one character."""

    tool: str = Field(description="a tool's name, or a pattern of names")
    decision: Lax[PermissionDecision]
    arguments: dict[str, str] | None = Field(
        default=None, description="a pattern for each argument that must match"
    )
    reason: str | None = Field(default=None, description="shown to people and to the model")


class SetSessionPermissions(RequestBody):
    """The rules to set for a session."""

    rules: list[PermissionRule]


class SetPermissions(SetSessionPermissions):
    """The rules to set for every agent."""

    expected_revision: Int32 | None = None


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
    arguments: JsonObject = Field(default_factory=dict)
    session_id: str | None = None
    agent_id: str | None = None


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
