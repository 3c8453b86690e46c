"""The end of work, stored in the transaction that ends its run instead of in a later one."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import sqlalchemy as sa
from dbos import DBOS
from dbos._context import current_owner_xid

SUCCESS: Final = "SUCCESS"
_NOW: Final[dict[str, sa.ColumnElement[int]]] = {
    "sqlite": sa.cast(sa.func.strftime("%s", "now"), sa.BigInteger) * 1000,
    "postgresql": sa.cast(sa.func.extract("epoch", sa.func.now()) * 1000, sa.BigInteger),
}


def _statement(dialect: str) -> sa.Update:
    """The engine's own statement for storing an outcome: only if the execution still owns the work.

    Our work returns nothing, and DBOS reads a missing output as None.
    """
    changed = ("status", "deduplication_id", "owner_xid", "updated_at", "completed_at")
    schema = "dbos" if dialect == "postgresql" else None
    work = sa.table("workflow_status", *map(sa.column, ("workflow_uuid", *changed)), schema=schema)
    now = _NOW[dialect]
    return (
        sa.update(work)
        .where(
            work.c.workflow_uuid == sa.bindparam("work"),
            work.c.status == "PENDING",
            work.c.owner_xid == sa.bindparam("owner"),
        )
        .values(
            status=SUCCESS, deduplication_id=None, owner_xid=None, updated_at=now, completed_at=now
        )
    )


_STATEMENTS: Final = {dialect: _statement(dialect) for dialect in _NOW}


class SettledWork:
    """Remembers settled work, so that the engine does not store its outcome a second time."""

    def __init__(self) -> None:
        # Work id to the owner token of the execution that settled it.
        self._settled: dict[str, str] = {}

    def attach(self, instance: DBOS) -> None:
        """Wrap the engine's `update_workflow_outcome`."""
        records: Any = instance._sys_db  # noqa: SLF001 - there is no public way
        records.update_workflow_outcome = partial(self._store, records.update_workflow_outcome)

    def settle(self, connection: sa.Connection, work_id: str) -> Callable[[], None] | None:
        """Store the end of the caller's work; returns a callback for after the commit."""
        owner = current_owner_xid(work_id)
        if owner is None:
            return None
        statement = _STATEMENTS[connection.dialect.name]
        if connection.execute(statement, {"work": work_id, "owner": owner}).rowcount != 1:
            return None
        return partial(self._settled.__setitem__, work_id, owner)

    def _store(self, store: Callable[..., bool], work_id: str, status: str, **more: Any) -> bool:
        owner = self._settled.pop(work_id, None)
        if status == SUCCESS and owner is not None and owner == current_owner_xid(work_id):
            return True
        return store(work_id, status, **more)
