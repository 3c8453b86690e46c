"""The base classes of all wire models."""

from dataclasses import asdict, is_dataclass
from typing import Annotated, Any, Generic, Self, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from understudy.core.records import MAX_METADATA_BYTES, fits_metadata
from understudy.core.records import Omitted as Omitted
from understudy.core.showable import showable
from understudy.settings import DebugLevel as DebugLevel

T = TypeVar("T")

JsonObject: TypeAlias = dict[str, Any]


def _bounded(metadata: JsonObject) -> JsonObject:
    if not fits_metadata(metadata):
        raise PydanticCustomError(
            "metadata_too_large",
            "must have at most {limit} bytes as JSON",
            {"limit": MAX_METADATA_BYTES},
        )
    return metadata


# What a caller keeps with a record.
Metadata = Annotated[JsonObject, AfterValidator(_bounded)]
ScopeLists: TypeAlias = dict[str, list[str]]
# A field that accepts its JSON form: an enum's value, a list for a tuple. Strict models would
# require the member and the tuple themselves.
Lax: TypeAlias = Annotated[T, Field(strict=False)]
# A field of a body that only the daemon sets: what a caller read may be sent back.
ReadOnly: TypeAlias = Annotated[T, Field(json_schema_extra={"readOnly": True})]
# An id in a request body.
Id = Annotated[str, Field(max_length=500)]
# Integers that fit every database.
Int32 = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
# A version number.
VersionNumber = Annotated[int, Field(ge=1, le=2**31 - 1)]


class RequestBody(BaseModel):
    """A request body; unknown fields and values of a wrong type are refused.

    The text under a field describes it to callers.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )


class Update(RequestBody):
    """Changes to a record. Fields that the daemon sets may be sent back: they are ignored."""

    version: ReadOnly[int | None] = None
    """Set by the daemon; ignored."""
    created_at_ms: ReadOnly[int | None] = None
    """Set by the daemon; ignored."""
    updated_at_ms: ReadOnly[int | None] = None
    """Set by the daemon; ignored."""
    actions: ReadOnly[list[str] | None] = None
    """Set by the daemon; ignored."""


class View(BaseModel):
    """An answer that differs from its record; a client ignores unknown fields."""

    model_config = ConfigDict(frozen=True)

    @classmethod
    def of(cls, record: object, **more: Any) -> Self:
        """The view of a record: its fields of the same names, and `more`."""
        names = {name for name in cls.model_fields if hasattr(record, name)} - set(more)
        return cls(**{name: _plain(getattr(record, name)) for name in names}, **more)

    @model_validator(mode="before")
    @classmethod
    def _showable(cls, given: Any) -> Any:
        return showable(given)


def _plain(value: Any) -> Any:
    """A value for a view: nested records as their fields."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


class Items(View, Generic[T]):
    """One page of a list, and the cursor of the next page if there is one."""

    items: list[T]
    next_cursor: str | None = None


class Deleted(View):
    """The record was deleted."""

    deleted: bool = True
