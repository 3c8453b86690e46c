"""Forms: the fields that an operation takes, and its JSON body from a submitted form."""

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
# Suffixes of fields that hold a time.
MOMENTS: Final = ("_at_ms", "_after_ms", "_before_ms")
# The form value that clears a time.
NEVER: Final = "never"
# The maximum nesting in the name of a form field.
MAX_DEPTH: Final = 6
# Longer numbers stay text: no field of an operation takes one.
MAX_DIGITS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """One value that an operation takes, as a form asks for it."""

    name: str
    # text, long, words, number, flag, choice, moment, json
    kind: str
    is_required: bool = False
    choices: tuple[str, ...] = ()
    # If set, each word becomes an object with this one field.
    key: str = ""

    @property
    def label(self) -> str:
        """The field's name without its unit, to be translated."""
        return self.name.removesuffix("_at_ms").removesuffix("_ms")


def field_of(name: str, kind: Any) -> FormField:
    """The field for one value of a type; for a list parameter, the field of its items."""
    schema = _schema_of(kind)
    if schema.get("type") == "array":
        schema = _resolved(schema.get("items", {}), schema)
    return _field(name, schema, is_required=False)


def fields_of(kind: Any) -> tuple[FormField, ...]:
    """The fields for an object type."""
    schema = _schema_of(kind)
    required = schema.get("required", ())
    return tuple(
        _field(name, _with_items(_resolved(each, schema), schema), is_required=name in required)
        for name, each in schema.get("properties", {}).items()
    )


def body_of(form: Mapping[str, str], fields: Sequence[FormField]) -> dict[str, Any] | None:
    """The JSON body of an operation; unknown names and empty optional fields are left out.

    A name such as `scope.kind` is a field of an object, and one such as
    `answers.0.question_id` a field of the first object in a list.
    """
    known = {field.name: field for field in fields}
    body: dict[str, Any] = {}
    parts: dict[str, Any] = {}
    for name, text in form.items():
        outer, *inner = name.split(".", MAX_DEPTH)
        if outer not in known or (text == "" and (inner or not known[outer].is_required)):
            continue
        if inner:
            _place(parts, (outer, *inner), text)
        else:
            body[outer] = _value(known[outer], text)
    # A nested field overrides the whole field, if a form has both.
    body |= {name: _listed(value) for name, value in parts.items()}
    return body if fields else None


def query_of(query: Mapping[str, str], fields: Sequence[FormField]) -> dict[str, str]:
    """The query parameters of a list, with times in milliseconds."""
    moments = {field.name: field for field in fields if field.kind == "moment"}
    return {
        name: str(_value(moments[name], text)) if name in moments else text
        for name, text in query.items()
    }


def number_of(text: str) -> int | str:
    """A number, or the text unchanged: the operation's error message is better than the page's."""
    return int(text) if text.isdecimal() and len(text) < MAX_DIGITS else text


def _place(parts: dict[str, Any], path: Sequence[str], text: str) -> None:
    """Set a value at a nested path; a longer path overrides a shorter one."""
    here = parts
    for name in path[:-1]:
        below = here.get(name)
        if not isinstance(below, dict):
            below = here[name] = {}
        here = below
    if not isinstance(here.get(path[-1]), dict):
        here[path[-1]] = text


def _listed(value: Any) -> Any:
    """Turn an object whose keys are all numbers into a list in their order."""
    if not isinstance(value, dict):
        return value
    if all(name.isascii() and name.isdigit() for name in value):
        # Compare by length first: keys of any length sort as numbers without being parsed.
        return [_listed(value[name]) for name in sorted(value, key=lambda n: (len(n), n))]
    return {name: _listed(each) for name, each in value.items()}


def _value(field: FormField, text: str) -> object:
    try:
        match field.kind:
            case "number":
                return int(text)
            case "flag":
                return text in ("true", "on", "yes")
            case "moment":
                return None if text == NEVER else _moment(text)
            case "words":
                return _words(text, field.key)
            case "json":
                return json.loads(text)
            case _:
                return text
    except (ValueError, RecursionError):
        raise coded_error(
            "api/malformed_form", media_type=field.kind, pointer=f"/{field.name}"
        ) from None


def _words(text: str, key: str) -> object:
    """A JSON list, or words separated by commas or line breaks."""
    if text.lstrip().startswith("["):
        return json.loads(text)
    words = [word for each in text.replace("\n", ",").split(",") if (word := each.strip())]
    return [{key: word} for word in words] if key else words


def _moment(text: str) -> int:
    """Milliseconds, or a `datetime-local` input, read as UTC."""
    if text.isdecimal():
        return int(text)
    at = datetime.fromisoformat(text)
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


@cache
def _schema_of(kind: Any) -> Mapping[str, Any]:
    """The JSON schema of a type, its top level resolved."""
    described = TypeAdapter(kind).json_schema()
    return {**_resolved(described, described), "$defs": described.get("$defs", {})}


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema without `$ref` and without its null alternative."""
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
        key=_only_key(plain.get("items", {})),
    )


def _with_items(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema with the `$ref` of its items resolved."""
    items = schema.get("items")
    return {**schema, "items": _resolved(items, root)} if items else schema


def _only_key(items: Mapping[str, Any]) -> str:
    """The required field of an object type, if it requires exactly one; else empty."""
    required = items.get("required", ())
    return str(required[0]) if len(required) == 1 else ""


def _kind(name: str, schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "choice"
    if name.endswith(MOMENTS):
        return "moment"
    items = schema.get("items", {})
    if items.get("type") == "string" or _only_key(items):
        return "words"
    by_type = {"integer": "number", "number": "number", "boolean": "flag"}
    if schema.get("type") != "string":
        return by_type.get(str(schema.get("type")), "json")
    return "long" if name in ("content", "reason", "text", "instructions") else "text"
