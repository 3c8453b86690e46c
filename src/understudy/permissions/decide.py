"""Decides what becomes of a tool call. Pure: the same rules and call give the same verdict.

A matching deny wins over everything. Else the most specific matching rule applies, then the one
of the nearer level, then the stricter, then the later. Where no rule matches, the tool's own
default stands.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from understudy.permissions.arguments import argument_values, spellings
from understudy.permissions.globs import literal_length, literal_prefix, matches
from understudy.permissions.guards import PLAIN, Guard, guards_of
from understudy.permissions.model import Decision, Level, PlacedRule, Rule, TraceLine, Verdict

# An argument longer than this is not searched: it counts as a match for ask and deny alone.
MAX_TEXT_CHARS: Final = 256 * 1024
STRICTNESS: Final = {decision: place for place, decision in enumerate(Decision)}

_NEARNESS: Final = {level: place for place, level in enumerate(Level)}
_DEFAULTS: Final = {
    Decision.ALLOW: "no rule matches, and the tool needs no approval by itself",
    Decision.ASK: "no rule matches, and the tool asks for approval by itself",
    Decision.DENY: "no rule matches, and the tool is denied by itself",
}

Specificity = tuple[bool, int, int, int, int]


def decide(
    tool: str,
    arguments: Mapping[str, Any],
    placed: Iterable[PlacedRule],
    default: Decision,
) -> Verdict:
    """What becomes of a call, by which rule, and how every rule fared."""
    trace = tuple(_held_against(each, tool, arguments) for each in placed)
    matching = [line.placed for line in trace if line.matched]
    denying = [each for each in matching if each.rule.decision is Decision.DENY]
    if not matching:
        reason = _DEFAULTS[default]
        return Verdict(decision=default, level=Level.TOOL, reason=reason, trace=trace)
    applied = max(denying or matching, key=_rank)
    return Verdict(
        decision=applied.rule.decision,
        level=applied.level,
        applied=applied,
        reason=_reason(applied),
        trace=trace,
    )


def specificity(rule: Rule) -> Specificity:
    """How closely a rule names a call: first the tool, then its arguments."""
    prefix = literal_prefix(rule.tool)
    return (
        prefix == rule.tool,
        len(prefix),
        literal_length(rule.tool),
        len(rule.arguments),
        sum(literal_length(pattern) for pattern in rule.arguments.values()),
    )


def why_not(rule: Rule, tool: str, arguments: Mapping[str, Any]) -> str | None:
    """Why a rule does not match a call; None when it does."""
    if not matches(rule.tool, tool):
        return "another tool"
    guards = guards_of(tool)
    holds_against = _allow_objects if rule.decision is Decision.ALLOW else _is_untouched
    for name, pattern in rule.arguments.items():
        values = [spellings(value) for value in argument_values(arguments, name)]
        if not values:
            return f"the call has no argument {name}"
        objection = holds_against(guards.get(name, PLAIN), pattern, values)
        if objection is not None:
            return f"{name} {objection}"
    return None


def _allow_objects(guard: Guard, pattern: str, values: Iterable[tuple[str, ...]]) -> str | None:
    """Why an allow does not match: one of the values does not fit, however it is spelled."""
    for texts in values:
        objections = [
            "is too long for an allow rule"
            if len(text) > MAX_TEXT_CHARS
            else guard.objects(pattern, text)
            for text in texts
        ]
        if None not in objections:
            return objections[0]
    return None


def _is_untouched(guard: Guard, pattern: str, values: Iterable[tuple[str, ...]]) -> str | None:
    """Why an ask or a deny does not match: no spelling of any value fits."""
    for texts in values:
        for text in texts:
            if len(text) > MAX_TEXT_CHARS or guard.touches(pattern, text):
                return None
    return "does not match"


def _held_against(placed: PlacedRule, tool: str, arguments: Mapping[str, Any]) -> TraceLine:
    objection = why_not(placed.rule, tool, arguments)
    why = "it matches the call" if objection is None else objection
    return TraceLine(placed=placed, matched=objection is None, why=why)


def _rank(placed: PlacedRule) -> tuple[Specificity, int, int, int]:
    rule = placed.rule
    return (
        specificity(rule),
        _NEARNESS[placed.level],
        STRICTNESS[rule.decision],
        placed.index,
    )


def _reason(applied: PlacedRule) -> str:
    said = f": {applied.rule.reason}" if applied.rule.reason else ""
    return f"{applied}{said}"
