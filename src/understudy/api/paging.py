"""Pagination of lists over HTTP."""

from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import Depends, Query

from understudy.core.errors import coded_error
from understudy.core.page import MAX_LIMIT, Page, PageRequest
from understudy.wire.base import Items

T = TypeVar("T")
V = TypeVar("V")


async def page_request(
    limit: Annotated[
        int | None, Query(description=f"how many items; 50, at most {MAX_LIMIT}")
    ] = None,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the page before")] = None,
) -> PageRequest:
    """Which page the caller wants."""
    return PageRequest.parse(limit=limit, cursor=cursor)


Paging = Annotated[PageRequest, Depends(page_request)]


def items(page: Page[T], view: Callable[[T], V]) -> Items[V]:
    """A page in its wire format."""
    return Items(items=[view(item) for item in page.items], next_cursor=page.next_cursor)


def offset_of(page: PageRequest) -> int:
    """The journal offset after which a page begins."""
    match page.after:
        case None:
            return 0
        case (int(offset),) if 0 <= offset <= 2**62:
            return offset
        case _:
            raise coded_error("pagination/invalid_cursor", pointer="/cursor")
