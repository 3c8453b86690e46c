"""An execution whose run was taken over can write nothing, neither as a step nor from a tool."""

import threading
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.daemon import PATIENCE_S, wait_for
from tests.support.factories import make_persona, make_run
from tests.support.run_harness import Label, Probe, RunHarness
from understudy.runs.fence import FencedUnits
from understudy.runs.model import Run, RunStatus
from understudy.runs.stops import RunTakenOver
from understudy.settings import Settings
from understudy.storage.unit import Units
from understudy.testing.answers import call
from understudy.testing.fake_model import FakeModel
from understudy.tools.base import ToolContext, in_thread


def add_persona(units: Units) -> None:
    """What a service does that a tool calls."""
    with units.write() as unit:
        unit.personas.add(make_persona())


def has_persona(units: Units) -> bool:
    with units.read() as unit:
        return unit.personas.get("helper") is not None


def take_over(units: Units, run_id: str) -> None:
    """What another daemon does that takes a run up."""
    with units.write() as unit:
        run, _ = unit.runs.get_in_line(run_id)
        assert run is not None
        unit.runs.update(make_run(run_id=run_id, status=run.status, attempt=run.attempt + 1))


@pytest.fixture
def run(units: Units) -> Run:
    run = make_run("s1", status=RunStatus.RUNNING, attempt=1)
    with units.write() as unit:
        unit.runs.add(run)
    return run


def test_the_current_execution_writes(units: Units, run: Run) -> None:
    with FencedUnits(units, run.run_id, 1).all():
        add_persona(units)

    assert has_persona(units)


def write_step(fence: FencedUnits) -> None:
    with fence.write() as unit:
        unit.personas.add(make_persona())


def use_tool(fence: FencedUnits) -> None:
    with fence.all():
        add_persona(fence.units)


@pytest.mark.parametrize("write", [write_step, use_tool])
def test_an_execution_that_is_outdated_writes_nothing(
    units: Units, run: Run, write: Callable[[FencedUnits], None]
) -> None:
    take_over(units, run.run_id)

    with pytest.raises(RunTakenOver):
        write(FencedUnits(units, run.run_id, 1))

    assert not has_persona(units)


def test_what_is_written_outside_of_the_fence_is_not_refused(units: Units, run: Run) -> None:
    take_over(units, run.run_id)
    with FencedUnits(units, run.run_id, 1).all():
        pass
    add_persona(units)

    assert has_persona(units)


def test_a_takeover_waits_for_a_unit_of_the_older_execution(
    database: UnitsOnDatabase, run: Run
) -> None:
    units, order = database.units, list[str]()

    def later() -> None:
        take_over(units, run.run_id)
        order.append("taken over")

    def is_waiting() -> bool:
        query = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        with database.engine.connect() as connection:
            return bool(connection.execute(sa.text(query)).scalar_one())

    taking_over = threading.Thread(target=later)
    with FencedUnits(units, run.run_id, 1).all(), units.write() as unit:
        unit.after_commit(lambda: order.append("committed"))
        taking_over.start()
        # On SQLite it waits for the turn to write.
        if database.engine.dialect.name == "postgresql":
            wait_for(is_waiting, what="the takeover to wait")
        unit.personas.add(make_persona())
    taking_over.join(PATIENCE_S)

    assert has_persona(units)
    assert sorted(order) == ["committed", "taken over"]
    with units.read() as unit:
        assert not unit.runs.is_current(run.run_id, 1)


class Overtaken(Probe):
    """A tool whose run is taken over while it works, as when its daemon is stopped, and which then
    writes in a unit of its own."""

    def __init__(self, units: Units) -> None:
        super().__init__("overtaken")
        self._units = units

    async def call(self, arguments: Label, context: ToolContext) -> str:
        thread = threading.Thread(target=take_over, args=(self._units, context.run_id))
        thread.start()
        await in_thread(thread.join)
        await in_thread(add_persona, self._units)
        return arguments.label


async def test_what_a_tool_writes_after_a_takeover_is_refused_and_the_run_is_let_go(
    units: Units, settings: Settings, fake: FakeModel
) -> None:
    harness = RunHarness(units, settings, tools=(Overtaken(units),))
    fake.queue(call("overtaken", {"label": "x"}))
    run_id = harness.submit()

    detail = await harness.execute(run_id)

    await harness.providers.close()
    assert not has_persona(units)
    assert detail.run.status is RunStatus.RUNNING
    assert harness.results(run_id) == []
    assert len(fake.requests) == 1
