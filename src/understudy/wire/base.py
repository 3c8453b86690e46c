"""The habits all wire models share."""

from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from understudy.settings import DebugLevel as DebugLevel

T = TypeVar("T")

JsonObject: TypeAlias = dict[str, Any]
ScopeLists: TypeAlias = dict[str, list[str]]
RoleName: TypeAlias = Literal["viewer", "operator", "admin"]


def _is_none(value: object) -> bool:
    return value is None


# A part that is left out of the answer when there is nothing to say.
Omitted: TypeAlias = Annotated[T | None, Field(exclude_if=_is_none)]


class Request(BaseModel):
    """What a caller sends; a field nobody reads is a mistake, so it is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class View(BaseModel):
    """What the daemon answers; a client ignores fields it does not know yet."""

    model_config = ConfigDict(frozen=True)


class Items(View, Generic[T]):
    """One page of a list, and the cursor of the next page if there is one."""

    items: list[T]
    next_cursor: str | None = None


class Deleted(View):
    """The thing is gone."""

    deleted: bool = True
