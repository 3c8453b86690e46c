"""A connection that narrows its queries to the caller's sight, and notes the tables that it changes.

SQLAlchemy's events would do the same, at a tenth of the CPU of every statement.
"""

from typing import Any

import sqlalchemy as sa

from understudy.core.sight import WHOLE, current_sight
from understudy.storage.query_cache import CACHED, WRITES
from understudy.storage.sight import READS, narrowed


class WatchedConnection(sa.Connection):
    """All statements of an engine pass through here, those of `scalar` and `scalars` included."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.changed: set[str] = set()

    def _execute_clauseelement(
        self, statement: Any, parameters: Any, options: Any
    ) -> sa.CursorResult[Any]:
        sight = current_sight.get()
        if sight is not WHOLE and sight != WHOLE and isinstance(statement, sa.SelectBase):
            reads = bool(self.get_execution_options().get(READS))
            statement = narrowed(statement, sight, reads=reads)
        result = super()._execute_clauseelement(statement, parameters, options)
        if isinstance(statement, sa.UpdateBase):
            # For a statement with RETURNING the driver does not know the row count yet.
            compiled: Any = result.context.compiled
            if compiled.effective_returning or result.rowcount:
                self.changed.add(compiled.statement.table.name)
        return result

    def exec_driver_sql(self, statement: str, *args: Any, **options: Any) -> sa.CursorResult[Any]:
        """Execute plain SQL; a write may change anything."""
        result = super().exec_driver_sql(statement, *args, **options)
        if statement.lstrip()[:7].upper().startswith(WRITES):
            self.changed |= CACHED
        return result


def watch(engine: sa.Engine) -> None:
    """Let the engine open such connections from now on."""
    engine._connection_cls = WatchedConnection  # noqa: SLF001 - the hook for subclasses of it
