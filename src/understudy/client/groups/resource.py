"""What the resource groups share: a transport, bodies from models, and lists page by page."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter

from understudy.client.transport import Transport
from understudy.core.page import Page
from understudy.wire.base import Items

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Resource:
    """A group of calls about one kind of thing."""

    transport: Transport


def body(request: BaseModel) -> dict[str, Any]:
    """What was set in a request, as JSON."""
    return request.model_dump(mode="json", exclude_unset=True)


def reader(kind: type[T]) -> Callable[[Any], T]:
    """What reads an answer of this type."""
    return TypeAdapter(kind).validate_python


def every(page: Callable[[str | None], Items[T] | Page[T]]) -> Iterator[T]:
    """All items of a list, fetched page by page as they are asked for."""
    cursor: str | None = None
    while True:
        current = page(cursor)
        yield from current.items
        cursor = current.next_cursor
        if cursor is None:
            return
