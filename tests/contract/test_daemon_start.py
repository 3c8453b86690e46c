"""A start that still compares the run memories: requests are answered, and runs wait."""

import asyncio
import threading
from pathlib import Path

import pytest

from tests.support.daemon import PATIENCE_S
from tests.support.daemon_in_process import DaemonInProcess, running
from tests.support.run_harness import make_settings
from understudy.memory.service import RunMemoryService
from understudy.runs.model import RunStatus
from understudy.settings import Settings
from understudy.testing.fake_model import FakeModel


@pytest.fixture
def settings(tmp_path: Path, fake: FakeModel, prepared_url: str) -> Settings:
    return make_settings(tmp_path, fake.url, "a", database_url=prepared_url)


@pytest.fixture
def compare(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """The run memories are compared once this is set."""
    wanted, is_settled = threading.Event(), RunMemoryService.is_settled

    def late(service: RunMemoryService) -> bool:
        assert wanted.wait(PATIENCE_S)
        return is_settled(service)

    monkeypatch.setattr(RunMemoryService, "is_settled", late)
    return wanted


async def until_claimed(inside: DaemonInProcess, run_id: str) -> None:
    """Wait until the engine works on a run."""
    async with asyncio.timeout(PATIENCE_S):
        while run_id not in await asyncio.to_thread(inside.daemon.resources.engine.stranded, ()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def test_a_run_waits_for_the_run_memories_and_begins_once(
    settings: Settings, fake: FakeModel, compare: threading.Event
) -> None:
    async def scenario() -> None:
        async with running(settings) as inside:
            await inside.session()
            run_id = await inside.submit()
            await until_claimed(inside, run_id)
            for _ in range(3):
                await asyncio.to_thread(inside.daemon.services.runs.upkeep.put_back_stranded)
            await until_claimed(inside, run_id)
            assert await inside.status(run_id) is RunStatus.QUEUED
            assert fake.requests == []

            compare.set()
            run = (await inside.wait(run_id)).run
            assert (run.status, run.attempt, run.crashes) == (RunStatus.COMPLETED, 1, 0)

    asyncio.run(scenario())


def test_a_run_that_waits_when_the_daemon_stops_begins_with_the_next(
    settings: Settings, fake: FakeModel, compare: threading.Event
) -> None:
    async def stopped_early() -> str:
        async with running(settings) as inside:
            await inside.session()
            run_id = await inside.submit()
            await until_claimed(inside, run_id)
            await inside.daemon.drain()
            compare.set()
        return run_id

    async def next_one(run_id: str) -> None:
        async with running(settings) as inside:
            run = (await inside.wait(run_id)).run
            assert (run.status, run.attempt, run.crashes) == (RunStatus.COMPLETED, 1, 0)
            assert not run.parked

    run_id = asyncio.run(stopped_early())
    assert fake.requests == []
    asyncio.run(next_one(run_id))
