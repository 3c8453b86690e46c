"""Steps are written once, by whichever thread, also when nobody hears of the commit."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import make_run
from understudy.core.clock import SystemClock
from understudy.core.errors import DatabaseUnavailable
from understudy.runs.execute import BRIEF_CHARS, Steps
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

    @contextmanager
    def write_if_free(self) -> Iterator[Any]:
        with self._units.write_if_free() as unit:
            yield unit
        if unit is not None:
            self._fail_once()

    def _fail_once(self) -> None:
        if self._deaf:
            self._deaf = False
            raise DatabaseUnavailable("database_unavailable", domain="storage")


@pytest.mark.parametrize("is_brief", [True, False])
async def test_a_step_whose_commit_was_not_acknowledged_is_found_and_not_repeated(
    database: UnitsOnDatabase, *, is_brief: bool
) -> None:
    run = make_run("s1", status=RunStatus.RUNNING, attempt=1)
    with database.units.write() as unit:
        unit.runs.add(run)
    steps = Steps(units=DeafUnits(database.units), clock=SystemClock(), run=run)
    event = NewEvent(kind=EventKind.MESSAGE, run_id=run.run_id, key="k", data={"text": "hi"})

    (written,) = await steps.write([event], is_brief=is_brief)

    assert written.data == {"text": "hi"}
    with database.units.read() as unit:
        assert len(unit.journal.read(run_id=run.run_id)) == 1


@pytest.mark.parametrize("is_brief", [True, False])
@pytest.mark.parametrize("length", [10, BRIEF_CHARS])
async def test_the_event_loop_writes_brief_steps_itself_where_it_need_not_wait(
    database: UnitsOnDatabase, length: int, *, is_brief: bool
) -> None:
    run = make_run("s1", status=RunStatus.RUNNING, attempt=1)
    with database.units.write() as unit:
        unit.runs.add(run)
    steps = Steps(units=database.units, clock=SystemClock(), run=run)
    call = {"name": "write_file", "arguments": "x" * length}
    event = NewEvent(kind=EventKind.MESSAGE, run_id=run.run_id, data={"tool_calls": [call]})
    writers = []

    await steps.write(
        [event], also=lambda _: writers.append(threading.current_thread()), is_brief=is_brief
    )

    is_here = is_brief and length < BRIEF_CHARS and database.engine.dialect.name == "sqlite"
    assert (writers == [threading.current_thread()]) is is_here
    assert len(writers) == 1
