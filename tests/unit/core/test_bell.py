"""The bell wakes those who wait, and a ring between a look and a wait is not missed."""

import asyncio
import threading
import time

from understudy.core.bell import FIRST_LOOK_S, RELEASED, Bell

SOON_S = 5.0


def attached() -> Bell:
    bell = Bell()
    bell.attach(asyncio.get_running_loop())
    return bell


async def took(bell: Bell, seen: dict[str, int], *, timeout_s: float = SOON_S) -> float:
    began = time.monotonic()
    await bell.wait(seen, timeout_s=timeout_s)
    return time.monotonic() - began


async def test_a_ring_wakes_whoever_waits_for_the_topic() -> None:
    bell = attached()
    waiting = asyncio.create_task(took(bell, {"a": bell.count("a")}))
    await asyncio.sleep(0)

    bell.ring("a")

    assert await waiting < SOON_S


async def test_a_ring_between_the_look_and_the_wait_is_not_missed() -> None:
    bell = attached()
    seen = {"a": bell.count("a")}

    bell.ring("a")
    await asyncio.sleep(0.01)

    assert await took(bell, seen) < SOON_S


async def test_one_of_several_topics_is_enough() -> None:
    bell = attached()
    waiting = asyncio.create_task(took(bell, {"a": 0, "b": 0}))
    await asyncio.sleep(0)

    bell.ring("b")

    assert await waiting < SOON_S


async def test_another_topic_wakes_nobody() -> None:
    bell = attached()
    bell.ring("b")

    assert await took(bell, {"a": 0}, timeout_s=0.05) >= 0.05


async def test_a_ring_may_come_from_any_thread() -> None:
    bell = attached()
    waiting = asyncio.create_task(took(bell, {"a": 0}))
    await asyncio.sleep(0)

    thread = threading.Thread(target=bell.ring, args=("a",))
    thread.start()

    assert await waiting < SOON_S
    thread.join()


async def test_everybody_who_waits_is_woken() -> None:
    bell = attached()
    waiting = [asyncio.create_task(took(bell, {"a": 0})) for _ in range(20)]
    await asyncio.sleep(0)

    bell.ring("a")

    assert max(await asyncio.gather(*waiting)) < SOON_S


async def test_a_follower_that_looks_then_waits_sees_every_item() -> None:
    bell = attached()
    items: list[int] = []

    def write() -> None:
        for number in range(500):
            items.append(number)
            bell.ring("items")

    thread = threading.Thread(target=write)
    thread.start()
    read = 0
    while read < 500:
        count = bell.count("items")
        fresh = len(items) - read
        read += fresh
        if not fresh:
            assert await took(bell, {"items": count}) < SOON_S
    thread.join()


async def test_nobody_is_remembered_after_the_wait() -> None:
    bell = attached()

    await bell.wait({"a": 0}, timeout_s=0.01)

    assert bell._waiting == {}


def test_ringing_before_anybody_could_hear_does_no_harm() -> None:
    bell = Bell()

    bell.ring("a")

    assert bell.count("a") == 0


def test_ringing_after_the_loop_has_closed_does_no_harm() -> None:
    bell = Bell()
    loop = asyncio.new_event_loop()
    bell.attach(loop)
    loop.close()

    bell.ring("a")

    assert bell.count("a") == 0


async def rung_after(bell: Bell, notes: int = 1) -> float:
    """How long after some readers found events held back they are woken, all by one ring."""
    seen = bell.count(RELEASED)
    for _ in range(notes):
        bell.note_feed(is_held=True)
    took_s = await took(bell, {RELEASED: seen})
    assert bell.count(RELEASED) == seen + 1
    return took_s


async def test_readers_look_later_each_time_for_what_is_held_back() -> None:
    bell = attached()

    for delay in (FIRST_LOOK_S, 2 * FIRST_LOOK_S, 4 * FIRST_LOOK_S):
        assert delay <= await rung_after(bell, notes=3) < SOON_S


async def test_nobody_is_woken_where_nothing_is_held_back() -> None:
    bell = attached()

    bell.note_feed(is_held=False)

    assert await took(bell, {RELEASED: 0}, timeout_s=0.05) >= 0.05
