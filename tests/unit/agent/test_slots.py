"""A bounded number of calls at once, and how they come to rest."""

import asyncio

from understudy.agent.model_call import Slots


async def hold(slots: Slots, release: asyncio.Event, log: list[str], name: str) -> None:
    async with slots:
        log.append(f"{name} in")
        await release.wait()
        log.append(f"{name} out")


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_no_more_than_the_limit_are_inside() -> None:
    slots, release, log = Slots(2), asyncio.Event(), list[str]()
    tasks = [asyncio.create_task(hold(slots, release, log, name)) for name in "abc"]
    await settle()

    assert log == ["a in", "b in"]
    release.set()
    await asyncio.gather(*tasks)
    assert sorted(log) == ["a in", "a out", "b in", "b out", "c in", "c out"]


async def test_draining_an_empty_house_is_done_at_once() -> None:
    assert await Slots(1).drain(timeout_s=0.01)


async def test_draining_waits_for_those_inside_and_lets_nobody_in() -> None:
    slots, release, log = Slots(1), asyncio.Event(), list[str]()
    inside = asyncio.create_task(hold(slots, release, log, "inside"))
    queued = asyncio.create_task(hold(slots, release, log, "queued"))
    await settle()

    draining = asyncio.create_task(slots.drain(timeout_s=5))
    await settle()
    late = asyncio.create_task(hold(slots, release, log, "late"))
    await settle()
    assert not draining.done()
    release.set()

    assert await draining
    await inside
    await settle()
    assert log == ["inside in", "inside out"]
    for task in (queued, late):
        assert not task.done()
        task.cancel()


async def test_a_drain_that_takes_too_long_says_so() -> None:
    slots, log = Slots(1), list[str]()
    inside = asyncio.create_task(hold(slots, asyncio.Event(), log, "inside"))
    await settle()

    assert not await slots.drain(timeout_s=0.01)
    inside.cancel()


async def test_a_place_is_given_back_when_the_work_fails() -> None:
    slots = Slots(1)
    try:
        async with slots:
            raise ValueError
    except ValueError:
        pass

    async with asyncio.timeout(20), slots:
        pass
    assert await slots.drain(timeout_s=0.01)


async def test_who_only_waited_for_a_place_and_was_cancelled_takes_none() -> None:
    slots, release, log = Slots(1), asyncio.Event(), list[str]()
    first = asyncio.create_task(hold(slots, release, log, "first"))
    second = asyncio.create_task(hold(slots, release, log, "second"))
    await settle()
    second.cancel()
    release.set()
    await first

    async with asyncio.timeout(20), slots:
        pass
