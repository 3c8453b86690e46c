"""Runs that were accepted and of which the engine has no work: the daemon finds and starts them."""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest
from dbos import DBOSClient

from tests.support.daemon_in_process import DaemonInProcess, running
from tests.support.factories import make_run
from tests.support.run_harness import make_settings
from understudy.engine.durable import APPLICATION, APPLICATION_VERSION, OLD_QUEUE, WORKFLOW
from understudy.runs.model import Run, RunStatus
from understudy.settings import Settings
from understudy.testing.fake_model import FakeModel


@pytest.fixture
def settings(tmp_path: Path, fake: FakeModel, prepared_url: str) -> Settings:
    return make_settings(tmp_path, fake.url, "a", database_url=prepared_url)


async def accept(inside: DaemonInProcess, *sessions: str) -> list[Run]:
    """Commit runs as a daemon does that dies before their work has begun."""
    accepted = []
    for session_id in sessions:
        await inside.session(session_id)
    with inside.daemon.resources.units.write() as unit:
        for offset, session_id in enumerate(sessions, start=1):
            accepted.append(make_run(session_id, accepted_offset=offset))
            unit.runs.add(accepted[-1])
    return accepted


async def all_completed(inside: DaemonInProcess, runs: list[Run]) -> list[Run]:
    ended = [(await inside.wait(run.run_id)).run for run in runs]
    assert {run.status for run in ended} == {RunStatus.COMPLETED}
    return ended


def test_accepted_runs_without_work_begin_at_the_start_one_by_one_in_a_session(
    settings: Settings,
) -> None:
    async def crash() -> list[Run]:
        async with running(settings, in_good_order=False) as inside:
            return await accept(inside, "s1", "s1", "s2", "s1")

    async def next_one(accepted: list[Run]) -> None:
        async with running(settings) as inside:
            ended = await all_completed(inside, accepted)
            of_one = [run for run in ended if run.session_id == "s1"]
            for earlier, later in pairwise(of_one):
                assert (earlier.finished_at_ms or 0) <= (later.started_at_ms or 0)

    asyncio.run(next_one(asyncio.run(crash())))


def test_accepted_runs_without_work_are_found_while_the_daemon_runs(settings: Settings) -> None:
    async def scenario() -> None:
        async with running(settings) as inside:
            accepted = await accept(inside, "s1", "s2", "s2")
            upkeep = inside.daemon.services.runs.upkeep
            # At one look it may be about to begin.
            await asyncio.to_thread(upkeep.requeue_given_up)
            await asyncio.to_thread(upkeep.requeue_given_up)
            await all_completed(inside, accepted)

    asyncio.run(scenario())


@pytest.mark.parametrize("prepared_url", ["postgresql"], indirect=True)
@pytest.mark.postgres
def test_what_an_older_version_has_queued_begins(settings: Settings) -> None:
    async def crash() -> list[Run]:
        async with running(settings, in_good_order=False) as inside:
            return await accept(inside, "s1", "s1")

    def queue(runs: list[Run]) -> None:
        database_url = settings.database_url.replace("postgresql:", "postgresql+psycopg:", 1)
        client = DBOSClient(system_database_url=database_url)
        for run in runs:
            client.enqueue(
                {
                    "queue_name": OLD_QUEUE,
                    "workflow_name": WORKFLOW,
                    "workflow_id": run.work_id,
                    "queue_partition_key": run.session_id,
                    "app_version": APPLICATION_VERSION,
                    "application_name": APPLICATION,
                },
                run.run_id,
            )
        client.destroy()

    async def next_one(accepted: list[Run]) -> None:
        async with running(settings) as inside:
            await all_completed(inside, accepted)

    accepted = asyncio.run(crash())
    queue(accepted)
    asyncio.run(next_one(accepted))
