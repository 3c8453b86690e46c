"""The records of permissions: rules, where they stand, and what they decide."""

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
    """Where a decision comes from; `tool` is the tool's own default, where no rule speaks, and
    `skill` the tools that a skill in use allows."""

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
    # The agent or session it is of, where that is not the one the call is made in.
    owner: str | None = None

    def __str__(self) -> str:
        whose = f"{self.level} {self.owner}" if self.owner else self.level
        return f"rule {self.index + 1} of the {whose} ({self.rule})"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceLine:
    """How one rule fared."""

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
    # The session above the one of the call that is so strict.
    above: str | None = None

    @property
    def rule(self) -> CallRule | None:
        """The rule that was applied."""
        return self.applied.rule if self.applied else None
