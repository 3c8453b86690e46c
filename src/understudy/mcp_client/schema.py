"""A tool's input schema, rebuilt from known keywords: a server may send anything.

A model API rejects a whole request for one schema that it does not support, so only known
keywords with valid values pass. Dropping a keyword only widens the schema; the server
validates its arguments itself.
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
# Keywords that model APIs reject at the top level of a tool schema.
_NOT_AT_TOP: Final = ("anyOf", "oneOf", "allOf", "$ref", "enum", "const", "default", "items")

Json = dict[str, Any]
_ABSENT: Final = object()


class UnfitSchema(ValueError):
    """No usable schema can be built."""


def rebuild(raw: Mapping[str, Any]) -> Json:
    """An object schema with the known keywords of the original."""
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
    """Walks one schema, with limits on its size and depth."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self._parts = 0
        self._sources = {**_objects(raw.get("definitions")), **_objects(raw.get("$defs"))}
        # Filled when a reference to them is found.
        self.definitions: Json = {}

    def part(self, raw: object, depth: int) -> Json:
        """Build one subschema; an empty one, which allows everything, for an invalid one."""
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
        """The subschemas of `anyOf` and the like."""
        if not isinstance(raw, list) or not 0 < len(raw) <= MAX_CHOICES:
            return _ABSENT
        return [self.part(each, depth + 1) for each in raw]

    def properties(self, raw: object, depth: int) -> object:
        """Subschemas by property name."""
        if not isinstance(raw, Mapping):
            return _ABSENT
        if len(raw) > MAX_PROPERTIES:
            raise UnfitSchema(f"it has more than {MAX_PROPERTIES} parameters")
        if not all(isinstance(name, str) and _PROPERTY.fullmatch(name) for name in raw):
            raise UnfitSchema("a parameter has a name that models do not take")
        return {name: self.part(each, depth + 1) for name, each in raw.items()}

    def inner(self, raw: object, depth: int) -> object:
        """One nested subschema."""
        return self.part(raw, depth + 1)

    def schema_or_flag(self, raw: object, depth: int) -> object:
        """A subschema, or a boolean."""
        return raw if isinstance(raw, bool) else self.part(raw, depth + 1)

    def reference(self, raw: object, _: int) -> object:
        """A reference within the same schema; its target is built, too."""
        found = _LOCAL_REF.fullmatch(raw) if isinstance(raw, str) else None
        if found is None or found[1] not in self._sources:
            return _ABSENT
        name = found[1]
        if name not in self.definitions:
            self.definitions[name] = {}  # the definition may be recursive
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
    # Excludes NaN and infinity; an integer may be too large for a float.
    return is_number and -(2**63) < value < 2**63


def _is_plain(value: object) -> bool:
    """Whether a value may be copied into the schema."""
    if isinstance(value, str):
        return len(value) <= MAX_TEXT_CHARS and value.isprintable()
    return value is None or isinstance(value, bool) or _is_number(value)


_Read = Callable[[_Builder, Any, int], object]
# The known keywords, and how the value of each is read. Without `pattern`: regular expressions
# that one engine accepts are an error, or take exponential time, in another.
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
