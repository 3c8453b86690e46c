"""Column types that both databases share, text to be searched, and reading rows that may be damaged."""

import json
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import sqlalchemy as sa

from understudy.core.errors import coded_error

T = TypeVar("T")


class _Damaged:
    """What stands where stored text is not JSON: neither a value nor the absence of one."""

    def __bool__(self) -> bool:
        return False


DAMAGED: Final = _Damaged()


class Json(sa.types.TypeDecorator[Any]):
    """A JSON value as text, with every odd character escaped so that both databases take it.

    Text that is not JSON reads as `DAMAGED`, which no reader of a record accepts.
    """

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        return None if value is None else json.dumps(value, separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:
        if value is None:
            return None
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return DAMAGED


Ms = sa.BigInteger
# Text that is sorted by its characters alone on any database, as Python sorts it.
Sorted = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
# SQLite numbers rows by itself only in a column that is called INTEGER.
RowNumber = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def optional_object(value: Any) -> dict[str, Any] | None:
    """The JSON object of a column that may be empty; a scope that is torn is not an absent one."""
    if value is not None and not isinstance(value, dict):
        raise TypeError("not a JSON object")
    return value


def read_record(row: Any, read: Callable[[Any], T], *, what: str) -> T:
    """Turn a row into a record, or raise `DamagedRecord` naming what it is."""
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
        # A truth value is no number, although Python says that it is.
        if type(value) is not types[name] and not (optional and value is None):
            raise TypeError("a field is not of its type")
    return found


def list_of(stored: Any) -> Sequence[Any]:
    """A JSON list."""
    if not isinstance(stored, list):
        raise TypeError("not a JSON list")
    return stored


# Between the parts of a record that is searched; in none of them, so nothing spans two.
SEPARATOR: Final = "\x1f"
# No database takes a NUL.
_ODD: Final = str.maketrans(dict.fromkeys(("\0", SEPARATOR), "\ufffd"))


def folded(text: str) -> str:
    """The text in one case and one form, without what a database cannot keep."""
    whole = text.encode(errors="replace").decode()
    return unicodedata.normalize("NFC", whole).casefold().translate(_ODD)


def search_text(*parts: str) -> str:
    """Everything that a record is to be found by."""
    return SEPARATOR.join(map(folded, parts))
