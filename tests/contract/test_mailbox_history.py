"""Letters that have been read cost nothing to those that come after them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import NOW
from understudy.storage.unit import Unit

LOOKS: dict[str, Callable[[Unit], object]] = {
    "claim_due": lambda unit: unit.messages.claim_due(NOW),
    "next_due_ms": lambda unit: unit.messages.next_due_ms(),
    "is_delivering": lambda unit: unit.messages.is_delivering("s1"),
    "any_delivering": lambda unit: unit.messages.any_delivering(),
    "read_by_ended_runs": lambda unit: unit.messages.read_by_ended_runs(limit=9),
    "waiting_in": lambda unit: unit.messages.waiting_in("s1"),
    "activity": lambda unit: unit.sessions.activity("s1"),
}


@contextmanager
def statements(engine: sa.Engine) -> Iterator[list[tuple[str, Any]]]:
    seen: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        if "FROM messages" in statement:
            seen.append((statement, values))

    sa.event.listen(engine, "before_cursor_execute", note)
    yield seen
    sa.event.remove(engine, "before_cursor_execute", note)


def looked(database: UnitsOnDatabase, look: Callable[[Unit], object]) -> tuple[str, Any]:
    with statements(database.engine) as seen, database.units.write() as unit:
        look(unit)
    [statement] = seen
    return statement


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_looking_for_mail_does_not_read_what_has_been_read(
    database: UnitsOnDatabase, look: Callable[[Unit], object]
) -> None:
    """Every table that is read is read by an index of what is on its way."""
    if database.engine.dialect.name != "sqlite":
        pytest.skip("PostgreSQL plans by what is in the table")
    statement, values = looked(database, look)
    with database.engine.connect() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values).all()

    reads = [row.detail for row in plan if row.detail.startswith(("SCAN", "SEARCH"))]
    of_mail = [read for read in reads if "runs" not in read]
    assert of_mail
    partial = ("ix_messages_due", "ix_messages_delivering", "ix_messages_undelivered")
    assert all(any(name in read for name in partial) for read in of_mail), reads
