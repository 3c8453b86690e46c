"""Permission rules, and what they decide, on the wire."""

from pydantic import Field

from understudy.permissions.model import CallRule, Level, PermissionDecision
from understudy.wire.base import Int32, JsonObject, Lax, Omitted, RequestBody, View


class PermissionRule(RequestBody):
    """What to do with the calls that match; in patterns `*` is any text and `?` one character."""

    tool: str = Field(description="a tool's name, or a pattern of names")
    decision: Lax[PermissionDecision]
    arguments: dict[str, str] | None = Field(
        default=None, description="a pattern for each argument that must match"
    )
    reason: str | None = Field(default=None, description="shown to people and to the model")


class SetSessionPermissions(RequestBody):
    """The rules that shall hold in a session."""

    rules: list[PermissionRule]


class SetPermissions(SetSessionPermissions):
    """The rules that shall hold for every agent."""

    expected_revision: Int32 | None = None


class PermissionsView(View):
    """The rules that hold for every agent, and the runtime revision they are part of."""

    rules: list[CallRule]
    revision: int
    updated_at_ms: int


class SessionPermissionsView(View):
    """The rules of a session; `inherited` are those a sidechain took from its parent."""

    session_id: str
    rules: list[CallRule]
    inherited: list[CallRule] = Field(default_factory=list)


class CheckTool(RequestBody):
    """A tool call that nobody makes: what would become of it?"""

    tool: str
    arguments: JsonObject = Field(default_factory=dict)
    session_id: str | None = None
    agent_id: str | None = None


class TraceView(View):
    """How one rule fared; `index` is its place among the rules of its level, from 0.

    `owner` is the agent or session it is of, where that is not the one the call is made in.
    """

    level: Level
    index: int
    owner: Omitted[str] = None
    rule: CallRule
    matched: bool
    why: str


class VerdictView(View):
    """What would become of a call, and which rule says so; no rule is the tool's own default.

    `above` is the session above whose rules are so strict.
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
    # Whether there are rules about what the tool is called with.
    depends_on_arguments: bool
