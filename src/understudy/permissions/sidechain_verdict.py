"""Decides a call in a sidechain: by its own rules, and by those of every ancestor session.

A more specific rule wins over a less specific one, so in one common list a sidechain could undo its
ancestors' rules. So each session judges by itself, and the strictest verdict stands.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from understudy.permissions.decide import STRICTNESS, decide
from understudy.permissions.model import (
    CallRule,
    CallVerdict,
    Level,
    PermissionDecision,
    PlacedRule,
    TraceLine,
)
from understudy.permissions.rules import SessionRules


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRuleSource:
    """The rules of one session and its agent, beside those of the daemon."""

    agent_id: str
    agent_rules: tuple[CallRule, ...] = ()
    session_id: str | None = None
    session_rules: SessionRules = field(default_factory=SessionRules)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """Rules that judge a call together."""

    placed: tuple[PlacedRule, ...]
    # The ancestor session whose rules they are; None for the session of the call.
    above: str | None = None


def readings(daemon: Sequence[CallRule], chain: Sequence[SessionRuleSource]) -> tuple[RuleSet, ...]:
    """The rule sets of the call's session, which is the first, and of its ancestors."""
    return tuple(_readings(tuple(_placed(daemon, Level.DAEMON)), chain))


def decide_in_all(
    tool: str,
    arguments: Mapping[str, Any],
    held: Sequence[RuleSet],
    default: PermissionDecision,
) -> CallVerdict:
    """The strictest verdict of all rule sets, with every rule's trace; on a tie, the nearest."""
    verdicts = [_of(reading, decide(tool, arguments, reading.placed, default)) for reading in held]
    strictest = max(verdicts, key=lambda verdict: STRICTNESS[verdict.decision])
    return replace(strictest, trace=_together(verdicts))


def _readings(
    daemon: tuple[PlacedRule, ...], chain: Sequence[SessionRuleSource]
) -> Iterator[RuleSet]:
    own = chain[0]
    for place, each in enumerate(chain):
        owner = each.session_id if place else None
        of_session = _placed(each.session_rules.all, Level.SESSION, owner)
        yield RuleSet(placed=(*daemon, *_of_agent(each, own), *of_session), above=owner)
        for parent in chain[place + 1 : place + 2]:
            # Also with the parent's rules at spawn time: what it loosened since does not reach
            # down.
            of_session = _placed(each.session_rules.inherited, Level.SESSION, owner)
            placed = (*daemon, *_of_agent(parent, own), *of_session)
            yield RuleSet(placed=placed, above=parent.session_id)


def _of_agent(each: SessionRuleSource, own: SessionRuleSource) -> Iterator[PlacedRule]:
    owner = None if each.agent_id == own.agent_id else each.agent_id
    return _placed(each.agent_rules, Level.AGENT, owner)


def _placed(
    rules: Sequence[CallRule], level: Level, owner: str | None = None
) -> Iterator[PlacedRule]:
    for index, rule in enumerate(rules):
        yield PlacedRule(rule=rule, level=level, index=index, owner=owner)


def _of(reading: RuleSet, verdict: CallVerdict) -> CallVerdict:
    if reading.above is None:
        return verdict
    reason = f"by the rules for session {reading.above} above: {verdict.reason}"
    return replace(verdict, above=reading.above, reason=reason)


def _together(verdicts: Sequence[CallVerdict]) -> tuple[TraceLine, ...]:
    """The traces merged; a rule in several rule sets occurs once."""
    lines = {
        (line.placed.level, line.placed.owner, line.placed.index): line
        for verdict in verdicts
        for line in verdict.trace
    }
    return tuple(lines.values())
