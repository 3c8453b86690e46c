"""Sidechains with the durable queue behind them, many at once and through crashes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.support.daemon_in_process import DaemonInProcess
from tests.support.factories import ALICE
from tests.support.model_scripts import answering, ask, play
from tests.support.run_harness import make_settings
from understudy.core.page import PageRequest
from understudy.daemon.wiring import Daemon
from understudy.runs.model import Run, RunStatus
from understudy.settings import Settings
from understudy.testing.answers import Answer, FakeCall, SeenRequest, call
from understudy.testing.fake_model import FakeModel

WAIT = call("wait_sidechain")


@pytest.fixture
def settings(tmp_path: Path, fake: FakeModel, prepared_url: str) -> Settings:
    return make_settings(tmp_path, fake.url, "a", database_url=prepared_url)


@asynccontextmanager
async def running(
    settings: Settings, *, in_good_order: bool = True
) -> AsyncIterator[DaemonInProcess]:
    """A daemon with all its tools."""
    daemon = Daemon(settings)
    daemon.migrate()
    await daemon.start()
    try:
        yield DaemonInProcess(daemon)
    finally:
        if in_good_order:
            await daemon.drain()
        await daemon.stop()


def spawns(*tasks: str) -> Answer:
    calls = (FakeCall(name="spawn_sidechain", arguments={"task": task}) for task in tasks)
    return Answer(calls=tuple(calls))


async def runs_below(inside: DaemonInProcess, session_id: str) -> list[Run]:
    page = await asyncio.to_thread(
        inside.daemon.services.runs.sidechains.page, session_id, PageRequest()
    )
    return [standing.run for standing in page.items if standing.run is not None]


async def until_all(
    inside: DaemonInProcess, session_id: str, status: RunStatus, count: int
) -> None:
    async with asyncio.timeout(30):
        while [run.status for run in await runs_below(inside, session_id)] != [status] * count:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def test_many_parents_wait_for_many_sidechains_at_once(settings: Settings, fake: FakeModel) -> None:
    tasks, names = ("one", "two", "three"), ("s1", "s2", "s3", "s4", "s5")
    fake.rule = play({"parent": [spawns(*tasks), *["never"] * 2, WAIT, "all done"]})

    async def scenario() -> None:
        async with running(settings) as inside:
            for name in names:
                await inside.session(name)
            ids = [await inside.submit("parent", session_id=name) for name in names]
            done = [await inside.wait(run_id) for run_id in ids]

            assert {detail.run.status for detail in done} == {RunStatus.COMPLETED}
            assert {detail.outputs[-1].data["text"] for detail in done} == {"all done"}
            assert all(detail.run.crashes == 0 for detail in done)
            for name in names:
                assert len(await runs_below(inside, name)) == len(tasks)

    with capture_logs() as logged:
        asyncio.run(scenario())

    # On PostgreSQL two who lock in another order end in a deadlock, which looks like this.
    events = {entry["event"] for entry in logged}
    usual = {"run.ended", "run.asleep", "daemon.draining", "run_memory.checked", "capture.done"}
    assert events <= usual


def test_a_child_is_asked_answered_and_awaited_through_restarts(
    settings: Settings, fake: FakeModel
) -> None:
    fake.rule = play(
        {
            "parent": [spawns("child"), WAIT, answering("blue"), WAIT, "done"],
            "child": [ask("Which colour?"), lambda seen: f"painted {seen.turns[-1].text}"],
        }
    )

    def is_asleep(detail: Any) -> bool:
        return bool(detail.run.asleep)

    async def first() -> str:
        async with running(settings, in_good_order=False) as inside:
            await inside.session()
            fake.hold()
            run_id = await inside.submit("parent")
            await asyncio.to_thread(fake.wait_for_requests, 1)
            return run_id

    async def second(run_id: str) -> None:
        held = fake.rule
        assert held is not None

        def without_child(seen: SeenRequest) -> Any:
            return Answer(stall=True, text="x y z") if seen.last_user == "child" else held(seen)

        fake.rule = without_child
        async with running(settings, in_good_order=False) as inside:
            await inside.wait(run_id, is_asleep)
        fake.rule = held

    async def third(run_id: str) -> None:
        async with running(settings) as inside:
            done = await inside.wait(run_id)
            assert done.run.status is RunStatus.COMPLETED
            [child] = await runs_below(inside, "s1")
            assert child.status is RunStatus.COMPLETED
            output = (await inside.look(child.run_id)).outputs[-1].data["text"]
            assert "blue" in output

    run_id = asyncio.run(first())
    fake.release()
    asyncio.run(second(run_id))
    asyncio.run(third(run_id))


def test_stopping_the_parent_stops_children_that_are_at_work(
    settings: Settings, fake: FakeModel
) -> None:
    busy = [Answer(calls=(FakeCall(name="list_files"),), delay_s=0.3)] * 500
    fake.rule = play({"parent": [spawns("busy", "busy", "busy"), "no", "no", WAIT], "busy": busy})

    async def scenario() -> None:
        async with running(settings) as inside:
            await inside.session()
            run_id = await inside.submit("parent")
            await until_all(inside, "s1", RunStatus.RUNNING, 3)
            await asyncio.to_thread(inside.daemon.services.runs.service.interrupt, ALICE, "s1")
            assert (await inside.wait(run_id)).run.status is RunStatus.INTERRUPTED
            await until_all(inside, "s1", RunStatus.CANCELLED, 3)

    asyncio.run(scenario())
