"""Stopping a run: the work is cancelled, and has really ended before anybody goes on."""

import asyncio
import threading

import pytest

from understudy.runs.model import StopRequest
from understudy.runs.stops import (
    RunTakenOver,
    Stopped,
    StopSignal,
    StopSignals,
    watch_stop_requests,
)

CANCEL, INTERRUPT = StopRequest.CANCEL, StopRequest.INTERRUPT


async def test_work_that_nobody_stops_gives_its_result() -> None:
    async def work() -> str:
        await asyncio.sleep(0)
        return "done"

    assert await StopSignal().guard(work()) == "done"


async def test_a_failure_of_the_work_is_its_own() -> None:
    async def work() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await StopSignal().guard(work())


async def test_a_stop_waits_until_the_work_has_really_ended() -> None:
    signal, events = StopSignal(), []

    async def work() -> None:
        events.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)
            events.append("cleaned up")

    guarded = asyncio.create_task(signal.guard(work()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    signal.set(INTERRUPT)

    with pytest.raises(Stopped) as stopped:
        await guarded
    assert events == ["begun", "cleaned up"]
    assert stopped.value.how is INTERRUPT


async def test_work_that_finishes_despite_the_stop_keeps_its_result() -> None:
    signal = StopSignal()

    async def work() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "finished all the same"
        return "never"

    guarded = asyncio.create_task(signal.guard(work()))
    await asyncio.sleep(0.01)
    signal.set(CANCEL)

    assert await guarded == "finished all the same"
    with pytest.raises(Stopped):
        signal.check()


async def test_a_stop_that_came_before_lets_the_work_not_even_begin() -> None:
    signal, begun = StopSignal(), []
    signal.set(CANCEL)

    async def work() -> None:
        begun.append(True)

    with pytest.raises(Stopped):
        await signal.guard(work())
    assert begun == []


async def test_being_cancelled_from_outside_also_waits_for_the_work() -> None:
    signal, events = StopSignal(), []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)
            events.append("cleaned up")

    guarded = asyncio.create_task(signal.guard(work()))
    await asyncio.sleep(0.01)
    guarded.cancel()

    with pytest.raises(asyncio.CancelledError):
        await guarded
    assert events == ["cleaned up"]


async def test_a_task_goes_on_after_its_work_was_stopped() -> None:
    signal = StopSignal()

    async def go_on() -> int:
        with pytest.raises(Stopped):
            await signal.guard(asyncio.Event().wait())
        await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        return task.cancelling()

    going_on = asyncio.create_task(go_on())
    await asyncio.sleep(0)
    signal.set(CANCEL)

    assert await going_on == 0


async def test_being_cancelled_from_outside_counts_beside_a_stop() -> None:
    signal = StopSignal()
    guarded = asyncio.create_task(signal.guard(asyncio.Event().wait()))
    await asyncio.sleep(0)
    signal.set(CANCEL)
    guarded.cancel()

    with pytest.raises(asyncio.CancelledError):
        await guarded


@pytest.mark.parametrize("answer", ["a result", ValueError("broken")])
async def test_being_cancelled_from_outside_counts_whatever_the_work_makes_of_it(
    answer: str | Exception,
) -> None:
    async def work() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if isinstance(answer, Exception):
                raise answer from None
            return answer
        return "never"

    guarded = asyncio.create_task(StopSignal().guard(work()))
    await asyncio.sleep(0)
    guarded.cancel()

    with pytest.raises(asyncio.CancelledError):
        await guarded


async def test_a_newer_execution_does_not_interrupt_how_stopped_work_ends() -> None:
    signal, is_ending, may_end, ended = StopSignal(), asyncio.Event(), asyncio.Event(), []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            is_ending.set()
            await may_end.wait()
            ended.append(True)

    guarded = asyncio.create_task(signal.guard(work()))
    await asyncio.sleep(0)
    signal.set(CANCEL)
    await is_ending.wait()
    signal.supersede()
    await asyncio.sleep(0)
    may_end.set()

    with pytest.raises(RunTakenOver):
        await guarded
    assert ended == [True]


def test_the_first_wish_counts() -> None:
    signal = StopSignal()

    signal.set(INTERRUPT)
    signal.set(CANCEL)

    assert signal.how is INTERRUPT
    with pytest.raises(Stopped) as stopped:
        signal.check()
    assert stopped.value.how is INTERRUPT


def test_without_a_wish_nothing_is_raised() -> None:
    StopSignal().check()


async def test_a_stop_may_be_asked_for_from_any_thread() -> None:
    signals = StopSignals()
    signal = signals.open("r1")

    guarded = asyncio.create_task(signal.guard(asyncio.sleep(60)))
    thread = threading.Thread(target=signals.request, args=("r1", CANCEL))
    thread.start()

    with pytest.raises(Stopped):
        await guarded
    thread.join()


async def test_a_run_that_is_not_here_cannot_be_stopped_here() -> None:
    signals = StopSignals()
    signals.close("r1", signals.open("r1"))

    signals.request("r1", CANCEL)
    signals.request("r2", CANCEL)

    assert signals.active() == ()


async def test_stop_requests_of_other_processes_are_carried_over() -> None:
    signals = StopSignals()
    mine = signals.open("r1")
    asked: list[tuple[str, ...]] = []

    def look(run_ids: tuple[str, ...]) -> dict[str, StopRequest]:
        asked.append(run_ids)
        return {"r1": INTERRUPT} if len(asked) > 1 else {}

    watching = asyncio.create_task(watch_stop_requests(signals, look, every_s=0.001))
    with pytest.raises(Stopped):
        await mine.guard(asyncio.sleep(60))
    watching.cancel()

    assert set(asked) == {("r1",)}


async def test_a_newer_execution_keeps_its_signal_when_the_older_one_leaves() -> None:
    signals = StopSignals()
    older = signals.open("r1")
    newer = signals.open("r1")

    signals.close("r1", older)
    signals.request("r1", CANCEL)
    await asyncio.sleep(0)

    assert older.is_superseded
    assert newer.how is CANCEL
    assert signals.active() == ("r1",)
