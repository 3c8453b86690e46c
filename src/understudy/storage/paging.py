"""Pages of records: newest first or by id, skipping what cannot be read."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa
import structlog

from understudy.core.errors import DamagedRecord, coded_error
from understudy.core.page import Page, PageRequest, encode_cursor

log = structlog.get_logger()

T = TypeVar("T")


def select_page(
    connection: sa.Connection,
    query: sa.Select[Any],
    request: PageRequest,
    *,
    by: Sequence[sa.Column[Any]],
    read: Callable[[Any], T],
    descending: bool = False,
) -> Page[T]:
    """One page of a query in the order of some columns that together are unique."""
    columns = sa.tuple_(*by)
    if request.after is not None:
        _check_cursor(request, by)
        after = sa.tuple_(*(sa.literal(part) for part in request.after))
        query = query.where(columns < after if descending else columns > after)
    order = [column.desc() if descending else column.asc() for column in by]
    rows = connection.execute(query.order_by(*order).limit(request.limit + 1)).all()
    shown = rows[: request.limit]
    more = len(rows) > request.limit
    last = tuple(getattr(shown[-1], column.name) for column in by) if more else None
    return Page(
        items=tuple(readable(shown, read)),
        next_cursor=encode_cursor(last) if last is not None else None,
    )


def _check_cursor(request: PageRequest, by: Sequence[sa.Column[Any]]) -> None:
    after = request.after or ()
    types = [column.type.python_type for column in by]
    fits = all(type(part) is str or abs(int(part)) < 2**63 for part in after)
    if [type(part) for part in after] != types or not fits:
        raise coded_error("pagination/invalid_cursor", pointer="/cursor")


def readable(rows: Sequence[Any], read: Callable[[Any], T]) -> list[T]:
    """The records of those rows that can be read; the others are told to the log."""
    items = []
    for row in rows:
        try:
            items.append(read(row))
        except DamagedRecord as damaged:
            log.exception("storage.record_damaged", detail=damaged.detail)
    return items
