"""Holding on to a claim while something slow is under way."""

import asyncio

import pytest

from understudy.work.queue_worker import LEASE_MS, RENEWED_EVERY_S, ClaimLost, while_held


async def test_a_claim_is_renewed_for_as_long_as_the_work_takes() -> None:
    renewed, over = [], asyncio.Event()

    def extend() -> bool:
        renewed.append(True)
        if len(renewed) == 3:
            loop.call_soon_threadsafe(over.set)
        return True

    async def work() -> str:
        await over.wait()
        return "done"

    loop = asyncio.get_running_loop()
    assert await while_held(work(), extend, every_s=0.001) == "done"
    assert len(renewed) >= 3


async def test_work_whose_claim_is_lost_is_ended() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(ClaimLost):
        await while_held(work(), lambda: False, every_s=0.001)
    async with asyncio.timeout(5):
        await ended.wait()


async def test_what_the_work_raises_comes_out() -> None:
    async def work() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await while_held(work(), lambda: True)


async def test_whoever_stops_waiting_stops_the_work() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    waiting = asyncio.create_task(while_held(work(), lambda: True))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    async with asyncio.timeout(5):
        await ended.wait()


def test_a_claim_outlasts_a_renewal_that_failed_once() -> None:
    assert 2 * RENEWED_EVERY_S * 1000 < LEASE_MS


async def test_what_is_worth_keeping_is_finished_when_the_claim_is_lost() -> None:
    lost, asked = asyncio.Event(), []

    def extend() -> bool:
        asked.append(True)
        loop.call_soon_threadsafe(lost.set)
        return False

    async def work() -> str:
        await lost.wait()
        await asyncio.sleep(0.01)
        return "done"

    loop = asyncio.get_running_loop()
    assert await while_held(work(), extend, to_the_end=True, every_s=0.001) == "done"
    assert len(asked) == 1
