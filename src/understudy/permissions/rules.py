"""Rules as JSON: `{"rules": [{"tool", "decision", "arguments"?, "reason"?}]}`.

Parsing normalises: a written document parses to the same rules.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from understudy.core.errors import DamagedRecord, FieldError, Invalid, UnderstudyError, coded_error
from understudy.permissions.globs import WILDCARDS, matches
from understudy.permissions.model import CallRule, PermissionDecision

MAX_RULES: Final = 200
MAX_TOOL_CHARS: Final = 200
MAX_ARGUMENTS: Final = 16
MAX_NAME_CHARS: Final = 100
MAX_PATTERN_CHARS: Final = 500
MAX_REASON_CHARS: Final = 500
MAX_ERRORS: Final = 20

# Tools that run whatever an argument says: allowing one call must not allow the tool.
EXACT: Final[Mapping[str, str]] = {"shell": "command"}

_FIELDS: Final = frozenset({"tool", "decision", "arguments", "reason"})
# Replaces rules that do not decode: every call is denied.
NOTHING_RUNS: Final = CallRule(
    tool="*",
    decision=PermissionDecision.DENY,
    reason="the rules this sidechain began with cannot be read",
)


def read_document(document: object, *, pointer: str = "") -> tuple[CallRule, ...]:
    """The rules of a document, or `Invalid` with pointers. `{}` has no rules."""
    if not isinstance(document, Mapping):
        raise _invalid([_wrong(pointer, "must be an object with a list of rules")])
    unknown = [key for key in document if key != "rules"]
    if unknown:
        raise _invalid([_wrong(_below(pointer, key), "is not known here") for key in unknown])
    return read_rules(document.get("rules", []), pointer=f"{pointer}/rules")


def rule_for_session(tool: str, arguments: Mapping[str, Any]) -> CallRule | None:
    """The allow rule for calls like this one; for a command, exactly that command.

    None for a command that a pattern cannot spell out.
    """
    name = EXACT.get(tool)
    if name is None:
        return CallRule(tool=tool, decision=PermissionDecision.ALLOW)
    text = arguments.get(name)
    if not isinstance(text, str) or len(text) > MAX_PATTERN_CHARS or not text.isprintable():
        return None
    if any(wildcard in text for wildcard in WILDCARDS):
        return None
    return CallRule(tool=tool, decision=PermissionDecision.ALLOW, arguments={name: text})


def read_rules(
    stored: object, *, pointer: str = "/rules", at_most: int | None = MAX_RULES
) -> tuple[CallRule, ...]:
    """Parse rules from a JSON list, or raise `Invalid` with pointers."""
    if not isinstance(stored, list | tuple):
        raise _invalid([_wrong(pointer, "must be a list of rules")])
    if at_most is not None and len(stored) > at_most:
        raise _invalid([_wrong(pointer, f"may hold at most {at_most} rules")])
    errors = [
        error
        for index, each in enumerate(stored)
        for error in _errors_of(each, f"{pointer}/{index}")
    ]
    if errors:
        raise _invalid(errors)
    return tuple(_rule(each) for each in stored)


def write_rules(rules: Iterable[CallRule]) -> list[dict[str, Any]]:
    """Rules as JSON; empty fields are left out."""
    return [write_rule(rule) for rule in rules]


def write_rule(rule: CallRule) -> dict[str, Any]:
    """One rule as JSON."""
    said: dict[str, Any] = {"tool": rule.tool}
    if rule.arguments:
        said["arguments"] = dict(rule.arguments)
    said["decision"] = rule.decision.value
    if rule.reason is not None:
        said["reason"] = rule.reason
    return said


def write_document(rules: Iterable[CallRule]) -> dict[str, Any]:
    """A document of rules."""
    return {"rules": write_rules(rules)}


def _rule(stored: Mapping[str, Any]) -> CallRule:
    return CallRule(
        tool=stored["tool"],
        decision=PermissionDecision(stored["decision"]),
        arguments=dict(stored.get("arguments") or {}),
        reason=(stored.get("reason") or "").strip() or None,
    )


def _errors_of(stored: object, pointer: str) -> list[FieldError]:
    if not isinstance(stored, Mapping):
        return [_wrong(pointer, "must be an object with a tool and a decision")]
    unknown = [key for key in stored if key not in _FIELDS]
    errors = [_wrong(_below(pointer, key), "is not part of a rule") for key in unknown]
    errors += _text_errors(stored.get("tool"), f"{pointer}/tool", MAX_TOOL_CHARS)
    if stored.get("decision") not in list(PermissionDecision):
        choices = ", ".join(PermissionDecision)
        errors.append(_wrong(f"{pointer}/decision", f"must be one of {choices}"))
    if stored.get("reason") is not None:
        errors += _text_errors(
            stored["reason"], f"{pointer}/reason", MAX_REASON_CHARS, may_be_empty=True
        )
    return errors + _argument_errors(stored.get("arguments"), f"{pointer}/arguments")


def _argument_errors(stored: object, pointer: str) -> list[FieldError]:
    if stored is None:
        return []
    if not isinstance(stored, Mapping):
        return [_wrong(pointer, "must be an object of argument names and patterns")]
    if len(stored) > MAX_ARGUMENTS:
        return [_wrong(pointer, f"may name at most {MAX_ARGUMENTS} arguments")]
    errors = []
    for name, pattern in stored.items():
        at = _below(pointer, name)
        if not 1 <= len(name) <= MAX_NAME_CHARS or not all(name.split(".")):
            errors.append(_wrong(at, "is not the name of an argument"))
        errors += _text_errors(pattern, at, MAX_PATTERN_CHARS, may_be_empty=True)
    return errors


def _text_errors(
    value: object, pointer: str, limit: int, *, may_be_empty: bool = False
) -> list[FieldError]:
    if not isinstance(value, str):
        return [_wrong(pointer, "must be text")]
    if not value.strip() and not may_be_empty:
        return [_wrong(pointer, "must not be empty")]
    if len(value) > limit:
        return [_wrong(pointer, f"may have at most {limit} characters")]
    return []


def _below(pointer: str, key: object) -> str:
    return f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')[:MAX_NAME_CHARS]}"


def _wrong(pointer: str, what: str) -> FieldError:
    named = pointer.rpartition("/")[2] or "permissions"
    return FieldError(pointer=pointer, code="invalid_rule", detail=f"{named} {what}")


def _invalid(errors: Sequence[FieldError]) -> UnderstudyError:
    first = errors[0]
    return coded_error(
        "permissions/invalid_rule",
        errors=tuple(errors[:MAX_ERRORS]),
        where=first.pointer,
        problem=first.detail,
    )


def denied_outright(rules: Iterable[CallRule]) -> tuple[str, ...]:
    """The patterns of tools that rules deny for every argument; no other rule can undo that."""
    denied = (
        rule.tool
        for rule in rules
        if rule.decision is PermissionDecision.DENY and not rule.arguments
    )
    return tuple(sorted(set(denied)))


def deny_rules(names: Iterable[str], reason: str) -> tuple[CallRule, ...]:
    """A deny rule for each tool name or pattern."""
    return tuple(
        CallRule(tool=name, decision=PermissionDecision.DENY, reason=reason)
        for name in dict.fromkeys(names)
        if name.strip() and len(name) <= MAX_TOOL_CHARS
    )


def is_among(patterns: Iterable[str], tool: str) -> bool:
    """Whether one of the patterns matches a tool."""
    return any(matches(pattern, tool) for pattern in patterns)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRules:
    """The permission rules of one session, beside those of its agent and of the daemon."""

    inherited: tuple[CallRule, ...] = ()
    own: tuple[CallRule, ...] = ()

    @property
    def all(self) -> tuple[CallRule, ...]:
        """Every rule, inherited ones first."""
        return (*self.inherited, *self.own)

    def with_own(self, rules: Iterable[CallRule], *, is_sidechain: bool) -> "SessionRules":
        """The rules with other own rules; in a sidechain these may only narrow."""
        new = tuple(rule for rule in rules if rule not in self.inherited)
        if is_sidechain and any(rule.decision is PermissionDecision.ALLOW for rule in new):
            raise coded_error("permissions/sidechain_only_narrows")
        return SessionRules(inherited=self.inherited, own=new)

    def to_json(self) -> dict[str, Any] | None:
        """The rules as JSON; None where there are none."""
        said = {
            name: write_rules(rules)
            for name, rules in (("inherited", self.inherited), ("rules", self.own))
            if rules
        }
        return said or None


def read_session_rules(stored: Mapping[str, Any] | None) -> SessionRules:
    """Parse the stored rules of a session, or raise `DamagedRecord`."""
    stored = stored or {}
    try:
        # A sidechain inherits the rules of all its ancestors, so only its own are limited in
        # number.
        inherited = read_rules(stored.get("inherited", ()), at_most=None)
        own = read_document({key: stored[key] for key in stored if key != "inherited"})
        return SessionRules(inherited=inherited, own=own)
    except Invalid as problem:
        raise coded_error("storage/record_damaged:session_rules") from problem


def changed_rules(
    stored: Mapping[str, Any] | None, rules: Iterable[CallRule], *, is_sidechain: bool
) -> SessionRules:
    """The rules of a session with other own rules; damaged ones do not block the repair."""
    try:
        before = read_session_rules(stored)
    except DamagedRecord:
        before = SessionRules(inherited=(NOTHING_RUNS,) if is_sidechain else ())
    return before.with_own(rules, is_sidechain=is_sidechain)


def rules_for_sidechain(
    parent: Mapping[str, Any] | None, *, of_parents_agent: Iterable[CallRule] = ()
) -> SessionRules:
    """The rules that a sidechain inherits: all rules of its parent's session.

    `of_parents_agent` are rules that would be lost because another agent works in the sidechain;
    those that narrow are inherited, too.
    """
    try:
        above = read_session_rules(parent).all
    except DamagedRecord:
        above = (NOTHING_RUNS,)
    lost = [rule for rule in of_parents_agent if rule.decision is not PermissionDecision.ALLOW]
    distinct: list[CallRule] = []
    for rule in (*lost, *above):
        if rule not in distinct:
            distinct.append(rule)
    return SessionRules(inherited=tuple(distinct))
