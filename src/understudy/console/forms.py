"""Forms: the fields that an operation takes, and its JSON body from what a browser sends."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from pydantic import TypeAdapter

from understudy.core.errors import coded_error

# Keywords of a JSON schema that wrap another schema.
WRAPPERS: Final = ("anyOf", "oneOf", "allOf")


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """One value that an operation takes, as a form asks for it."""

    name: str
    # text, long, number, flag, choice, moment, json
    kind: str
    is_required: bool = False
    choices: tuple[str, ...] = ()


def field_of(name: str, kind: Any) -> FormField:
    """The field for one value of a type."""
    return _field(name, _schema_of(kind), is_required=False)


def fields_of(kind: Any) -> tuple[FormField, ...]:
    """The fields for an object of a type."""
    schema = _schema_of(kind)
    required = schema.get("required", ())
    return tuple(
        _field(name, _resolved(each, schema), is_required=name in required)
        for name, each in schema.get("properties", {}).items()
    )


def body_of(form: Mapping[str, str], fields: Sequence[FormField]) -> dict[str, Any] | None:
    """The body of an operation; what it does not take, and an empty field, is left out.

    A name such as `scope.kind` stands for a field of an object.
    """
    known = {field.name: field for field in fields}
    body: dict[str, Any] = {}
    for name, text in form.items():
        outer, _, inner = name.partition(".")
        if outer not in known or (text == "" and not known[outer].is_required):
            continue
        if inner:
            # A part of a field counts more than the field, where a form has both.
            whole = body.get(outer)
            body[outer] = {**(whole if isinstance(whole, dict) else {}), inner: text}
        else:
            body[outer] = _value(known[outer], text)
    return body if fields else None


def _value(field: FormField, text: str) -> object:
    try:
        match field.kind:
            case "number":
                return int(text)
            case "flag":
                return text in ("true", "on", "yes")
            case "moment":
                return _moment(text)
            case "json":
                return json.loads(text)
            case _:
                return text
    except (ValueError, RecursionError):
        raise coded_error(
            "api/malformed_form", media_type=field.kind, pointer=f"/{field.name}"
        ) from None


def _moment(text: str) -> int:
    """Milliseconds, or a local time as a browser's input has it, taken for UTC."""
    if text.isdecimal():
        return int(text)
    at = datetime.fromisoformat(text)
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


@cache
def _schema_of(kind: Any) -> Mapping[str, Any]:
    """The JSON schema of a type, without references at its top."""
    described = TypeAdapter(kind).json_schema()
    return {**_resolved(described, described), "$defs": described.get("$defs", {})}


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema without references and without the choice of null."""
    for wrapper in WRAPPERS:
        if wrapper in schema:
            kept = [each for each in schema[wrapper] if each.get("type") != "null"]
            return {**schema, **_resolved(kept[0], root)} if kept else schema
    if "$ref" in schema:
        named: Mapping[str, Any] = root["$defs"][schema["$ref"].rpartition("/")[2]]
        rest = {name: value for name, value in schema.items() if name != "$ref"}
        return _resolved({**named, **rest}, root)
    return schema


def _field(name: str, plain: Mapping[str, Any], *, is_required: bool) -> FormField:
    return FormField(
        name=name,
        kind=_kind(name, plain),
        is_required=is_required,
        choices=tuple(map(str, plain.get("enum", ()))),
    )


def _kind(name: str, schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "choice"
    if name.endswith("_at_ms"):
        return "moment"
    by_type = {"integer": "number", "number": "number", "boolean": "flag"}
    if schema.get("type") != "string":
        return by_type.get(str(schema.get("type")), "json")
    return "long" if name in ("content", "reason", "text", "instructions") else "text"
