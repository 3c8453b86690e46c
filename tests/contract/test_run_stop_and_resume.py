"""How a run stops when asked to, and is taken up again when the daemon died under it."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ALICE
from tests.support.run_harness import (
    Probe,
    RunHarness,
    arrived,
    die,
    restarted,
    texts,
    until,
)
from understudy.agent.history import NO_RESULT
from understudy.agent.toolbox import UNKNOWN_OUTCOME
from understudy.runs.model import DebugLevel, RunStatus
from understudy.sessions.journal import EventKind
from understudy.testing.answers import Answer, FakeCall, call
from understudy.testing.fake_model import FakeModel
from understudy.tools.base import Effect

pytestmark = pytest.mark.one_database

REPEATABLE = (Effect.READ, Effect.IDEMPOTENT)


# Stopping


@pytest.mark.every_database
async def test_cancelling_a_running_run_waits_for_its_step(
    harness: RunHarness, fake: FakeModel, probe: Probe
) -> None:
    fake.queue(call("probe", {"label": "x"}))
    probe.hold()
    run_id = harness.submit()
    task = harness.begin(run_id)
    await probe.reached()

    asked = await asyncio.to_thread(harness.runs.cancel, ALICE, run_id)
    await task

    assert asked.run.status is RunStatus.RUNNING
    assert harness.stored(run_id).status is RunStatus.CANCELLED
    assert (probe.ended, len(fake.requests)) == (1, 1)
    assert harness.results(run_id) == []


async def test_cancelling_gives_up_a_model_call(harness: RunHarness, fake: FakeModel) -> None:
    fake.hold()
    run_id = harness.submit()
    task = harness.begin(run_id)
    await arrived(fake, 1)

    await asyncio.to_thread(harness.runs.cancel, ALICE, run_id)
    await task
    fake.release()

    assert harness.stored(run_id).status is RunStatus.CANCELLED


@pytest.mark.every_database
async def test_a_cancelled_queued_run_is_never_executed_and_the_line_moves_up(
    harness: RunHarness, fake: FakeModel
) -> None:
    first, second, third = (harness.submit(str(n)) for n in range(3))
    assert harness.runs.get(third).queued_position == 3

    cancelled = harness.runs.cancel(ALICE, second)

    assert cancelled.run.status is RunStatus.CANCELLED
    assert harness.runs.get(third).queued_position == 2
    await harness.execute(second)
    assert fake.requests == []
    await harness.execute(first)
    assert harness.runs.get(third).queued_position == 1


async def test_a_run_that_has_ended_is_not_cancelled_any_more(harness: RunHarness) -> None:
    done = await harness.run()
    before = harness.journal(done.run.run_id)

    again = harness.runs.cancel(ALICE, done.run.run_id)

    assert again == done
    assert harness.journal(done.run.run_id) == before


@pytest.mark.every_database
async def test_an_interrupted_run_ends_so_after_its_tool_has_stopped(
    harness: RunHarness, fake: FakeModel, probe: Probe
) -> None:
    fake.queue(call("probe"))
    probe.hold()
    run_id = harness.submit()
    task = harness.begin(run_id)
    await probe.reached()

    await asyncio.to_thread(harness.runs.interrupt, ALICE, "s1")
    await task

    assert harness.stored(run_id).status is RunStatus.INTERRUPTED
    assert probe.ended == 1
    assert harness.runs.interrupt(ALICE, "s1") is None


async def test_a_stop_asked_for_while_nobody_worked_counts_at_the_next_start(
    harness: RunHarness, fake: FakeModel
) -> None:
    fake.hold()
    run_id = harness.submit()
    task = harness.begin(run_id)
    await arrived(fake, 1)
    await die(task)
    harness.runs.cancel(ALICE, run_id)

    done = await restarted(harness).execute(run_id)
    fake.release()

    assert done.run.status is RunStatus.CANCELLED
    assert len(fake.requests) == 1


async def test_after_a_stop_the_model_is_told_which_call_has_no_result(
    harness: RunHarness, fake: FakeModel, probe: Probe
) -> None:
    fake.queue(call("probe"))
    probe.hold()
    run_id = harness.submit("first")
    task = harness.begin(run_id)
    await probe.reached()
    await asyncio.to_thread(harness.runs.cancel, ALICE, run_id)
    await task

    await harness.run("second")

    assert texts(fake) == ["first", "", NO_RESULT, "second"]


# Crashing and taking up again


async def test_a_finished_step_is_never_done_again(
    harness: RunHarness, fake: FakeModel, probe: Probe
) -> None:
    labels = ("one", "two", "three")
    fake.queue(*(call("probe", {"label": label}) for label in labels), "done")
    probe.hold("three")
    run_id = harness.submit()
    task = harness.begin(run_id)
    await probe.reached()
    await die(task)
    asked = len(fake.requests)
    probe.go_on.set()

    done = await restarted(harness).execute(run_id)

    assert done.run.status is RunStatus.COMPLETED
    assert (asked, len(fake.requests)) == (3, 4)
    assert probe.labels == ["one", "two", "three", "three"]
    assert [result["content"] for result in harness.results(run_id)] == [
        f"result of {label}" for label in labels
    ]
    assert done.run.usage.model_calls == 4


@pytest.mark.parametrize("effect", Effect)
async def test_a_call_in_flight_at_a_crash_is_repeated_unless_it_may_happen_only_once(
    harness: RunHarness, fake: FakeModel, effect: Effect
) -> None:
    tool = Probe("special", effect)
    fake.queue(call("special", {"label": "x"}), "done")
    tool.hold()
    first = restarted(harness, tools=(tool,))
    run_id = first.submit()
    task = first.begin(run_id)
    await tool.reached()
    await die(task)
    tool.go_on.set()

    done = await restarted(harness, tools=(tool,)).execute(run_id)

    assert done.run.status is RunStatus.COMPLETED
    assert len(tool.labels) == (2 if effect in REPEATABLE else 1)
    told = "result of x" if effect in REPEATABLE else UNKNOWN_OUTCOME
    assert texts(fake)[-1] == told
    assert len(harness.journal(run_id, EventKind.TOOL_CALL)) == 1


async def test_a_call_that_only_waited_for_its_turn_was_not_begun(
    database: UnitsOnDatabase, harness: RunHarness, fake: FakeModel
) -> None:
    busy, once = Probe("busy"), Probe("special", Effect.ONCE)
    busy.hold()
    fake.queue(Answer(calls=(FakeCall(name="busy"), FakeCall(name="special"))), "done")
    narrow = replace(harness.settings, max_active_steps=1)
    first = RunHarness(database.units, narrow, tools=(busy, once))
    run_id = first.submit()
    task = first.begin(run_id)
    await busy.reached()
    await asyncio.sleep(0.05)
    await die(task)
    busy.go_on.set()

    second = RunHarness(database.units, narrow, tools=(busy, once))
    await second.execute(run_id)
    await first.providers.close()
    await second.providers.close()

    assert len(once.labels) == 1
    assert texts(fake)[-1] == "result of "


async def test_a_model_call_in_flight_at_a_crash_is_made_again(
    harness: RunHarness, fake: FakeModel
) -> None:
    fake.hold()
    run_id = harness.submit()
    task = harness.begin(run_id)
    await arrived(fake, 1)
    await die(task)
    fake.release()

    done = await restarted(harness).execute(run_id)

    assert done.run.status is RunStatus.COMPLETED
    assert len(fake.requests) == 2
    assert len(done.outputs) == 1


async def crash(harness: RunHarness, fake: FakeModel, run_id: str, times: int) -> None:
    for _ in range(times):
        seen = len(fake.requests)
        task = restarted(harness).begin(run_id)
        await arrived(fake, seen + 1)
        await die(task)


async def test_five_crashes_in_a_row_without_a_finished_step_end_the_run(
    harness: RunHarness, fake: FakeModel
) -> None:
    fake.hold()
    run_id, next_id = harness.submit(), harness.submit()
    await crash(harness, fake, run_id, 5)
    fake.release()

    done = await restarted(harness).execute(run_id)
    after = await harness.execute(next_id)

    assert done.run.status is RunStatus.INTERRUPTED
    assert done.run.error == "the daemon crashed 5 times in a row during this run"
    assert len(fake.requests) == 5 + 1
    assert after.run.status is RunStatus.COMPLETED


async def test_four_crashes_are_survived(harness: RunHarness, fake: FakeModel) -> None:
    fake.hold()
    run_id = harness.submit()
    await crash(harness, fake, run_id, 4)
    fake.release()

    done = await restarted(harness).execute(run_id)

    assert (done.run.status, done.run.crashes) == (RunStatus.COMPLETED, 4)


async def test_a_finished_step_starts_the_count_of_crashes_anew(
    harness: RunHarness, fake: FakeModel, probe: Probe
) -> None:
    fake.hold()
    run_id = harness.submit()
    await crash(harness, fake, run_id, 4)
    fake.queue(call("probe"))
    fake.release()
    probe.hold()
    task = restarted(harness).begin(run_id)
    await probe.reached()
    await die(task)
    probe.go_on.set()

    done = await restarted(harness).execute(run_id)

    assert (done.run.status, done.run.crashes) == (RunStatus.COMPLETED, 1)


@pytest.mark.every_database
async def test_a_daemon_that_stopped_in_good_order_has_not_crashed(
    harness: RunHarness, fake: FakeModel
) -> None:
    fake.hold()
    run_id = harness.submit()
    for _ in range(6):
        process = restarted(harness)
        seen = len(fake.requests)
        task = process.begin(run_id)
        await arrived(fake, seen + 1)
        with harness.units.write() as unit:
            unit.runs.park(process.signals.active())
        await die(task)
    fake.release()

    done = await restarted(harness).execute(run_id)

    assert (done.run.status, done.run.crashes) == (RunStatus.COMPLETED, 0)
    assert not done.run.parked


@pytest.mark.every_database
async def test_an_execution_that_was_superseded_writes_nothing_more(
    harness: RunHarness, fake: FakeModel
) -> None:
    slow, fast = Probe("special"), Probe("special")
    slow.hold()
    fake.rule = lambda seen: "done" if seen.turns[-1].role == "tool" else call("special")
    old, new = restarted(harness, tools=(slow,)), restarted(harness, tools=(fast,))
    run_id = old.submit(debug_level=DebugLevel.FULL)
    lost = old.begin(run_id)
    await slow.reached()

    done = await new.execute(run_id)
    before = harness.journal(run_id)
    slow.go_on.set()
    await lost

    assert done.run.status is RunStatus.COMPLETED
    assert harness.journal(run_id) == before
    assert harness.runs.get(run_id) == done
    assert [capture.attempt for capture in harness.runs.debug(run_id)] == [1, 2]


async def test_executing_a_run_that_has_ended_does_nothing(
    harness: RunHarness, fake: FakeModel
) -> None:
    done = await harness.run()

    assert await restarted(harness).execute(done.run.run_id) == done
    assert len(fake.requests) == 1


async def test_a_run_that_waits_for_its_turn_can_be_stopped(
    harness: RunHarness, fake: FakeModel
) -> None:
    async with AsyncExitStack() as taken:
        for _ in range(harness.settings.max_active_steps):
            await taken.enter_async_context(harness.slots)
        run_id = harness.submit()
        task = harness.begin(run_id)
        await until(lambda: harness.stored(run_id).status is RunStatus.RUNNING)

        await asyncio.to_thread(harness.runs.cancel, ALICE, run_id)
        async with asyncio.timeout(30):
            await task

    assert harness.stored(run_id).status is RunStatus.CANCELLED
    assert fake.requests == []
