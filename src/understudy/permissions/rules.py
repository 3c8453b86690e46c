"""Rules as JSON: `{"rules": [{"tool", "decision", "arguments"?, "reason"?}]}`.

What is read here is in normal form: reading what was written gives the same rules again.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from understudy.core.errors import FieldError, UnderstudyError, coded_error
from understudy.permissions.globs import matches
from understudy.permissions.model import CallRule, PermissionDecision

MAX_RULES: Final = 200
MAX_TOOL_CHARS: Final = 200
MAX_ARGUMENTS: Final = 16
MAX_NAME_CHARS: Final = 100
MAX_PATTERN_CHARS: Final = 500
MAX_REASON_CHARS: Final = 500
MAX_ERRORS: Final = 20

_FIELDS: Final = frozenset({"tool", "decision", "arguments", "reason"})


def read_document(document: object, *, pointer: str = "") -> tuple[CallRule, ...]:
    """The rules of a document; `Invalid` says what is wrong and where. `{}` holds no rules."""
    if not isinstance(document, Mapping):
        raise _invalid([_wrong(pointer, "must be an object with a list of rules")])
    unknown = [key for key in document if key != "rules"]
    if unknown:
        raise _invalid([_wrong(_below(pointer, key), "is not known here") for key in unknown])
    return read_rules(document.get("rules", []), pointer=f"{pointer}/rules")


def read_rules(
    stored: object, *, pointer: str = "/rules", at_most: int | None = MAX_RULES
) -> tuple[CallRule, ...]:
    """Rules from a JSON list; `Invalid` says what is wrong and where."""
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
    """Rules as they are stored and shown; what says nothing is left out."""
    return [write_rule(rule) for rule in rules]


def write_rule(rule: CallRule) -> dict[str, Any]:
    """One rule as it is stored and shown."""
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
    """The patterns of tools that rules deny for every argument; nothing else can undo that."""
    denied = (
        rule.tool
        for rule in rules
        if rule.decision is PermissionDecision.DENY and not rule.arguments
    )
    return tuple(sorted(set(denied)))


def is_among(patterns: Iterable[str], tool: str) -> bool:
    """Whether one of the patterns is about a tool."""
    return any(matches(pattern, tool) for pattern in patterns)
