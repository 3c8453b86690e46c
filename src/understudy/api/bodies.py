"""Records from what callers send."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from understudy.core.records import parsed
from understudy.wire.base import Request

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


def record_of(kind: type[T], body: Request, **more: Any) -> T:
    """A record from the fields of a body that have the same names, and from what is said beside it."""
    names = {field.name for field in fields(kind)} - set(more)
    return parsed(kind, {**body.model_dump(include=names), **more})
