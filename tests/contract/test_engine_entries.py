"""The queue entry that we write is the one that the durable engine would write."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import sqlalchemy as sa
from dbos import DBOSClient

from tests.support.factories import make_run
from tests.support.idle_engine import idle_engine
from understudy.engine.durable import (
    APPLICATION,
    APPLICATION_VERSION,
    QUEUE,
    WORKFLOW,
    DurableEngine,
)

pytestmark = pytest.mark.anyio
# What differs between two entries of one kind.
OWN = ("workflow_uuid", "creator_xid", "created_at", "updated_at")


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[tuple[sa.Engine, DurableEngine]]:
    async with idle_engine(database_url) as both:
        yield both


def _entries(database: sa.Engine) -> list[dict[str, Any]]:
    schema = "dbos." if database.dialect.name == "postgresql" else ""
    query = f"SELECT status.*, given.inputs AS given FROM {schema}workflow_status AS status JOIN {schema}workflow_input AS given USING (workflow_uuid) ORDER BY workflow_uuid"
    with database.connect() as connection:
        return [dict(row) for row in connection.execute(sa.text(query)).mappings()]


async def test_an_entry_has_the_columns_of_the_engines_own(
    engine: tuple[sa.Engine, DurableEngine],
) -> None:
    database, durable = engine
    run = make_run("s", accepted_offset=7)
    client = DBOSClient(system_database_engine=database, application_name=APPLICATION)
    with database.begin() as connection:
        durable.enqueue(connection, run)
        client.enqueue_in_transaction(
            connection,
            {
                "queue_name": QUEUE,
                "workflow_name": WORKFLOW,
                "workflow_id": f"{run.work_id}.theirs",
                "queue_partition_key": "s",
                "priority": 7,
                "app_version": APPLICATION_VERSION,
            },
            run.run_id,
        )

    ours, theirs = _entries(database)

    assert [entry["workflow_uuid"] for entry in (ours, theirs)] == [
        run.work_id,
        f"{run.work_id}.theirs",
    ]
    assert all(entry[name] for entry in (ours, theirs) for name in OWN)
    differing = {name for name in ours if ours[name] != theirs[name]}
    assert differing <= set(OWN)


async def test_work_that_is_queued_already_stays_as_it_is(
    engine: tuple[sa.Engine, DurableEngine],
) -> None:
    database, durable = engine
    run = make_run("s", accepted_offset=7)
    with database.begin() as connection:
        durable.enqueue(connection, run)
    before = _entries(database)

    with database.begin() as connection:
        durable.enqueue(connection, run)

    assert _entries(database) == before
