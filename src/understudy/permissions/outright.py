"""Tools that are denied whatever they are called with: nobody needs to be told of them."""

from collections.abc import Iterable

from understudy.permissions.globs import matches
from understudy.permissions.model import Decision, Rule


def denied_outright(rules: Iterable[Rule]) -> tuple[str, ...]:
    """The patterns of tools that rules deny for every argument; nothing else can undo that."""
    denied = (rule.tool for rule in rules if rule.decision is Decision.DENY and not rule.arguments)
    return tuple(sorted(set(denied)))


def is_among(patterns: Iterable[str], tool: str) -> bool:
    """Whether one of the patterns is about a tool."""
    return any(matches(pattern, tool) for pattern in patterns)
