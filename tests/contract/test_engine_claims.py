"""Several daemons on one PostgreSQL claim runs at the same time: none twice, none out of line."""

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import sqlalchemy as sa

from tests.support.daemon import wait_for
from tests.support.factories import make_run
from tests.support.idle_engine import idle_engine
from tests.support.postgres import MakeDatabase
from understudy.engine.claim import claim
from understudy.engine.durable import APPLICATION, QUEUE, DurableEngine
from understudy.runs.model import Run

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]


@dataclass
class Queued:
    """A durable engine whose own dispatcher waits for its turn for ever."""

    database: sa.Engine
    engine: DurableEngine

    def enqueue(self, *runs: Run) -> None:
        with self.database.begin() as connection:
            for run in runs:
                self.engine.enqueue(connection, run)

    def claimed(self, connection: sa.Connection, owner: str) -> list[str]:
        found = claim(connection, QUEUE, APPLICATION, owner)
        return sorted(str(each["workflow_uuid"]) for each in found)


@pytest.fixture
async def queued(make_database: MakeDatabase) -> AsyncIterator[Queued]:
    async with idle_engine(make_database()) as (database, engine):
        yield Queued(database, engine)


def _is_waiting(database: sa.Engine) -> bool:
    query = sa.text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    with database.connect() as connection:
        return bool(connection.execute(query).scalar_one())


async def test_the_later_of_two_claims_takes_neither_the_same_run_nor_the_next_of_its_session(
    queued: Queued,
) -> None:
    first = make_run("s", accepted_offset=1)
    second = make_run("s", accepted_offset=2)
    queued.enqueue(first, second)
    later: list[str] = []

    def claim_later() -> None:
        with queued.database.begin() as connection:
            later.extend(queued.claimed(connection, "later"))

    thread = threading.Thread(target=claim_later)
    with queued.database.begin() as connection:
        assert queued.claimed(connection, "earlier") == [first.work_id]
        thread.start()
        waits = lambda: _is_waiting(queued.database)  # noqa: E731
        await asyncio.to_thread(wait_for, waits, what="the later claim to wait for the row")
    await asyncio.to_thread(thread.join)

    assert later == []


async def test_the_first_runs_of_several_sessions_are_claimed_at_once(queued: Queued) -> None:
    runs = [make_run(f"s-{name}", accepted_offset=1) for name in "abc"]
    queued.enqueue(*runs)

    with queued.database.begin() as connection:
        assert queued.claimed(connection, "one") == sorted(run.work_id for run in runs)
    with queued.database.begin() as connection:
        assert queued.claimed(connection, "two") == []
