"""Steps are written once, also when nobody hears of the commit."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import make_run
from understudy.core.clock import SystemClock
from understudy.core.errors import DatabaseUnavailable
from understudy.runs.execute import Steps
from understudy.runs.model import RunStatus
from understudy.sessions.journal import EventKind, NewEvent
from understudy.storage.unit import Units


class DeafUnits(Units):
    """Units whose first commit is made, but reported as failed."""

    def __init__(self, units: Any) -> None:
        self._units = units
        self._deaf = True

    def read(self) -> Any:
        return self._units.read()

    @contextmanager
    def write(self) -> Iterator[Any]:
        with self._units.write() as unit:
            yield unit
        self._fail_once()

    def _fail_once(self) -> None:
        if self._deaf:
            self._deaf = False
            raise DatabaseUnavailable("database_unavailable", domain="storage")


async def test_a_step_whose_commit_was_not_acknowledged_is_found_and_not_repeated(
    database: UnitsOnDatabase,
) -> None:
    run = make_run("s1", status=RunStatus.RUNNING, attempt=1)
    with database.units.write() as unit:
        unit.runs.add(run)
    steps = Steps(units=DeafUnits(database.units), clock=SystemClock(), run=run)
    event = NewEvent(kind=EventKind.MESSAGE, run_id=run.run_id, key="k", data={"text": "hi"})

    (written,) = await steps.write([event])

    assert written.data == {"text": "hi"}
    with database.units.read() as unit:
        assert len(unit.journal.read(run_id=run.run_id)) == 1
