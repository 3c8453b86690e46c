"""Column types, row codecs of records, upserts and optimistic updates, and pages of rows."""

import json
import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import sqlalchemy as sa
import structlog
from sqlalchemy.dialects import postgresql, sqlite

from understudy.core.errors import DamagedRecord, coded_error
from understudy.core.page import Page, PageRequest, encode_cursor
from understudy.core.records import parsed_strictly, plain

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from understudy.storage.visible_connection import VisibleConnection

log = structlog.get_logger()

Ms = sa.BigInteger
# Text with bytewise collation on both databases, as Python sorts it.
Sorted = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
# SQLite autoincrements only a column of type INTEGER.
RowNumber = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# Separates the searched parts of a record; no part contains it, so no match spans two.
SEPARATOR: Final = "\x1f"
# PostgreSQL rejects NUL.
_ODD: Final = str.maketrans(dict.fromkeys(("\0", SEPARATOR), "\ufffd"))
T = TypeVar("T")
# Names of the JSON column for the fields without a column of their own.
REST: Final = ("body", "wanted")
# Insert constructs that support ON CONFLICT.
INSERTS: Final[Mapping[str, Any]] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}

# `json.dumps` with separators makes an encoder at each call.
_ENCODE: Final = json.JSONEncoder(separators=(",", ":")).encode


class _Damaged:
    """Placeholder for stored text that is not JSON: neither a value nor NULL."""

    def __bool__(self) -> bool:
        return False


DAMAGED: Final = _Damaged()


class Json(sa.types.TypeDecorator[Any]):
    """A JSON value as text, escaped to ASCII so that both databases take it.

    Text that is not JSON decodes to `DAMAGED`, which no record accepts.
    """

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        return None if value is None else _ENCODE(value)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:
        if value is None:
            return None
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return DAMAGED


def optional_object(value: Any) -> dict[str, Any] | None:
    """The JSON object of a nullable column; a damaged one raises instead of reading as absent."""
    if value is not None and not isinstance(value, dict):
        raise TypeError("not a JSON object")
    return value


def read_record(row: Any, read: Callable[[Any], T], *, what: str) -> T:
    """Decode a row into a record, or raise `DamagedRecord` with its name."""
    try:
        return read(row)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise coded_error("storage/record_damaged", what=what) from problem


def fields_of(stored: Any, types: Mapping[str, type[Any]], *, optional: bool) -> dict[str, Any]:
    """The fields of these names, each of its type; only optional ones may be absent or null."""
    if not isinstance(stored, dict):
        raise TypeError("not a JSON object")
    found = {name: stored.get(name) for name in types}
    for name, value in found.items():
        # A bool is no number, although Python says that it is.
        if type(value) is not types[name] and not (optional and value is None):
            raise TypeError("a field is not of its type")
    return found


def folded(text: str) -> str:
    """The text casefolded and normalised, without characters that a database rejects."""
    whole = text.encode(errors="replace").decode()
    return unicodedata.normalize("NFC", whole).casefold().translate(_ODD)


def search_text(*parts: str) -> str:
    """The folded search text of a record."""
    return SEPARATOR.join(map(folded, parts))


def to_row(
    record: "DataclassInstance", table: sa.Table, *, state: Collection[str] = ()
) -> dict[str, Any]:
    """The values of a record's row: columns by their names, other fields in a JSON column of `REST`.

    The fields that `state` names go into the JSON column of that name. A record with a field `body`
    has a column for each of its fields.
    """
    values = plain(record)
    row: dict[str, Any] = {"state": {name: values.pop(name) for name in state}} if state else {}
    row |= {column.name: values.pop(column.name) for column in table.c if column.name in values}
    return {**{name: values for name in REST if name in table.c}, **row}


def from_row(row: Any, kind: type[T], **given: Any) -> T:
    """The record of a row that `to_row` made, or `DamagedRecord`; `given` replaces stored fields."""
    noun = re.sub(r"(?<!^)(?=[A-Z])", " ", kind.__name__).lower()
    return read_record(row, lambda each: _parsed(each, kind, given), what=f"{noun} {row[0]}")


def _parsed(row: Any, kind: type[T], given: Mapping[str, Any]) -> T:
    values = row._asdict()
    packed: dict[str, Any] = {}
    for name in (*REST, "state"):
        if name in values and not hasattr(kind, name):
            packed = {**packed, **values.pop(name)}
    # Queries use the column, so it wins over the JSON body.
    return parsed_strictly(kind, {**packed, **values, **given})


def select_page(
    connection: "VisibleConnection",
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
    """The records that decode; damaged rows are logged."""
    items = []
    for row in rows:
        try:
            items.append(read(row))
        except DamagedRecord as damaged:
            log.exception("storage.record_damaged", detail=damaged.detail)
    return items


def upsert_of(table: sa.Table) -> Mapping[str, sa.Insert]:
    """The upsert statement of a table for each database, built once."""
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


def insert_new_of(table: sa.Table) -> Mapping[str, Any]:
    """The statement that inserts a row unless its key is taken, and returns the key."""
    values: dict[str, Any] = {column.name: sa.bindparam(column.name) for column in table.c}
    return {
        name: insert(table).values(values).on_conflict_do_nothing().returning(*table.primary_key)
        for name, insert in INSERTS.items()
    }


def insert_into(connection: "VisibleConnection", table: sa.Table) -> Any:
    """An insert construct that supports ON CONFLICT."""
    return INSERTS[connection.dialect.name](table)


def insert_new(connection: "VisibleConnection", table: sa.Table, values: Mapping[str, Any]) -> bool:
    """Insert a row; False when its key is taken."""
    statement = insert_into(connection, table).values(dict(values)).on_conflict_do_nothing()
    # RETURNING, because not every driver knows the row count of an insert.
    return connection.execute(statement.returning(*table.primary_key)).first() is not None


def replace_version(
    connection: "VisibleConnection",
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
