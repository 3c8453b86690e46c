"""A connection that narrows its queries to the caller's sight, and notes the tables that it changes.

SQLAlchemy's events would do the same, at a tenth of the CPU of every statement. A statement that is
executed again goes to the driver directly, see `driver_plan`.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import sqlalchemy as sa

from understudy.core.sight import WHOLE, current_sight
from understudy.storage.driver_plan import DriverPlan, DriverRows, Plans, StatementPlans
from understudy.storage.query_cache import CACHED, CACHED_ALONE, WRITES
from understudy.storage.sight import narrowed

_NOT_YET: Final = object()
# Events of an execution that a plan does not send.
_HEARD: Final = ("before_execute", "after_execute", "before_cursor_execute", "after_cursor_execute")


class WatchedConnection(sa.Connection):
    """All statements of an engine pass through here, those of `scalar` and `scalars` included."""

    def __init__(self, engine: sa.Engine, *, plans: Plans, reads: bool = False) -> None:
        # What a reader asks for is often cached: it takes a connection for its first statement.
        given: Any = _NOT_YET if reads else None
        super().__init__(engine, given)
        if reads:
            self._dbapi_connection = None
        self.changed: set[str] = set()
        self._plans = plans
        self._reads = reads

    def _check_out(self) -> None:
        """Take a connection from the pool, if there is none and none was lost."""
        if self._dbapi_connection is None and self._transaction is None and not self.closed:
            try:
                self._dbapi_connection = self.engine.raw_connection()
            except self.dialect.loaded_dbapi.Error as problem:
                self._handle_dbapi_exception_noconnection(problem, self.dialect, self.engine)

    def begin(self) -> sa.RootTransaction:
        """Begin a transaction."""
        self._check_out()
        return super().begin()

    def execute(self, statement: Any, parameters: Any = None, **options: Any) -> Any:
        """Execute a statement, by its plan if there is one."""
        self._check_out()
        plans = self._plans.get(statement)
        # SQLAlchemy executes once for an empty list, and the driver not at all.
        if plans is None or options or parameters == [] or not self._is_plain(statement):
            return super().execute(statement, parameters, **options)
        sets = parameters if isinstance(parameters, list) else [parameters or {}]
        shape = plans.shape(sets[0], many=len(sets) > 1)
        plan = plans.by_shape.get(shape)
        if plan is not None:
            return self._execute_plan(plan, sets)
        result = super().execute(statement, parameters)
        if shape not in plans.by_shape:
            plans.learn(result, sets)
        return result

    def _is_plain(self, statement: Any) -> bool:
        """Whether the caller sees everything, nobody listens, and the transaction is in order."""
        if isinstance(statement, sa.SelectBase) and current_sight.get() != WHOLE:
            return False
        # The flags stay set when the last listener has gone.
        if (self._has_events or self.engine._has_events) and any(  # noqa: SLF001
            getattr(self.dispatch, event) for event in _HEARD
        ):
            return False
        if self._dbapi_connection is None:
            return False
        block, nested = self._trans_context_manager, self._nested_transaction
        # The transaction of a `with` block can have ended before the block.
        if block is not None and not block._transaction_is_active():  # noqa: SLF001
            return False
        if self._transaction is None:
            return True
        return self._transaction.is_active and (nested is None or nested.is_active)

    def _execute_plan(self, plan: DriverPlan, sets: Sequence[Mapping[str, Any]]) -> DriverRows:
        if self._transaction is None:
            self._autobegin()
        cursor: Any = None
        sent: Any = None
        try:
            cursor = self.connection.cursor()
            if len(sets) == 1:
                sent = plan.parameters(sets[0])
                cursor.execute(plan.sql, sent)
            else:
                sent = [plan.parameters(values) for values in sets]
                cursor.executemany(plan.sql, sent)
        except BaseException as problem:  # noqa: BLE001 - as SQLAlchemy; this raises
            self._handle_dbapi_exception(problem, plan.sql, sent, cursor, None)
        result = DriverRows(cursor, plan, self._handle_dbapi_exception)
        # For a statement with RETURNING the driver does not know the row count yet.
        if plan.changes is not None and (plan.row is not None or result.rowcount):
            self.changed.add(plan.changes)
        return result

    def _execute_clauseelement(
        self, statement: Any, parameters: Any, options: Any
    ) -> sa.CursorResult[Any]:
        self._check_out()
        sight = current_sight.get()
        self._plans.setdefault(statement, StatementPlans())
        if sight is not WHOLE and sight != WHOLE and isinstance(statement, sa.SelectBase):
            statement = narrowed(statement, sight, reads=self._reads)
        result = super()._execute_clauseelement(statement, parameters, options)
        if isinstance(statement, sa.UpdateBase):
            # For a statement with RETURNING the driver does not know the row count yet.
            compiled: Any = result.context.compiled
            if result.returns_rows or result.rowcount:
                self.changed.add(compiled.statement.table.name)
        return result

    def exec_driver_sql(self, statement: str, *args: Any, **options: Any) -> sa.CursorResult[Any]:
        """Execute plain SQL; a write may change anything."""
        self._check_out()
        result = super().exec_driver_sql(statement, *args, **options)
        if statement.lstrip()[:7].upper().startswith(WRITES):
            self.changed |= CACHED | CACHED_ALONE
        return result


def watch(engine: sa.Engine) -> None:
    """Let the engine open such connections from now on."""
    hook: Any = engine
    if not isinstance(hook._connection_cls, partial):  # noqa: SLF001 - made for subclasses of it
        hook._connection_cls = partial(WatchedConnection, plans=Plans())  # noqa: SLF001


def reading(engine: sa.Engine) -> WatchedConnection:
    """A connection of a watched engine for a unit that only reads."""
    hook: Any = engine
    connection: WatchedConnection = hook._connection_cls(engine, reads=True)  # noqa: SLF001
    return connection
