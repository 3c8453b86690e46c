"""The habits all wire models share."""

from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from understudy.settings import DebugLevel as DebugLevel
from understudy.wire.showable import showable

T = TypeVar("T")

JsonObject: TypeAlias = dict[str, Any]
ScopeLists: TypeAlias = dict[str, list[str]]
# Numbers of this range fit every database.
Int32 = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
# The number of a version of something.
VersionNumber = Annotated[int, Field(ge=1, le=2**31 - 1)]
RoleName: TypeAlias = Literal["viewer", "operator", "admin"]


def _is_none(value: object) -> bool:
    return value is None


# A part that is left out of the answer when there is nothing to say.
Omitted: TypeAlias = Annotated[T | None, Field(exclude_if=_is_none)]


class Request(BaseModel):
    """What a caller sends; a field nobody reads and a value of another type are mistakes, so they
    are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Update(Request):
    """Changes to a record. What the daemon decides may come back as it was shown: it is ignored."""

    version: int | None = None
    created_at_ms: int | None = None
    updated_at_ms: int | None = None
    actions: list[str] | None = None


class View(BaseModel):
    """What the daemon answers; a client ignores fields it does not know yet."""

    model_config = ConfigDict(frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _showable(cls, given: Any) -> Any:
        return showable(given)


class Items(View, Generic[T]):
    """One page of a list, and the cursor of the next page if there is one."""

    items: list[T]
    next_cursor: str | None = None


class Deleted(View):
    """The thing is gone."""

    deleted: bool = True
