"""The one loop of every background worker: claim what is due, do it, sleep until more is due."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Generic, NoReturn, Protocol, TypeVar

from understudy.core.bell import COMMITS, TABLE, Bell
from understudy.core.clock import Clock
from understudy.work.db_retry import finish_despite_db_outage

T = TypeVar("T")

SHORTEST_SLEEP_S: Final = 0.05
# How often a worker polls although nothing was committed: in case a ring was lost.
LONGEST_DOZE_S: Final = 30.0
# The same where other daemons commit, too: what they announce can be lost.
SHARED_DOZE_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSleep:
    """How long a worker sleeps when nothing is due, and what wakes it earlier."""

    # Bell topics that end the sleep. Most are not rung for other daemons: `longest_s` bounds their delay.
    topics: tuple[str, ...]
    longest_s: float
    # The tables of which a change may make something due. Empty: any commit may.
    tables: tuple[str, ...] = ()
    shortest_s: float = SHORTEST_SLEEP_S
    # Minimum sleep before a topic is heard, so that one poll serves many rings.
    pause_s: float = 0.0

    @property
    def news(self) -> tuple[str, ...]:
        """Bell topics without which a poll finds nothing new."""
        return tuple(map(TABLE.format, self.tables)) or (COMMITS,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(Generic[T]):
    """The items that a worker has claimed, and how it sleeps when there are none."""

    items: tuple[T, ...] = ()
    # When the next item is due; None when none is known.
    due_at_ms: int | None = None
    # Replaces the duty's own sleep; its topics and tables are a subset of the duty's.
    sleep: WorkerSleep | None = None
    # Whether to sleep after these items instead of claiming more at once.
    is_all: bool = False


class Duty(Protocol[T]):
    """One kind of background work: how its items are claimed and done, and its limits."""

    @property
    def at_once(self) -> int:
        """How many items are done concurrently."""
        ...

    @property
    def sleep(self) -> WorkerSleep: ...

    def claim(self, limit: int, /) -> Claim[T]:
        """Claim up to `limit` due items, on a thread; repeated while the database is down.

        Work that fits into the transaction of the claim is done here, and leaves no item.
        """
        ...

    async def do(self, item: T, /) -> None:
        """Do one claimed item; a failure is handled here, or it ends the worker."""
        ...


@dataclass(frozen=True, slots=True)
class TimedLook:
    """A duty that is done within its claim; `look` returns when it is due again, if known."""

    at_once: ClassVar[int] = 1

    look: Callable[[], int | None]
    sleep: WorkerSleep

    def claim(self, _: int) -> Claim[NoReturn]:
        """Do everything that is due."""
        return Claim(due_at_ms=self.look())

    async def do(self, item: NoReturn) -> None:
        """Never called: `claim` leaves no item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker(Generic[T]):
    """Does one duty for as long as its task runs; any number of daemons share the items."""

    duty: Duty[T]
    clock: Clock
    bell: Bell
    # How long it may sleep on without news, as every commit to the database rings here; None: not.
    doze_s: float | None = None

    async def run(self) -> None:
        """Claim and do items for ever, a bounded number at a time."""
        at_once = self.duty.at_once
        running: set[asyncio.Task[None]] = set()
        async with asyncio.TaskGroup() as group:
            while True:
                # Counted before the claim: a ring during the claim must not be missed.
                sleep = self.duty.sleep
                seen = {topic: self.bell.count(topic) for topic in (*sleep.topics, *sleep.news)}
                claim = await finish_despite_db_outage(self.duty.claim, at_once - len(running))
                for item in claim.items:
                    task = group.create_task(self.duty.do(item))
                    running.add(task)
                    task.add_done_callback(running.discard)
                is_full = len(running) >= at_once
                if is_full:
                    await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                if claim.is_all or not (is_full or claim.items):
                    await self._sleep(claim, seen)

    async def _sleep(self, claim: Claim[T], seen: Mapping[str, int]) -> None:
        sleep = claim.sleep or self.duty.sleep
        seconds = sleep.longest_s
        if claim.due_at_ms is not None:
            due_in_s = (claim.due_at_ms - self.clock.now_ms()) / 1000
            seconds = min(max(due_in_s, sleep.shortest_s), sleep.longest_s)
        if sleep.pause_s:
            await asyncio.sleep(sleep.pause_s)
        heard = {topic: seen[topic] for topic in sleep.topics}
        await self.bell.wait(heard, timeout_s=seconds - sleep.pause_s)
        if self.doze_s is not None:
            news = {topic: seen[topic] for topic in sleep.news}
            ends_at = self.clock.now_ms() + round(self.doze_s * 1000)
            await self._doze(claim, heard | news, ends_at, every_s=sleep.longest_s)

    async def _doze(
        self, claim: Claim[T], seen: Mapping[str, int], ends_at: int, *, every_s: float
    ) -> None:
        """Sleep on while there is no news: the last poll still holds.

        The clock is read now and then, because it may be set, or the machine suspended.
        """
        before = self.clock.now_ms()
        if claim.due_at_ms is not None:
            ends_at = min(ends_at, claim.due_at_ms)
        while all(self.bell.count(topic) == count for topic, count in seen.items()):
            now = self.clock.now_ms()
            if not before <= now < ends_at:
                return
            before = now
            await self.bell.wait(seen, timeout_s=min(every_s, (ends_at - now) / 1000))
