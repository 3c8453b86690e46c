"""The daemon's parts together with the durable queue, in this process, on both databases."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.support.daemon_in_process import DaemonInProcess, running
from tests.support.factories import ALICE, NOW
from tests.support.postgres import MakeDatabase
from tests.support.run_harness import Probe, make_settings
from understudy.daemon.wiring import MEMORIES_WAIT_S, Daemon
from understudy.evolution.usage_review import TOPIC as SUGGESTIONS
from understudy.runs.model import DebugLevel, RunStatus
from understudy.settings import Settings
from understudy.skills.usage import SkillListing
from understudy.storage.engine import open_engine
from understudy.storage.postgres import RUN_MEMORIES_LOCK, hold_lock
from understudy.storage.schema import run_memory_bodies
from understudy.testing.answers import Answer, SeenRequest, call
from understudy.testing.fake_model import FakeModel
from understudy.tools.base import Effect


@pytest.fixture
def settings(tmp_path: Path, fake: FakeModel, prepared_url: str) -> Settings:
    return make_settings(tmp_path, fake.url, "a", "b", database_url=prepared_url)


def is_running(detail: Any) -> bool:
    return detail.run.status is RunStatus.RUNNING


async def kinds(inside: DaemonInProcess, run_id: str) -> list[str]:
    read = inside.daemon.services.runs.service.events
    page = await asyncio.to_thread(read, run_id, after_offset=0, limit=200)
    return [event.data.get("type", event.kind.value) for event in page.events]


def test_runs_of_a_session_go_one_by_one_in_the_order_they_came(
    settings: Settings, fake: FakeModel
) -> None:
    async def scenario() -> None:
        async with running(settings) as inside:
            await inside.session()
            fake.hold()
            r1, r2, r3 = [await inside.submit(name) for name in ("one", "two", "three")]
            await inside.wait(r1, is_running)
            await asyncio.to_thread(fake.wait_for_requests, 1)

            waiting = [await inside.look(run_id) for run_id in (r2, r3)]
            assert [(d.run.status, d.queued_position) for d in waiting] == [
                (RunStatus.QUEUED, 1),
                (RunStatus.QUEUED, 2),
            ]
            fake.release()
            done = [await inside.wait(run_id) for run_id in (r1, r2, r3)]

            assert {detail.run.status for detail in done} == {RunStatus.COMPLETED}
            assert [seen.last_user for seen in fake.requests] == ["one", "two", "three"]
            assert await kinds(inside, r2) == [
                "accepted",
                "queued",
                "started",
                "output",
                "completed",
            ]

    asyncio.run(scenario())


def test_sessions_do_not_wait_for_each_other(settings: Settings, fake: FakeModel) -> None:
    async def scenario() -> None:
        async with running(settings) as inside:
            await inside.session("s1")
            await inside.session("s2")
            fake.hold()
            ids = [await inside.submit(session_id=name) for name in ("s1", "s2")]
            await asyncio.to_thread(fake.wait_for_requests, 2)
            fake.release()

            for run_id in ids:
                assert (await inside.wait(run_id)).run.status is RunStatus.COMPLETED

    asyncio.run(scenario())


def test_after_an_interrupt_the_next_run_starts_only_when_the_tool_has_stopped(
    settings: Settings, fake: FakeModel
) -> None:
    class Stubborn(Probe):
        """Takes its time to stop."""

        async def call(self, arguments: Any, context: Any) -> str:
            try:
                return await super().call(arguments, context)
            except asyncio.CancelledError:
                await asyncio.sleep(0.3)
                order.append("tool stopped")
                raise

    order: list[str] = []

    def answer(seen: SeenRequest) -> Answer | None:
        order.append(seen.last_user)
        return call("slow") if seen.last_user == "first" else None

    async def scenario() -> None:
        tool = Stubborn("slow")
        tool.hold()
        fake.rule = answer
        async with running(settings, tool) as inside:
            await inside.session()
            first, second = await inside.submit("first"), await inside.submit("second")
            await tool.reached()

            await asyncio.to_thread(inside.daemon.services.runs.service.interrupt, ALICE, "s1")

            assert (await inside.wait(second)).run.status is RunStatus.COMPLETED
            assert await inside.status(first) is RunStatus.INTERRUPTED

    asyncio.run(scenario())
    assert order == ["first", "tool stopped", "second"]


def test_a_cancelled_run_in_line_is_passed_over(settings: Settings, fake: FakeModel) -> None:
    async def scenario() -> None:
        async with running(settings) as inside:
            await inside.session()
            fake.hold()
            r1, r2, r3 = [await inside.submit(name) for name in ("one", "two", "three")]
            await asyncio.to_thread(fake.wait_for_requests, 1)
            await asyncio.to_thread(inside.daemon.services.runs.service.cancel, ALICE, r2)

            assert (await inside.look(r3)).queued_position == 1
            await asyncio.to_thread(inside.daemon.services.runs.service.cancel, ALICE, r1)
            fake.release()

            assert (await inside.wait(r3)).run.status is RunStatus.COMPLETED
            assert await inside.status(r1) is RunStatus.CANCELLED
            assert [seen.last_user for seen in fake.requests] == ["one", "three"]

    asyncio.run(scenario())


def test_a_run_keeps_the_default_route_of_its_submission(
    settings: Settings, fake: FakeModel
) -> None:
    async def scenario() -> None:
        async with running(settings) as inside:
            await inside.session()
            fake.hold()
            ids = [await inside.submit() for _ in range(2)]
            await asyncio.to_thread(fake.wait_for_requests, 1)
            change = {"default_route": "b", "debug_level": "requests"}
            await asyncio.to_thread(inside.daemon.services.runtime.change, ALICE, change)
            ids.append(await inside.submit())
            fake.release()
            for run_id in ids:
                await inside.wait(run_id)

            assert [seen.model for seen in fake.requests] == ["model-a", "model-a", "model-b"]
            last = (await inside.look(ids[2])).run
            assert (last.route.route_id, last.debug_level) == ("b", DebugLevel.REQUESTS)

    asyncio.run(scenario())


def test_the_key_of_a_route_is_never_captured(settings: Settings, fake: FakeModel) -> None:
    keyed = settings.routes["a"].model_copy(update={"api_key_env": "MY_KEY"})
    settings = replace(settings, routes={"a": keyed}, environment={"MY_KEY": "plain-looking-words"})

    async def scenario() -> None:
        async with running(settings) as inside:
            await inside.session()
            run_id = await inside.submit(
                "the key is plain-looking-words", debug_level=DebugLevel.FULL
            )
            await inside.wait(run_id)

            captures = await asyncio.to_thread(inside.daemon.services.runs.service.debug, run_id)
            assert len(captures) == 1
            assert "the key is" in str(captures)
            assert "plain-looking-words" not in str(captures)

    asyncio.run(scenario())


def test_after_a_crash_finished_steps_stay_done_and_the_line_goes_on(
    settings: Settings, fake: FakeModel
) -> None:
    fake.rule = lambda seen: (
        call("pay", {"label": str(sum(t.role == "tool" for t in seen.turns))})
        if seen.last_user == "first" and sum(t.role == "tool" for t in seen.turns) < 3
        else None
    )
    paid: list[str] = []

    async def before() -> tuple[str, str]:
        tool = Probe("pay", Effect.ONCE)
        tool.hold("2")
        async with running(settings, tool, in_good_order=False) as inside:
            await inside.session()
            first = await inside.submit("first", key="k")
            second = await inside.submit("second")
            await tool.reached()
            paid.extend(tool.labels)
            return first, second

    async def after(first: str, second: str) -> None:
        tool = Probe("pay", Effect.ONCE)
        async with running(settings, tool) as inside:
            done = await inside.wait(first)
            assert (done.run.status, done.run.crashes) == (RunStatus.COMPLETED, 1)
            assert (await inside.wait(second)).run.status is RunStatus.COMPLETED
            assert tool.labels == []
            assert await inside.submit("first", key="k") == first
            assert (await kinds(inside, first)).count("resumed") == 1

    first, second = asyncio.run(before())
    asyncio.run(after(first, second))

    assert paid == ["0", "1", "2"]
    asked = [seen for seen in fake.requests if seen.last_user == "first"]
    assert len(asked) == 4
    assert "outcome unknown" in asked[-1].turns[-1].text


def test_a_drain_lets_the_step_in_flight_finish_and_counts_as_no_crash(
    settings: Settings, fake: FakeModel
) -> None:
    fake.queue(call("work", {"label": "x"}))

    async def before() -> tuple[str, str]:
        tool = Probe("work", Effect.ONCE)
        tool.hold()
        async with running(settings, tool, in_good_order=False) as inside:
            await inside.session()
            going, queued = await inside.submit("first"), await inside.submit("second")
            await tool.reached()
            draining = asyncio.create_task(inside.daemon.drain())
            await asyncio.sleep(0)
            assert inside.daemon.resources.state == "draining"
            tool.go_on.set()
            await draining
            assert len(fake.requests) == 1
            return going, queued

    async def after(going: str, queued: str) -> None:
        tool = Probe("work", Effect.ONCE)
        async with running(settings, tool) as inside:
            done = await inside.wait(going)
            assert (done.run.status, done.run.crashes) == (RunStatus.COMPLETED, 0)
            assert (await inside.wait(queued)).run.status is RunStatus.COMPLETED
            assert tool.labels == []

    asyncio.run(after(*asyncio.run(before())))
    assert fake.requests[1].turns[-1].text == "result of x"
    assert len(fake.requests) == 3


def test_a_run_that_the_engine_lost_is_queued_again_at_start(
    settings: Settings, fake: FakeModel
) -> None:
    async def leave_one_behind() -> str:
        async with running(settings) as inside:
            await inside.session()
            fake.hold()
            run_id = await inside.submit("one")
            await asyncio.to_thread(fake.wait_for_requests, 1)
            await asyncio.to_thread(inside.daemon.resources.engine.forget, [run_id])
            return run_id

    async def find_it_again(run_id: str) -> None:
        async with running(settings) as inside:
            assert (await inside.wait(run_id)).run.status is RunStatus.COMPLETED

    run_id = asyncio.run(leave_one_behind())
    fake.release()
    asyncio.run(find_it_again(run_id))


def test_the_engines_history_is_swept_and_ours_stays(settings: Settings) -> None:
    async def scenario() -> None:
        async with running(settings) as inside:
            await inside.session()
            run_id = await inside.submit("one")
            await inside.wait(run_id)
            later = inside.daemon.resources.clock.now_ms() + 600_000

            async def sweep() -> int:
                engine = inside.daemon.resources.engine
                return await asyncio.to_thread(engine.sweep, finished_before_ms=later)

            # The engine notes the end of a workflow a moment after the run has ended.
            swept = 0
            while swept == 0:
                swept = await sweep()
            assert swept == 1
            assert await inside.status(run_id) is RunStatus.COMPLETED
            assert await sweep() == 0

    asyncio.run(scenario())


def test_a_damaged_run_costs_itself_and_not_the_start(settings: Settings, fake: FakeModel) -> None:
    async def damage_one() -> tuple[str, str]:
        async with running(settings) as inside:
            await inside.session()
            fake.hold()
            first, second = await inside.submit("one"), await inside.submit("two")
            await asyncio.to_thread(fake.wait_for_requests, 1)
            with inside.daemon.resources.database.begin() as connection:
                statement = sa.text("UPDATE runs SET wanted = '{' WHERE run_id = :run_id")
                connection.execute(statement, {"run_id": second})
            return first, second

    async def go_on(first: str, second: str) -> None:
        async with running(settings) as inside:
            assert (await inside.wait(first)).run.status is RunStatus.COMPLETED
            third = await inside.submit("three")
            assert (await inside.wait(third)).run.status is RunStatus.COMPLETED
            with inside.daemon.resources.units.read() as unit:
                assert unit.runs.unfinished_in("s1") == 0
                types = [e.data.get("type") for e in unit.journal.read(run_id=second)]
            assert types[-1] == "failed"

    first, second = asyncio.run(damage_one())
    fake.release()
    asyncio.run(go_on(first, second))


def test_many_submitters_of_one_session_are_served_in_their_order(
    settings: Settings, fake: FakeModel
) -> None:
    async def scenario() -> None:
        async with running(settings) as inside:
            await inside.session()
            fake.hold()
            submitted = await asyncio.gather(*(inside.submit(f"n{n}") for n in range(24)))
            fake.release()
            runs = [(await inside.wait(run_id)).run for run_id in submitted]
            by_acceptance = sorted(runs, key=lambda run: run.accepted_offset)
            by_start = sorted(runs, key=lambda run: (run.started_at_ms or 0, run.accepted_offset))
            assert [run.run_id for run in by_start] == [run.run_id for run in by_acceptance]

    asyncio.run(scenario())


def test_work_that_nobody_holds_is_put_back(settings: Settings, fake: FakeModel) -> None:
    """As after a start that was cut off: under way by the records, held by nobody."""

    async def scenario() -> None:
        async with running(settings) as inside:
            upkeep = inside.daemon.services.runs.upkeep
            engine, signals = inside.daemon.resources.engine, inside.daemon.resources.signals
            await inside.session()
            fake.hold()
            run_id = await inside.submit("one")
            await asyncio.to_thread(fake.wait_for_requests, 1)
            await asyncio.to_thread(upkeep.put_back_stranded)
            await asyncio.to_thread(upkeep.put_back_stranded)
            held = signals.active()
            assert await asyncio.to_thread(engine.stranded, held) == frozenset()
            assert await asyncio.to_thread(engine.stranded, ()) == {run_id}
            await asyncio.to_thread(engine.put_back, run_id)
            await asyncio.to_thread(fake.wait_for_requests, 2)
            fake.release()
            assert (await inside.wait(run_id)).run.status is RunStatus.COMPLETED

    asyncio.run(scenario())


def test_the_end_of_a_run_has_somebody_look_for_suggestions(
    settings: Settings, fake: FakeModel
) -> None:
    async def scenario() -> None:
        async with running(settings) as inside:
            bell = inside.daemon.resources.bell
            before = bell.count(SUGGESTIONS)
            await inside.session()
            await inside.wait(await inside.submit())

            seen = {SUGGESTIONS: before}
            await bell.wait(seen, timeout_s=10)
            assert bell.count(SUGGESTIONS) == before + 1

    asyncio.run(scenario())


def test_a_daemon_that_starts_sums_up_of_which_skills_runs_were_told(settings: Settings) -> None:
    def listed(inside: DaemonInProcess) -> list[Any]:
        with inside.daemon.resources.database.connect() as connection:
            tables = ("skill_listings", "skill_listing_days")
            counts = (f"SELECT count(*) FROM {table}" for table in tables)
            return [connection.exec_driver_sql(count).scalar() for count in counts]

    async def before() -> None:
        told = SkillListing(ref="skl_1", version=1, run_id="run_1", at_ms=NOW)
        async with running(settings) as inside:
            with inside.daemon.resources.units.write() as unit:
                unit.skill_uses.list_for([told])

    async def scenario() -> None:
        async with running(settings) as inside:
            for _ in range(1_000):
                if await asyncio.to_thread(listed, inside) == [0, 1]:
                    return
                await asyncio.sleep(0.01)
            raise AssertionError(listed(inside))

    asyncio.run(before())
    asyncio.run(scenario())


@pytest.mark.postgres
def test_nothing_is_started_beside_a_rebuild_of_the_run_memories(
    tmp_path: Path, fake: FakeModel, make_database: MakeDatabase, prepared_database: str
) -> None:
    """On SQLite it would wait for the write lock, and give up when that takes too long."""
    url = make_database(prepared_database)
    daemon = Daemon(make_settings(tmp_path, fake.url, "a", database_url=url))
    database = open_engine(url)
    orphan = {"run_id": "gone", "body": {}, "stamp": "x"}
    with database.begin() as connection:
        connection.execute(sa.insert(run_memory_bodies), orphan)

    async def scenario() -> None:
        with hold_lock(database, RUN_MEMORIES_LOCK):
            starting = asyncio.create_task(daemon.start())
            await asyncio.wait({starting}, timeout=MEMORIES_WAIT_S + 1)
            assert not starting.done()
        await starting
        assert daemon.resources.state == "ready"
        await daemon.stop()

    asyncio.run(scenario())
    with database.connect() as connection:
        assert connection.execute(sa.select(run_memory_bodies)).all() == []
    database.dispose()
