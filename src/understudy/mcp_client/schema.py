"""A tool's schema, built anew from the words we know: what a server sends may be anything.

A model's API refuses a whole request for one schema it does not like, so nothing passes that a
careful reader would not have written. What is left out only makes the schema wider; the server
checks its arguments itself.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from understudy.mcp_client.errors import tidy

MAX_DEPTH: Final = 12
MAX_PARTS: Final = 1000
MAX_SCHEMA_CHARS: Final = 32 * 1024
MAX_PROPERTIES: Final = 100
MAX_CHOICES: Final = 200
MAX_TEXT_CHARS: Final = 500
TYPES: Final = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_PROPERTY: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_FORMAT: Final = re.compile(r"[a-z0-9-]{1,40}")
_LOCAL_REF: Final = re.compile(r"#/(?:\$defs|definitions)/([a-zA-Z0-9_.-]{1,100})")
# Keywords that model APIs refuse at the top level of a tool schema.
_NOT_AT_TOP: Final = ("anyOf", "oneOf", "allOf", "$ref", "enum", "const", "default", "items")

Json = dict[str, Any]
_ABSENT: Final = object()


class UnfitSchema(ValueError):
    """Nothing useful can be made of the schema."""


def rebuild(raw: Mapping[str, Any]) -> Json:
    """The schema of an object with what we understand of the original."""
    builder = _Builder(raw)
    built = builder.part(raw, 0)
    for word in _NOT_AT_TOP:
        built.pop(word, None)
    built["type"] = "object"
    built.setdefault("properties", {})
    built.setdefault("additionalProperties", True)
    if builder.definitions:
        built["$defs"] = builder.definitions
    if len(json.dumps(built)) > MAX_SCHEMA_CHARS:
        raise UnfitSchema("its schema is too long")
    return built


class _Builder:
    """Walks one schema, counting as it goes."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self._parts = 0
        self._sources = {**_objects(raw.get("definitions")), **_objects(raw.get("$defs"))}
        # Filled as references to them are met.
        self.definitions: Json = {}

    def part(self, raw: object, depth: int) -> Json:
        """One schema within the whole; an empty one, which allows everything, where it is odd."""
        self._parts += 1
        if self._parts > MAX_PARTS or depth > MAX_DEPTH:
            raise UnfitSchema("its schema is too large")
        if not isinstance(raw, Mapping):
            return {}
        built: Json = {}
        for word, read in WORDS.items():
            if word in raw:
                value = read(self, raw[word], depth)
                if value is not _ABSENT:
                    built[word] = value
        return _completed(built)

    def choices(self, raw: object, depth: int) -> object:
        """Schemas of which some must fit."""
        if not isinstance(raw, list) or not 0 < len(raw) <= MAX_CHOICES:
            return _ABSENT
        return [self.part(each, depth + 1) for each in raw]

    def properties(self, raw: object, depth: int) -> object:
        """Schemas by name."""
        if not isinstance(raw, Mapping):
            return _ABSENT
        if len(raw) > MAX_PROPERTIES:
            raise UnfitSchema(f"it has more than {MAX_PROPERTIES} parameters")
        if not all(isinstance(name, str) and _PROPERTY.fullmatch(name) for name in raw):
            raise UnfitSchema("a parameter has a name that models do not take")
        return {name: self.part(each, depth + 1) for name, each in raw.items()}

    def inner(self, raw: object, depth: int) -> object:
        """A schema within this one."""
        return self.part(raw, depth + 1)

    def schema_or_flag(self, raw: object, depth: int) -> object:
        """A schema, or whether anything goes."""
        return raw if isinstance(raw, bool) else self.part(raw, depth + 1)

    def reference(self, raw: object, _: int) -> object:
        """A reference to a part of the same schema, which is then built as well."""
        found = _LOCAL_REF.fullmatch(raw) if isinstance(raw, str) else None
        if found is None or found[1] not in self._sources:
            return _ABSENT
        name = found[1]
        if name not in self.definitions:
            self.definitions[name] = {}  # it may refer to itself
            self.definitions[name] = self.part(self._sources[name], 1)
        return f"#/$defs/{name}"


def _objects(raw: object) -> Json:
    return dict(raw) if isinstance(raw, Mapping) else {}


def _completed(built: Json) -> Json:
    if "required" in built:
        known = built.get("properties", {})
        built["required"] = [name for name in built["required"] if name in known]
    types = built.get("type")
    if types == "array" or (isinstance(types, list) and "array" in types):
        built.setdefault("items", {})
    return built


def _type(_: _Builder, raw: object, __: int) -> object:
    given = raw if isinstance(raw, list) else [raw]
    known = [each for each in dict.fromkeys(filter(_is_text, given)) if each in TYPES]
    if not known:
        return _ABSENT
    return known if isinstance(raw, list) else known[0]


def _text(_: _Builder, raw: object, __: int) -> object:
    return tidy(raw, MAX_TEXT_CHARS) if isinstance(raw, str) else _ABSENT


def _format(_: _Builder, raw: object, __: int) -> object:
    return raw if isinstance(raw, str) and _FORMAT.fullmatch(raw) else _ABSENT


def _values(_: _Builder, raw: object, __: int) -> object:
    if not isinstance(raw, list) or not 0 < len(raw) <= MAX_CHOICES:
        return _ABSENT
    return list(raw) if all(map(_is_plain, raw)) else _ABSENT


def _value(_: _Builder, raw: object, __: int) -> object:
    return raw if _is_plain(raw) else _ABSENT


def _names(_: _Builder, raw: object, __: int) -> object:
    return list(dict.fromkeys(filter(_is_text, raw))) if isinstance(raw, list) else _ABSENT


def _number(_: _Builder, raw: object, __: int) -> object:
    return raw if _is_number(raw) else _ABSENT


def _count(_: _Builder, raw: object, __: int) -> object:
    is_count = isinstance(raw, int) and not isinstance(raw, bool) and 0 <= raw < 2**31
    return raw if is_count else _ABSENT


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # Neither is true of NaN and infinity; an integer may be too long for a float.
    return is_number and -(2**63) < value < 2**63


def _is_plain(value: object) -> bool:
    """A value that may stand in a schema as it is."""
    if isinstance(value, str):
        return len(value) <= MAX_TEXT_CHARS and value.isprintable()
    return value is None or isinstance(value, bool) or _is_number(value)


_Read = Callable[[_Builder, Any, int], object]
# The words we know, and how the value of each is read. No `pattern`: a regular expression that one
# side takes is an error or an endless search for the other.
WORDS: Final[Mapping[str, _Read]] = {
    "type": _type,
    "description": _text,
    "format": _format,
    "enum": _values,
    "const": _value,
    "default": _value,
    "properties": _Builder.properties,
    "required": _names,
    "additionalProperties": _Builder.schema_or_flag,
    "items": _Builder.inner,
    "anyOf": _Builder.choices,
    "oneOf": _Builder.choices,
    "allOf": _Builder.choices,
    "$ref": _Builder.reference,
    "minimum": _number,
    "maximum": _number,
    "exclusiveMinimum": _number,
    "exclusiveMaximum": _number,
    "minLength": _count,
    "maxLength": _count,
    "minItems": _count,
    "maxItems": _count,
}
