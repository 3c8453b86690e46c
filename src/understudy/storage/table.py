"""A store of records that have a row each: what such stores have in common."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import sqlalchemy as sa

from understudy.core.page import Page, PageRequest
from understudy.storage.engine import Dialect
from understudy.storage.rows import (
    from_row,
    insert_new,
    readable,
    replace_version,
    select_page,
    to_row,
)
from understudy.storage.visible_connection import VisibleConnection

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


class Table(Generic[T]):
    """Records of one kind in a table, by its primary key.

    A subclass names the table and the record, and overrides `_row` and `_read` where a row holds
    more or less than the record.
    """

    table: ClassVar[sa.Table]
    kind: ClassVar[type[Any]]
    # The columns of the order of pages; together they are unique. The primary key, if none is named.
    order: ClassVar[tuple[str, ...]] = ()
    newest_first: ClassVar[bool] = False
    # Columns that an update leaves as they are.
    fixed: ClassVar[frozenset[str]] = frozenset()
    # Columns that no record is read from: long ones, and those for searches alone.
    unread: ClassVar[frozenset[str]] = frozenset()
    # The column that an optimistic update expects and the record counts up.
    counter: ClassVar[str] = "version"

    def __init__(self, connection: VisibleConnection, dialect: Dialect) -> None:
        self._connection = connection
        self._dialect = dialect

    def get(self, *key: str, lock: bool = False) -> T | None:
        """The record with this key; `lock` holds its row until the unit ends."""
        return self._one(_by_key(self.table, self.unread), _named(self.table, key), lock=lock)

    def add(self, record: T) -> bool:
        """Insert a record; False when its key, or another value that is unique, is taken."""
        return insert_new(self._connection, self.table, self._row(record))

    def insert(self, record: T) -> None:
        """Insert a record whose key is new."""
        self._connection.execute(sa.insert(self.table).values(self._row(record)))

    def update(self, record: T, *, expected_version: int | None = None) -> None:
        """Update the row of a record; raises `StaleVersion` unless it has the expected version.

        Without one the row is locked, or the last writer wins.
        """
        row = {name: value for name, value in self._row(record).items() if name not in self.fixed}
        is_it = sa.and_(*(column == row[column.name] for column in self.table.primary_key))
        if expected_version is None:
            self._connection.execute(sa.update(self.table).where(is_it).values(row))
            return
        replace_version(
            self._connection,
            self.table,
            is_it,
            row,
            expected_version=expected_version,
            counter=self.counter,
        )

    def delete(self, *key: str) -> bool:
        """Delete the record with this key; False when there is none."""
        columns = zip(self.table.primary_key, key, strict=True)
        statement = sa.delete(self.table).where(*(column == value for column, value in columns))
        return self._connection.execute(statement).rowcount == 1

    def _row(self, record: T) -> dict[str, Any]:
        return to_row(record, self.table)

    def _read(self, row: Any) -> T:
        found: T = from_row(row, self.kind)
        return found

    def _select(self, *which: sa.ColumnExpressionArgument[bool], **equal: Any) -> sa.Select[Any]:
        """The rows that meet some conditions; `equal` names values of columns, None any value."""
        wanted = (self.table.c[name] == it for name, it in equal.items() if it is not None)
        return _query(self.table, self.unread).where(*which, *wanted)

    def _one(
        self, query: sa.Select[Any], values: Mapping[str, Any] | None = None, *, lock: bool = False
    ) -> T | None:
        found = self._connection.execute(self._dialect.locked(query) if lock else query, values)
        row = found.first()
        return None if row is None else self._read(row)

    def _many(
        self, query: sa.Select[Any], values: Mapping[str, Any] | None = None, *, lock: bool = False
    ) -> tuple[T, ...]:
        """The records of a query; damaged ones are left out, and logged."""
        found = self._connection.execute(self._dialect.locked(query) if lock else query, values)
        return tuple(readable(found.all(), self._read))

    def _page(self, request: PageRequest, query: sa.Select[Any]) -> Page[T]:
        order = self.order or tuple(column.name for column in self.table.primary_key)
        return select_page(
            self._connection,
            query,
            request,
            by=[self.table.c[name] for name in order],
            read=self._read,
            descending=self.newest_first,
        )


@cache
def _query(table: sa.Table, unread: frozenset[str]) -> sa.Select[Any]:
    return sa.select(*(column for column in table.c if column.name not in unread))


@cache
def _by_key(table: sa.Table, unread: frozenset[str]) -> sa.Select[Any]:
    """Built once for a table: it runs before every tool call."""
    is_it = (column == sa.bindparam(f"key_{at}") for at, column in enumerate(table.primary_key))
    return _query(table, unread).where(*is_it)


def _named(table: sa.Table, key: tuple[str, ...]) -> dict[str, str]:
    columns = enumerate(table.primary_key)
    return {f"key_{at}": value for (at, _), value in zip(columns, key, strict=True)}
