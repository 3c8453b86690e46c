"""What goes on beside runs: when it is looked for something."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from time import monotonic

from understudy.core.bell import Bell
from understudy.daemon.background import (
    SUGGESTIONS_LOOK_S,
    SUGGESTIONS_SETTLE_S,
    when_settled,
)
from understudy.evolution.usage_review import REST_MS

TOPIC = "suggestions"


@asynccontextmanager
async def looking(bell: Bell, *, settle_s: float, every_s: float) -> AsyncIterator[list[float]]:
    """When somebody looked, while somebody does."""
    looks: list[float] = []
    bell.attach(asyncio.get_running_loop())
    task = asyncio.create_task(
        when_settled(
            lambda: looks.append(monotonic()), bell, TOPIC, settle_s=settle_s, every_s=every_s
        )
    )
    try:
        yield looks
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def until(looks: list[float], number: int) -> None:
    for _ in range(1_000):
        if len(looks) >= number:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(looks)


async def test_many_rings_are_answered_by_one_look_some_time_later() -> None:
    bell = Bell()
    async with looking(bell, settle_s=0.3, every_s=600) as looks:
        await until(looks, 1)
        await asyncio.sleep(0.05)
        rung = monotonic()
        for _ in range(5):
            bell.ring(TOPIC)
            await asyncio.sleep(0.01)
        await until(looks, 2)
        await asyncio.sleep(0.4)

    assert len(looks) == 2
    assert looks[1] - rung >= 0.3


async def test_a_ring_during_a_look_is_answered_by_the_next() -> None:
    bell = Bell()
    async with looking(bell, settle_s=0.1, every_s=600) as looks:
        await until(looks, 1)
        bell.ring(TOPIC)
        await until(looks, 2)
        bell.ring(TOPIC)
        await until(looks, 3)

    assert len(looks) == 3


async def test_it_is_looked_now_and_then_without_a_ring() -> None:
    async with looking(Bell(), settle_s=0.01, every_s=0.05) as looks:
        await until(looks, 3)


def test_suggestions_are_looked_for_about_a_minute_after_a_run() -> None:
    assert REST_MS / 1000 < SUGGESTIONS_SETTLE_S < 90
    assert SUGGESTIONS_LOOK_S == 15 * 60
