"""Works off a queue: claims what is due, has it done, and tries again later what failed.

A crash leaves a claim to run out; an orderly stop gives it back. Any number of daemons share one
queue, and each works in two lanes: what needs no model never waits for one that hangs.
"""

import asyncio
import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

import structlog

from understudy.core.bell import Bell
from understudy.core.clock import Clock
from understudy.core.errors import DatabaseUnavailable, UnderstudyError
from understudy.learnings.claims import LEASE_MS, ClaimLost, NeedsModel
from understudy.learnings.model import Job
from understudy.providers.structured import AT_ONCE as MODELS_AT_ONCE
from understudy.runs.db_retry import finish_despite_db_outage, retry_while_db_down
from understudy.tools.base import in_thread

if TYPE_CHECKING:
    from understudy.storage.job_queue import JobQueue
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()

# How many are under way at once where no model is asked, and where one is. The second is as many
# as a model is asked at once, so that nobody holds a claim only to stand in line.
AT_ONCE: Final = {False: 4, True: MODELS_AT_ONCE}
# Where several daemons share a database, only a look tells what another has put there.
LOOK_S: Final = 1.0
SHORTEST_SLEEP_S: Final = 0.05
# Until what a database that was away has interrupted is taken up again.
AWAY_MS: Final = 500
# Clocks of daemons may differ by a lease; who claims to hold a job for longer has lost the time.
LONGEST_LEASE_MS: Final = 2 * LEASE_MS


class Duty(Protocol):
    """What is done with the jobs of one queue."""

    @property
    def name(self) -> str:
        """How its entries in the log begin."""
        ...

    @property
    def id_name(self) -> str:
        """What the id of a job is the id of."""
        ...

    @property
    def topic(self) -> str:
        """What rings when there is more to do."""
        ...

    @property
    def waits_ms(self) -> Sequence[int]:
        """How long to wait after the first failure, the second, and so on; the last one repeats."""
        ...

    def queue(self, unit: "Unit") -> "JobQueue": ...

    def is_on(self, unit: "Unit") -> bool:
        """Whether jobs are taken at all."""
        ...

    def startup(self) -> int:
        """Queue what was left and is not queued; tells how many that were."""
        ...

    async def do(self, job: Job) -> None:
        """Do a job and take it off the queue, or raise what went wrong."""
        ...

    def is_hopeless(self, unit: "Unit", job: Job, problem: Exception) -> bool:
        """Whether trying again is no use."""
        ...

    def give_up(self, unit: "Unit", job: Job, problem: Exception) -> None:
        """Take it off the queue undone."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedJob:
    """What was taken on, and when there is more to do if that was nothing."""

    jobs: tuple[Job, ...] = ()
    due_at_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueWorker:
    """Does one duty."""

    units: "Units"
    clock: Clock
    bell: Bell
    duty: Duty
    # Alone on a machine the bell tells of everything, and nobody has to look so often.
    look_s: float = LOOK_S
    jitter: Callable[[], float] = random.SystemRandom().random
    # What is under way here: not to be taken on twice, nor to be left behind.
    held: dict[str, Job] = field(default_factory=dict, init=False)

    async def run(self) -> None:
        """Take up what was left, then work, for ever, on a bounded number at a time."""
        await retry_while_db_down(self.startup)
        try:
            async with asyncio.TaskGroup() as group:
                for may_ask in AT_ONCE:
                    group.create_task(self._work_off(may_ask=may_ask))
        finally:
            await self._give_all_back()

    def startup(self) -> int:
        """Queue what was left; tells how many that were."""
        self._mind_the_clock()
        return self.duty.startup()

    def claim(
        self, limit: int, *, may_ask: bool = False, besides: Collection[str] = ()
    ) -> ClaimedJob:
        """Take up to so many jobs of a lane that are due."""
        now = self.clock.now_ms()
        with self.units.read() as unit:
            if not self.duty.is_on(unit):
                return ClaimedJob()
            queue = self.duty.queue(unit)
            due = queue.next_due_ms(needs_model=may_ask, besides=besides)
        if due is not None and due > now + self.duty.waits_ms[-1]:
            self._mind_the_clock()
            return ClaimedJob(due_at_ms=now)
        # Claiming is a transaction that writes, so it has to be worth it.
        if limit <= 0 or due is None or due > now:
            return ClaimedJob(due_at_ms=due)
        with self.units.write() as unit:
            jobs = self.duty.queue(unit).claim(
                now_ms=now,
                until_ms=now + LEASE_MS,
                limit=limit,
                needs_model=may_ask,
                besides=besides,
            )
        return ClaimedJob(jobs=jobs, due_at_ms=due)

    async def work(self, job: Job) -> None:
        """Do one job; a failure is its own affair and holds up no other."""
        try:
            await self.duty.do(job)
        except ClaimLost:
            log.info(self._event("taken_over"), **self._named(job))
        except Exception as problem:  # noqa: BLE001 - one job must not keep others from their turn
            await self._after_failure(job, problem)
        # Who is cancelled keeps it, until it is given back.
        self.held.pop(job.job_id, None)
        # It may be due sooner than whoever sleeps expects, and to another lane.
        self.bell.ring(self.duty.topic)

    async def _work_off(self, *, may_ask: bool) -> None:
        under_way: set[asyncio.Task[None]] = set()
        most, topic = AT_ONCE[may_ask], self.duty.topic
        async with asyncio.TaskGroup() as group:
            while True:
                seen = {topic: self.bell.count(topic)}
                free, besides = most - len(under_way), tuple(self.held)
                claimed = await finish_despite_db_outage(self._take, free, may_ask, besides)
                for job in claimed.jobs:
                    task = group.create_task(self.work(job))
                    under_way.add(task)
                    task.add_done_callback(under_way.discard)
                if len(under_way) >= most:
                    await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                elif not claimed.jobs:
                    await self.bell.wait(seen, timeout_s=self._sleep_s(claimed.due_at_ms))

    def _take(self, limit: int, may_ask: bool, besides: Collection[str]) -> ClaimedJob:
        claimed = self.claim(limit, may_ask=may_ask, besides=besides)
        # Noted here, on the thread: who is cancelled meanwhile never learns what was claimed.
        self.held.update({job.job_id: job for job in claimed.jobs})
        return claimed

    async def _after_failure(self, job: Job, problem: Exception) -> None:
        self._tell(job, problem)
        try:
            await retry_while_db_down(self._put_back, job, problem)
        except Exception:
            # The claim runs out, and it is tried again then.
            log.exception(self._event("not_settled"), **self._named(job))

    def _put_back(self, job: Job, problem: Exception) -> None:
        now = self.clock.now_ms()
        with self.units.write() as unit:
            queue = self.duty.queue(unit)
            if isinstance(problem, NeedsModel):
                queue.give_back(job, due_at_ms=now, needs_model=True)
            elif isinstance(problem, DatabaseUnavailable):
                # Nothing is wrong with the job, so it is no attempt.
                queue.give_back(job, due_at_ms=now + AWAY_MS)
            elif not queue.holds(job):
                return
            elif self.duty.is_hopeless(unit, job, problem):
                self.duty.give_up(unit, job, problem)
            else:
                due = now + self._wait_ms(job.attempts)
                queue.retry(job, due_at_ms=due, error=code_of(problem))

    async def _give_all_back(self) -> None:
        """Leave what is under way to the next worker, as if it had never been taken."""
        left = tuple(self.held.values())
        self.held.clear()
        if not left:
            return
        try:
            await in_thread(self._release, left)
        except Exception:
            # The claims run out.
            log.exception(self._event("not_given_back"), number=len(left))

    def _release(self, jobs: Collection[Job]) -> None:
        with self.units.write() as unit:
            # In the order of their ids, as all do who hold several.
            for job in sorted(jobs, key=lambda it: it.job_id):
                self.duty.queue(unit).give_back(job, due_at_ms=self.clock.now_ms())

    def _mind_the_clock(self) -> None:
        """Have those due now that a clock which was set back has put off for too long."""
        now = self.clock.now_ms()
        with self.units.write() as unit:
            pulled = self.duty.queue(unit).pull_back(
                now_ms=now,
                waiting_until_ms=now + self.duty.waits_ms[-1],
                held_until_ms=now + LONGEST_LEASE_MS,
            )
        if pulled:
            log.warning(self._event("clock_went_back"), number=pulled)

    def _wait_ms(self, attempts: int) -> int:
        waits = self.duty.waits_ms
        # Half of it is random, so that those that failed together do not come back together.
        return round(waits[min(attempts, len(waits) - 1)] * (0.5 + self.jitter() / 2))

    def _sleep_s(self, due_at_ms: int | None) -> float:
        if due_at_ms is None:
            return self.look_s
        seconds = (due_at_ms - self.clock.now_ms()) / 1000
        return min(max(seconds, SHORTEST_SLEEP_S), self.look_s)

    def _tell(self, job: Job, problem: Exception) -> None:
        if isinstance(problem, NeedsModel):
            return
        known = isinstance(problem, UnderstudyError)
        tell = log.warning if known else log.error
        tell(
            self._event("failed"),
            **self._named(job),
            attempt=job.attempts + 1,
            reason=code_of(problem),
            exc_info=None if known else problem,
        )

    def _event(self, what: str) -> str:
        return f"{self.duty.name}.{what}"

    def _named(self, job: Job) -> dict[str, str]:
        return {self.duty.id_name: job.job_id}


def code_of(problem: Exception) -> str:
    """A failure in one word."""
    return problem.code if isinstance(problem, UnderstudyError) else type(problem).__name__
