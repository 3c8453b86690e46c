"""The loop of a worker: bounded, woken by its topics, repeated while the database is down."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from understudy.core.bell import COMMITS, Bell
from understudy.core.errors import DatabaseUnavailable
from understudy.testing.clock import FrozenClock
from understudy.work.worker import LONGEST_DOZE_S, Claim, Worker, WorkerSleep

FOR_EVER = WorkerSleep(topics=("news",), longest_s=3600.0)


@dataclass
class Numbers:
    """Numbers that wait to be done; a failure stands for a claim that raises."""

    waiting: list[int | Exception] = field(default_factory=list)
    at_once: int = 2
    sleep: WorkerSleep = FOR_EVER
    is_all: bool = False
    claims: int = 0
    begun: list[int] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    due_at_ms: int | None = None

    def claim(self, limit: int) -> Claim[int]:
        self.claims += 1
        items: list[int] = []
        while self.waiting and len(items) < limit:
            first = self.waiting.pop(0)
            if isinstance(first, Exception):
                raise first
            items.append(first)
        return Claim(items=tuple(items), is_all=self.is_all, due_at_ms=self.due_at_ms)

    async def do(self, item: int) -> None:
        self.begun.append(item)
        await self.gate.wait()


@asynccontextmanager
async def at_work(
    duty: Numbers, *, clock: FrozenClock | None = None, doze_s: float | None = None
) -> AsyncIterator[Bell]:
    bell = Bell()
    bell.attach(asyncio.get_running_loop())
    worker = Worker(duty=duty, clock=clock or FrozenClock(), bell=bell, doze_s=doze_s)
    task = asyncio.create_task(worker.run())
    try:
        yield bell
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not is_so():  # noqa: ASYNC110 - the claim is on a thread
            await asyncio.sleep(0)


async def test_no_more_than_the_limit_is_done_at_once() -> None:
    duty = Numbers([1, 2, 3])
    async with at_work(duty):
        await until(lambda: duty.begun == [1, 2])
        assert duty.waiting == [3]
        duty.gate.set()
        await until(lambda: duty.begun == [1, 2, 3])


async def test_a_ring_ends_the_sleep() -> None:
    duty = Numbers()
    async with at_work(duty) as bell:
        await until(lambda: duty.claims == 1)
        duty.waiting.append(7)
        bell.ring("news")
        await until(lambda: duty.begun == [7])


async def test_an_outage_of_the_database_repeats_the_claim() -> None:
    duty = Numbers([DatabaseUnavailable("database_unavailable"), 1])
    async with at_work(duty):
        await until(lambda: duty.begun == [1])


async def test_a_claim_of_everything_is_followed_by_a_sleep() -> None:
    duty = Numbers([1, 2], at_once=1, is_all=True)
    duty.gate.set()
    async with at_work(duty) as bell:
        await until(lambda: duty.begun == [1])
        # The next claim comes with the ring, not before it.
        bell.ring("news")
        await until(lambda: duty.begun == [1, 2])
        assert duty.claims == 2


AT_ONCE_AGAIN = WorkerSleep(topics=(), longest_s=0.0)


async def settled() -> None:
    """Give the worker every chance to look again: its sleep takes no time."""
    for _ in range(200):
        await asyncio.sleep(0)


async def test_a_worker_alone_on_its_database_looks_again_only_after_a_commit() -> None:
    duty = Numbers(sleep=AT_ONCE_AGAIN)
    async with at_work(duty, doze_s=LONGEST_DOZE_S) as bell:
        await until(lambda: duty.claims == 1)
        await settled()
        assert duty.claims == 1
        duty.waiting.append(7)
        bell.ring(COMMITS)
        await until(lambda: duty.begun == [7])


async def test_a_worker_that_shares_its_database_looks_without_a_ring() -> None:
    duty = Numbers(sleep=AT_ONCE_AGAIN)
    async with at_work(duty):
        await until(lambda: duty.claims > 2)


async def test_a_worker_alone_on_its_database_looks_when_the_next_item_is_due() -> None:
    clock = FrozenClock()
    duty = Numbers(sleep=AT_ONCE_AGAIN, due_at_ms=clock.now_ms() + 5_000)
    async with at_work(duty, clock=clock, doze_s=LONGEST_DOZE_S):
        await until(lambda: duty.claims == 1)
        await settled()
        assert duty.claims == 1
        clock.advance(5_000)
        await until(lambda: duty.claims > 1)


async def test_a_clock_that_was_set_back_ends_the_sleep_of_a_worker_alone() -> None:
    clock = FrozenClock()
    duty = Numbers(sleep=AT_ONCE_AGAIN)
    async with at_work(duty, clock=clock, doze_s=LONGEST_DOZE_S):
        await until(lambda: duty.claims == 1)
        await settled()
        clock.advance(-60_000)
        await until(lambda: duty.claims > 1)
