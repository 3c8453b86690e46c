"""Decides a tool call. Pure: the same rules and call give the same verdict.

A matching deny wins over everything, then the table of destructive commands. Else the most specific
matching rule applies, then the one of the nearer level, then the stricter, then the later. Where no
rule matches, the tool's own default stands.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from understudy.permissions.destructive import DestructiveRule, destruction
from understudy.permissions.globs import WILDCARDS, literal_length, literal_prefix, matches
from understudy.permissions.model import (
    CallRule,
    CallVerdict,
    Level,
    PermissionDecision,
    PlacedRule,
    TraceLine,
)
from understudy.permissions.shell import shell_objection, shell_touches
from understudy.permissions.urls import url_objection, url_touches

SHELL_TOOL: Final = "shell"
COMMAND: Final = "command"
OPENED_BY: Final = "only an allow rule with this very command, without wildcards, opens it"
DIFFERS: Final = "does not match"
# A longer argument is not searched: it counts as a match for ask and deny rules only.
MAX_TEXT_CHARS: Final = 256 * 1024
STRICTNESS: Final = {decision: place for place, decision in enumerate(PermissionDecision)}
_NEARNESS: Final = {level: place for place, level in enumerate(Level)}
_DEFAULTS: Final = {
    PermissionDecision.ALLOW: "no rule matches, and this tool needs no approval by default",
    PermissionDecision.ASK: "no rule matches, and this tool needs approval by default",
    PermissionDecision.DENY: "no rule matches, and this tool is denied by default",
}
# Below this, numbers are left as they are.
MAX_DEPTH: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentGuard:
    """Two ways to match a pattern against an argument."""

    # Why an allow rule does not match; None when it does.
    objects: Callable[[str, str], str | None]
    # Whether an ask or deny rule matches.
    touches: Callable[[str, str], bool]


def guards_of(tool: str) -> Mapping[str, ArgumentGuard]:
    """The guarded arguments of a tool, by name."""
    return GUARDED.get(tool, {})


def _plain_objection(pattern: str, text: str) -> str | None:
    return None if matches(pattern, text) else DIFFERS


def _path_objection(pattern: str, text: str) -> str | None:
    if ".." in text.split("/"):
        return "climbs with '..', which an allow rule does not cover"
    return None if matches(pattern, _tidy_path(text)) else DIFFERS


def _path_touches(pattern: str, text: str) -> bool:
    return matches(pattern, text) or matches(pattern, _tidy_path(text))


def _tree_touches(pattern: str, text: str) -> bool:
    """Whether a pattern touches a directory or anything in it."""
    return _path_touches(pattern, text) or matches(pattern, f"{_tidy_path(text)}/")


def _tidy_path(text: str) -> str:
    """A path without `.`, `..` and doubled slashes; symlinks are checked by the tool."""
    names: list[str] = []
    for name in text.split("/"):
        if name == "..":
            del names[-1:]
        elif name not in ("", "."):
            names.append(name)
    start = "/" if text.startswith("/") else ""
    return start + "/".join(names) or "."


PLAIN: Final = ArgumentGuard(objects=_plain_objection, touches=matches)
SHELL: Final = ArgumentGuard(objects=shell_objection, touches=shell_touches)
PATH: Final = ArgumentGuard(objects=_path_objection, touches=_path_touches)
TREE: Final = ArgumentGuard(objects=_path_objection, touches=_tree_touches)
URL: Final = ArgumentGuard(objects=url_objection, touches=url_touches)

GUARDED: Final[Mapping[str, Mapping[str, ArgumentGuard]]] = {
    SHELL_TOOL: {COMMAND: SHELL},
    "fetch_url": {"url": URL},
    "read_file": {"path": PATH},
    "write_file": {"path": PATH},
    "edit_file": {"path": PATH},
    "list_files": {"path": TREE},
    "search_files": {"path": TREE},
}


Specificity = tuple[bool, int, int, int, int]


def decide(
    tool: str,
    arguments: Mapping[str, Any],
    placed: Iterable[PlacedRule],
    default: PermissionDecision,
) -> CallVerdict:
    """The verdict for a call, the rule that was applied, and a trace of every rule."""
    trace = tuple(_held_against(each, tool, arguments) for each in placed)
    matching = [line.placed for line in trace if line.matched]
    denying = [each for each in matching if each.rule.decision is PermissionDecision.DENY]
    ruin = None if denying else _ruin(tool, arguments, matching)
    if ruin is not None:
        reason = f"never run, as {ruin.reason} ({ruin.id}); {OPENED_BY}"
        return CallVerdict(
            decision=PermissionDecision.DENY, level=Level.TOOL, reason=reason, trace=trace
        )
    if not matching:
        reason = _DEFAULTS[default]
        return CallVerdict(decision=default, level=Level.TOOL, reason=reason, trace=trace)
    applied = max(denying or matching, key=_rank)
    return CallVerdict(
        decision=applied.rule.decision,
        level=applied.level,
        applied=applied,
        reason=_reason(applied),
        trace=trace,
    )


def _ruin(
    tool: str, arguments: Mapping[str, Any], matching: Iterable[PlacedRule]
) -> DestructiveRule | None:
    """The destructive rule that a command matches, unless an allow rule spells the command out."""
    command = arguments.get(COMMAND) if tool == SHELL_TOOL else None
    if not isinstance(command, str) or any(_spells_out(each.rule) for each in matching):
        return None
    return destruction(command)


def _spells_out(rule: CallRule) -> bool:
    pattern = rule.arguments.get(COMMAND)
    return (
        rule.decision is PermissionDecision.ALLOW
        and pattern is not None
        and not any(char in WILDCARDS for char in pattern)
    )


def specificity(rule: CallRule) -> Specificity:
    """How closely a rule names a call: first the tool, then its arguments."""
    prefix = literal_prefix(rule.tool)
    return (
        prefix == rule.tool,
        len(prefix),
        literal_length(rule.tool),
        len(rule.arguments),
        sum(literal_length(pattern) for pattern in rule.arguments.values()),
    )


def why_not(rule: CallRule, tool: str, arguments: Mapping[str, Any]) -> str | None:
    """Why a rule does not match a call; None when it does."""
    if not matches(rule.tool, tool):
        return "another tool"
    guards = guards_of(tool)
    holds_against = _allow_objects if rule.decision is PermissionDecision.ALLOW else _is_untouched
    for name, pattern in rule.arguments.items():
        values = [spellings(value) for value in argument_values(arguments, name)]
        if not values:
            return f"the call has no argument {name}"
        objection = holds_against(guards.get(name, PLAIN), pattern, values)
        if objection is not None:
            return f"{name} {objection}"
    return None


def _allow_objects(
    guard: ArgumentGuard, pattern: str, values: Iterable[tuple[str, ...]]
) -> str | None:
    """Why an allow rule does not match: a value does not fit in one of its spellings."""
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


def _is_untouched(
    guard: ArgumentGuard, pattern: str, values: Iterable[tuple[str, ...]]
) -> str | None:
    """Why an ask or deny rule does not match: no spelling of any value fits."""
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


def argument_values(arguments: Mapping[str, Any], name: str) -> Iterator[Any]:
    """The values that a name may refer to: an argument or, with dots, a value within one."""
    if name in arguments:
        yield arguments[name]
    first, dot, rest = name.partition(".")
    inner = arguments.get(first) if dot else None
    if isinstance(inner, Mapping):
        yield from argument_values(inner, rest)


def spellings(value: Any) -> tuple[str, ...]:
    """The spellings of a value: text as it is, else compact JSON, also with `3.0` as `3`."""
    if isinstance(value, str):
        return (value,)
    return tuple(dict.fromkeys((_compact(value), _compact(_whole(value)))))


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _whole(value: Any, depth: int = 0) -> Any:
    """The value with `3.0` as `3`, which are the same number in JSON."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case Mapping() if depth < MAX_DEPTH:
            return {key: _whole(each, depth + 1) for key, each in value.items()}
        case list() | tuple() if depth < MAX_DEPTH:
            return [_whole(each, depth + 1) for each in value]
    return value
