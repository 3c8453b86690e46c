"""The line before the content guard: it refuses rather than blocks."""

import asyncio
from contextlib import ExitStack

import pytest

from understudy.api.problems import refusal_of
from understudy.api.scan_queue import AT_ONCE, MAX_IN_ALL, MAX_OF_ONE, ScanQueue
from understudy.core.errors import LimitExceeded, Unavailable


def test_one_user_may_wait_so_often() -> None:
    queue = ScanQueue()
    with ExitStack() as stack:
        for _ in range(MAX_OF_ONE):
            stack.enter_context(queue.place("ann"))
        with pytest.raises(LimitExceeded) as refused:
            stack.enter_context(queue.place("ann"))
        stack.enter_context(queue.place("bob"))
    assert refusal_of(refused.value).status == 429
    assert not queue.by_user


def test_a_full_line_is_not_waited_for() -> None:
    queue = ScanQueue()
    with ExitStack() as stack:
        for number in range(MAX_IN_ALL):
            stack.enter_context(queue.place(f"user-{number}"))
        with pytest.raises(Unavailable) as refused:
            stack.enter_context(queue.place("late"))
    answer = refusal_of(refused.value).response()
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")


async def test_few_have_their_turn_at_once() -> None:
    queue, held, most = ScanQueue(), 0, 0

    async def scan() -> None:
        nonlocal held, most
        async with queue.turn():
            held += 1
            most = max(most, held)
            await asyncio.sleep(0)
            held -= 1

    await asyncio.gather(*(scan() for _ in range(10)))
    assert most == AT_ONCE
