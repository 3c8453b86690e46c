"""Bodies of requests: records made from them, and errors that point into them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from understudy.core.errors import Invalid, coded_error
from understudy.core.pointer import MAX_CHARS, pointer
from understudy.core.records import parsed
from understudy.wire.base import RequestBody

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


def record_of(kind: type[T], body: RequestBody, **more: Any) -> T:
    """A record from the fields of a body that have the same names, and from what is said beside it."""
    names = {field.name for field in fields(kind)} - set(more)
    return parsed(kind, {**body.model_dump(include=names), **more})


def check_same_id(field: str, sent: str | None, addressed: str) -> None:
    """Refuse a body that names another record than the path does."""
    if sent is not None and sent != addressed:
        raise coded_error("api/id_mismatch", pointer=f"/{field}", field=field)


@contextmanager
def located(*path: str) -> Iterator[None]:
    """Put a path in front of every pointer of an `Invalid`."""
    try:
        yield
    except Invalid as problem:
        place = pointer(path)
        raise problem.moved(lambda below: (place + below)[:MAX_CHARS]) from None
