"""Permission rules, and what they decide, on the wire."""

from typing import Literal, TypeAlias

from pydantic import Field

from understudy.wire.base import Int32, JsonObject, Omitted, Request, View

DecisionName: TypeAlias = Literal["allow", "ask", "deny"]
LevelName: TypeAlias = Literal["tool", "daemon", "agent", "session"]


class PermissionRule(Request):
    """What to do with the calls that match; in patterns `*` is any text and `?` one character."""

    tool: str = Field(description="a tool's name, or a pattern of names")
    decision: DecisionName
    arguments: dict[str, str] | None = Field(
        default=None, description="a pattern for each argument that must match"
    )
    reason: str | None = Field(default=None, description="shown to people and to the model")


class SetSessionPermissions(Request):
    """The rules that shall hold in a session."""

    rules: list[PermissionRule]


class SetPermissions(SetSessionPermissions):
    """The rules that shall hold for every agent."""

    expected_revision: Int32 | None = None


class RuleView(View):
    """A rule as it is kept."""

    tool: str
    decision: DecisionName
    arguments: Omitted[dict[str, str]] = None
    reason: Omitted[str] = None


class PermissionsView(View):
    """The rules that hold for every agent, and the runtime revision they are part of."""

    rules: list[RuleView]
    revision: int
    updated_at_ms: int


class SessionPermissionsView(View):
    """The rules of a session; `inherited` are those a sidechain took from its parent."""

    session_id: str
    rules: list[RuleView]
    inherited: list[RuleView] = Field(default_factory=list)


class CheckTool(Request):
    """A tool call that nobody makes: what would become of it?"""

    tool: str
    arguments: JsonObject = Field(default_factory=dict)
    session_id: str | None = None
    agent_id: str | None = None


class TraceView(View):
    """How one rule fared; `index` is its place among the rules of its level, from 0.

    `owner` is the agent or session it is of, where that is not the one the call is made in.
    """

    level: LevelName
    index: int
    owner: Omitted[str] = None
    rule: RuleView
    matched: bool
    why: str


class VerdictView(View):
    """What would become of a call, and which rule says so; no rule is the tool's own default.

    `above` is the session above whose rules are so strict.
    """

    decision: DecisionName
    level: LevelName
    above: Omitted[str] = None
    rule: RuleView | None = None
    reason: str
    trace: list[TraceView]


class SessionToolView(View):
    """A tool as one session has it; the decision is that of a call without arguments."""

    name: str
    description: str
    effect: str
    approval: str
    enabled: bool
    decision: DecisionName
    level: LevelName
    reason: str
    # Whether there are rules about what the tool is called with.
    depends_on_arguments: bool
