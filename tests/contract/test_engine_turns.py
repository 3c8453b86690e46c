"""The dispatcher of a daemon on SQLite: it claims runs in its turn among the writers."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from tests.support.daemon import wait_for
from tests.support.factories import make_run
from tests.unit.storage.test_write_turns import has_waiting
from understudy.engine.durable import DurableEngine
from understudy.storage.engine import WriteTurns, open_sqlite

pytestmark = [pytest.mark.anyio, pytest.mark.one_database]


class Started:
    """A durable engine on a database of its own, and the runs that it has executed."""

    def __init__(self, home: Path) -> None:
        self.database = open_sqlite(f"sqlite:///{home / 'engine.db'}")
        self.engine = DurableEngine(self.database, executor_id="local")
        self.turns = WriteTurns()
        self.executed: list[str] = []

    async def execute(self, run_id: str) -> bool:
        self.executed.append(run_id)
        return False


@pytest.fixture
async def started(tmp_path: Path) -> AsyncIterator[Started]:
    started = Started(tmp_path)
    await started.engine.start(started.execute, turn=started.turns.turn)
    yield started
    await started.engine.stop()


async def test_a_claim_stands_in_line_with_the_writers(started: Started) -> None:
    run = make_run(accepted_offset=1)
    with started.turns.turn():
        with started.database.begin() as connection:
            started.engine.enqueue(connection, run)
        started.engine.look()
        in_line = partial(has_waiting, started.turns, 1)
        await asyncio.to_thread(wait_for, in_line, what="the claim to stand in line")
        assert started.executed == []

    async with asyncio.timeout(10):
        while not started.executed:  # noqa: ASYNC110 - the engine rings nowhere
            await asyncio.sleep(0.005)
    assert started.executed == [run.run_id]
