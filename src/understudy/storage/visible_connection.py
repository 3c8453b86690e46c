"""The connection that stores work on: queries find what is visible to the caller, and no more.

It offers what it can narrow, and nothing else: a method or a statement that it does not know raises
instead of finding the rows of others.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVarTuple, overload

import sqlalchemy as sa

from understudy.core.visibility import UNRESTRICTED, current_visibility
from understudy.storage.visibility import narrowed

if TYPE_CHECKING:
    from sqlalchemy.sql.selectable import TypedReturnsRows

Ts = TypeVarTuple("Ts")
Parameters: TypeAlias = Mapping[str, Any] | Sequence[Mapping[str, Any]] | None


class VisibleConnection:
    """The connection of a unit of work."""

    __slots__ = ("_connection", "_reads", "changed")

    def __init__(self, connection: sa.Connection, *, reads: bool = False) -> None:
        self._connection = connection
        self._reads = reads
        # The tables that statements have changed.
        self.changed: set[str] = set()

    @property
    def dialect(self) -> sa.Dialect:
        """The dialect of the database."""
        return self._connection.dialect

    @overload
    def execute(
        self, statement: "TypedReturnsRows[*Ts]", parameters: Parameters = None
    ) -> sa.CursorResult[*Ts]: ...
    @overload
    def execute(
        self, statement: sa.Executable, parameters: Parameters = None
    ) -> sa.CursorResult[*tuple[Any, ...]]: ...
    def execute(self, statement: Any, parameters: Parameters = None) -> sa.CursorResult[Any]:
        """Execute a statement; a query finds the visible rows. Text is executed as it is."""
        match statement:
            case sa.SelectBase():
                visibility = current_visibility.get()
                if visibility != UNRESTRICTED:
                    statement = narrowed(statement, visibility, reads=self._reads)
                return self._connection.execute(statement, parameters)
            case sa.UpdateBase():
                result = self._connection.execute(statement, parameters)
                # With RETURNING, the driver does not know the row count yet.
                if result.returns_rows or result.rowcount:
                    self.changed.add(str(statement.table))
                return result
            case sa.TextClause():
                return self._connection.execute(statement, parameters)
            case _:
                raise TypeError(f"cannot narrow a {type(statement).__name__} to what is visible")

    def begin_nested(self) -> AbstractContextManager[object]:
        """A savepoint, which an exception rolls back to."""
        return self._connection.begin_nested()
