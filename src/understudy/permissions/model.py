"""The records of permissions: rules, their levels, and verdicts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from understudy.core.records import OMIT, OMIT_EMPTY


class PermissionDecision(StrEnum):
    """The decision about a tool call: allow, ask or deny."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Level(StrEnum):
    """The level of a decision.

    `tool` is the tool's own default, where no rule matches, and `skill` the tools that a skill in
    use allows.
    """

    TOOL = "tool"
    DAEMON = "daemon"
    AGENT = "agent"
    SESSION = "session"
    SKILL = "skill"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRule:
    """A permission rule: the decision for the calls that it matches.

    `tool` and the values of `arguments` are patterns in which `*` stands for any text and `?` for
    one character. Every argument that is named must be there and match.
    """

    tool: str
    decision: PermissionDecision
    arguments: Annotated[Mapping[str, str], OMIT_EMPTY] = field(default_factory=dict)
    reason: Annotated[str | None, OMIT] = None

    def __str__(self) -> str:
        named = ", ".join(f"{name}={pattern}" for name, pattern in self.arguments.items())
        return f"{self.decision} {self.tool}({named})" if named else f"{self.decision} {self.tool}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedRule:
    """A rule with its level and its place among the rules of that level, from 0."""

    rule: CallRule
    level: Level
    index: int
    # The agent or session that has the rule, if not that of the call.
    owner: str | None = None

    def __str__(self) -> str:
        whose = f"{self.level} {self.owner}" if self.owner else self.level
        return f"rule {self.index + 1} of the {whose} ({self.rule})"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceLine:
    """The result of one rule in a trace."""

    placed: PlacedRule
    matched: bool
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallVerdict:
    """The verdict for one call, and the rule that was applied; no rule: the tool's own default."""

    decision: PermissionDecision
    level: Level
    reason: str
    applied: PlacedRule | None = None
    trace: tuple[TraceLine, ...] = ()
    # The parent session whose rules gave the strictest verdict.
    above: str | None = None

    @property
    def rule(self) -> CallRule | None:
        """The rule that was applied."""
        return self.applied.rule if self.applied else None
