"""Helpers of all records: frozen dataclasses that are serialised as they are.

Where an answer of the API differs from the record, the field says so with an annotation from here.
"""

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar

from pydantic import (
    AliasChoices,
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationError,
    computed_field,
)

from understudy.core.showable import showable

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")

JsonObject: TypeAlias = Mapping[str, Any]
# Most bytes of what a caller keeps with a record; it is read and written whole with it.
MAX_METADATA_BYTES: Final = 16 * 1024
# Lists of names under `…_allow` and `…_deny`.
ScopeLists: TypeAlias = Mapping[str, list[str]]
# Marks a field in a JSON schema; the OpenAPI document is completed from it, and does not show it.
OMITTED_MARK: Final = "x-omitted"
_ATOMS: Final = frozenset({str, int, float, bool, bytes, type(None)})


def _is_none(value: object) -> bool:
    return value is None


def _is_empty(value: object) -> bool:
    return not value


def _never_null(schema: dict[str, Any]) -> None:
    """Say in the JSON schema that the field is either absent or has a value."""
    schema.pop("default", None)
    left = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    if len(left) == 1:
        del schema["anyOf"]
        schema.update(left[0])
    elif left:
        schema["anyOf"] = left
    schema[OMITTED_MARK] = True


# Omitted from an answer when it is None.
OMIT: Final[Any] = Field(exclude_if=_is_none, json_schema_extra=_never_null)
Omitted: TypeAlias = Annotated[T | None, OMIT]
# Omitted from an answer when it is empty.
OMIT_EMPTY: Final[Any] = Field(exclude_if=_is_empty, json_schema_extra=_never_null)
# Stored, but excluded from every answer.
HIDDEN: Final[Any] = Field(exclude=True)


def renamed(name: str, shown: str) -> Any:
    """A field that answers serialise under another name, and that parses under either."""
    return Field(serialization_alias=shown, validation_alias=AliasChoices(name, shown))


def count(value: object) -> int:
    """A stored count as a whole number; a value that is no number counts as 0."""
    match value:
        case int():
            return int(value)
        case float() if math.isfinite(value):
            return int(value)
        case _:
            return 0


# A count whose stored value may be damaged; that reads as 0.
Count: TypeAlias = Annotated[int, BeforeValidator(count)]


def shown_if_set(shown: T) -> T:
    """A property that answers include, unless it is None."""
    decorate: Any = computed_field(exclude_if=_is_none, json_schema_extra=_never_null)
    decorated: T = decorate(shown)
    return decorated


def extended(kind: type[T], record: "DataclassInstance", **more: Any) -> T:
    """A record of `kind`: the fields that it shares with another record, and more."""
    dataclass: Any = kind
    shared = {each.name for each in fields(record)} & {each.name for each in fields(dataclass)}
    return kind(**{name: getattr(record, name) for name in shared}, **more)


def reduced(kind: type[T], record: object, **more: Any) -> T:
    """A record with the fields that it shares with another one by name, and with `more`."""
    hashable: Any = kind
    names = {each.name for each in fields(hashable) if hasattr(record, each.name)} - set(more)
    return kind(**{name: getattr(record, name) for name in names}, **more)


def fits_metadata(metadata: JsonObject) -> bool:
    """Whether a caller's metadata is within the limit as JSON."""
    return len(json.dumps(dict(metadata))) <= MAX_METADATA_BYTES


def plain(value: Any) -> Any:
    """A record as its fields, nested records as well: `asdict` without the copies of what is in them."""
    kind: Any = type(value)
    if kind in _ATOMS:
        return value
    # Most of what records hold is atoms: no call for those.
    if kind is dict:
        return {key: it if type(it) in _ATOMS else plain(it) for key, it in value.items()}
    if kind is list or kind is tuple:
        return [it if type(it) in _ATOMS else plain(it) for it in value]
    if names := _field_names(kind):
        held = ((name, getattr(value, name)) for name in names)
        return {name: it if type(it) in _ATOMS else plain(it) for name, it in held}
    return value


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind)) if is_dataclass(kind) else ()


def parsed(kind: type[T], values: Any) -> T:
    """Parse a record, nested records and enums included; raises `ValidationError`."""
    hashable: Any = kind
    record: T = adapter_of(hashable).validate_python(values)
    return record


def parsed_strictly(kind: type[T], values: Any) -> T:
    """Parse a record from JSON values without type coercion; raises `ValueError` or `TypeError`.

    Lone surrogates and very deep nesting are beyond pydantic's JSON parser. The types are then
    checked on a copy without them; only a value whose copy passed is read as it is.
    """
    hashable: Any = kind
    adapter = adapter_of(hashable)
    try:
        record: T = adapter.validate_json(json.dumps(values), strict=True)
    except ValidationError as problem:
        if problem.errors()[0]["type"] != "json_invalid":
            raise
        record = adapter.validate_json(json.dumps(showable(values)), strict=True)
        with suppress(ValidationError):  # a lone surrogate is no `str` to pydantic
            return parsed(kind, values)
    return record


@cache
def adapter_of(kind: Any) -> TypeAdapter[Any]:
    """The validator of a type, built once, when it is first needed."""
    return TypeAdapter(kind)
