"""Rows: from records and back, inserted unless taken, replaced only if nobody else changed them."""

import re
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from understudy.core.errors import coded_error
from understudy.core.records import parsed_strictly
from understudy.storage.columns import read_record

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")

# The JSON column for the fields that have no column of their own, by its name in a table.
REST: Final = ("body", "wanted")


def to_row(
    record: "DataclassInstance", table: sa.Table, *, state: Collection[str] = ()
) -> dict[str, Any]:
    """The values of a record's row: columns by their names, other fields in a JSON column of `REST`.

    The fields that `state` names go into the JSON column of that name. A record with a field `body`
    has a column for each of its fields.
    """
    values = asdict(record)
    row: dict[str, Any] = {"state": {name: values.pop(name) for name in state}} if state else {}
    row |= {column.name: values.pop(column.name) for column in table.c if column.name in values}
    return {**{name: values for name in REST if name in table.c}, **row}


def from_row(row: Any, kind: type[T], **given: Any) -> T:
    """The record of a row that `to_row` made, or `DamagedRecord`; `given` replaces stored fields."""
    noun = re.sub(r"(?<!^)(?=[A-Z])", " ", kind.__name__).lower()
    return read_record(row, lambda each: _parsed(each, kind, given), what=f"{noun} {row[0]}")


def _parsed(row: Any, kind: type[T], given: Mapping[str, Any]) -> T:
    values = dict(row._mapping)  # noqa: SLF001 (SQLAlchemy's public name for it)
    packed: dict[str, Any] = {}
    for name in (*REST, "state"):
        if name in values and not hasattr(kind, name):
            packed = {**packed, **values.pop(name)}
    # A column is what queries go by, so it counts where both say something.
    return parsed_strictly(kind, {**packed, **values, **given})


def upsert_of(table: sa.Table) -> Mapping[str, sa.Insert]:
    """The statement that writes a row, new or not, for each database; put together only once."""
    return {
        "sqlite": _upsert(table, sqlite.insert(table)),
        "postgresql": _upsert(table, postgresql.insert(table)),
    }


def _upsert(table: sa.Table, insert: Any) -> sa.Insert:
    statement = insert.values({column.name: sa.bindparam(column.name) for column in table.c})
    changed = {
        column.name: statement.excluded[column.name] for column in table.c if not column.primary_key
    }
    upsert: sa.Insert = statement.on_conflict_do_update(
        index_elements=list(table.primary_key), set_=changed
    )
    return upsert


# Inserts that can say what is to happen when the key is taken.
INSERTS: Final[Mapping[str, Any]] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


def insert_new_of(table: sa.Table) -> Mapping[str, Any]:
    """The statement that writes a row if it is new and answers its key, for each database."""
    values: dict[str, Any] = {column.name: sa.bindparam(column.name) for column in table.c}
    return {
        name: insert(table).values(values).on_conflict_do_nothing().returning(*table.primary_key)
        for name, insert in INSERTS.items()
    }


def insert_into(connection: sa.Connection, table: sa.Table) -> Any:
    """An insert that can say what is to happen when the key is taken."""
    return INSERTS[connection.dialect.name](table)


def insert_new(connection: sa.Connection, table: sa.Table, values: Mapping[str, Any]) -> bool:
    """Insert a row; False when its key is taken."""
    statement = insert_into(connection, table).values(dict(values)).on_conflict_do_nothing()
    # What was inserted comes back; the row count of an insert is not known on every driver.
    return connection.execute(statement.returning(*table.primary_key)).first() is not None


def replace_version(
    connection: sa.Connection,
    table: sa.Table,
    where: sa.ColumnElement[bool],
    values: Mapping[str, Any],
    *,
    expected_version: int,
    counter: str = "version",
) -> None:
    """Update a row that still has the expected version, or raise `StaleVersion`."""
    statement = (
        sa.update(table).where(where, table.c[counter] == expected_version).values(dict(values))
    )
    if connection.execute(statement).rowcount != 1:
        raise coded_error(f"{table.name}/stale_version")
