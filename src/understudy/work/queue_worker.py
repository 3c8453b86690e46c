"""The worker of a job queue: claims jobs under a lease, does them, retries with back-off.

After a crash the lease runs out; an orderly shutdown gives the jobs back. Any number of daemons share
a queue. Each works in two lanes, so a job that needs no model never waits for a model that hangs.
"""

import asyncio
import random
import secrets
import threading
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import structlog

from understudy.core.bell import Bell
from understudy.core.clock import Clock
from understudy.core.errors import DatabaseUnavailable, UnderstudyError
from understudy.providers.structured import AT_ONCE as MODELS_AT_ONCE
from understudy.tools.base import in_thread
from understudy.work.db_retry import retry_while_db_down
from understudy.work.worker import Claim, Worker, WorkerSleep

if TYPE_CHECKING:
    from understudy.storage.job_queue import JobQueue
    from understudy.storage.unit import Unit, Units


log = structlog.get_logger()

T = TypeVar("T")

LEASE_MS: Final = 8_000
# Random bytes in a claim.
CLAIM_BYTES: Final = 16
RENEWED_EVERY_S: Final = 2.5

# Concurrent jobs in the lane without a model and in the lane with one. The second is the number of
# concurrent model calls, so no job holds a lease only to wait for its call.
AT_ONCE: Final = {False: 4, True: MODELS_AT_ONCE}
# Another daemon on the same database does not ring for a job, so the queue is polled after commits.
LOOK_S: Final = 1.0
# Delay before a job that a database outage interrupted is tried again.
AWAY_MS: Final = 500
# Clocks of daemons may differ by a lease; a longer lease was written by a clock that was set back.
LONGEST_LEASE_MS: Final = 2 * LEASE_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job of a queue that a worker has claimed: a candidate to review, a run to learn from."""

    job_id: str
    # How many times it was tried before.
    attempts: int
    # Proof of the claim: only the worker that holds it may settle the job.
    claim: str
    # Whether it was claimed from the lane of jobs that need a model.
    may_ask: bool = False
    # Whether the row was inserted under this claim by its producer, which happens only once.
    is_handed_over: bool = False
    # What who handed it over knows of it, so that the duty need not read it.
    brought: object = None


class ClaimLost(Exception):
    """Another worker holds the job now; the result of this one does not count."""


class NeedsModel(Exception):
    """The job needs a model, and was claimed from the lane without one."""


async def while_held(
    work: Coroutine[Any, Any, T],
    extend: Callable[[], bool],
    *,
    to_the_end: bool = False,
    every_s: float = RENEWED_EVERY_S,
) -> T:
    """Do slow work and renew the lease of its job, so that leases can be short.

    When the lease is lost, the work is cancelled and `ClaimLost` raised; with `to_the_end` it is
    finished, because its result is worth keeping whoever holds the job.
    """
    task = asyncio.create_task(work)
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=every_s)
            if task.done() or await retry_while_db_down(extend):
                continue
            if not to_the_end:
                raise ClaimLost
            return await task
        return task.result()
    finally:
        task.cancel()


class QueueDuty(Protocol):
    """How the jobs of one queue are done."""

    @property
    def name(self) -> str:
        """First part of its log events."""
        ...

    @property
    def id_name(self) -> str:
        """Name of a job's id in log events."""
        ...

    @property
    def topic(self) -> str:
        """Bell topic that rings when a job is queued."""
        ...

    @property
    def waits_ms(self) -> Sequence[int]:
        """Back-off after the first failure, the second, and so on; the last one repeats."""
        ...

    def queue(self, unit: "Unit") -> "JobQueue": ...

    def is_on(self, unit: "Unit") -> bool:
        """Whether jobs are claimed at all."""
        ...

    def startup(self) -> int:
        """Queue the work that a previous daemon left; returns the number of jobs."""
        ...

    async def do(self, job: Job) -> None:
        """Do a job and delete it from the queue, or raise."""
        ...

    def is_hopeless(self, unit: "Unit", job: Job, problem: Exception) -> bool:
        """Whether a retry is pointless."""
        ...

    def give_up(self, unit: "Unit", job: Job, problem: Exception) -> None:
        """Delete the job from the queue without having done it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueWorker:
    """Works off the queue of one duty."""

    units: "Units"
    clock: Clock
    bell: Bell
    duty: QueueDuty
    # A daemon that is alone on its database hears every ring, and polls less often.
    look_s: float = LOOK_S
    # See `Worker`.
    doze_s: float | None = None
    jitter: Callable[[], float] = random.SystemRandom().random
    # Jobs claimed by this worker: never claimed twice, given back at shutdown.
    held: dict[str, Job] = field(default_factory=dict, init=False)
    # Jobs of `held` that were handed over with their claim and that no lane has taken yet.
    handed: dict[bool, deque[Job]] = field(
        default_factory=lambda: {may_ask: deque() for may_ask in AT_ONCE}, init=False
    )
    # When the next job of a lane is due, as of the last poll.
    due: dict[bool, int | None] = field(default_factory=dict, init=False)
    # Ring count of the topic before that poll, and when the poll was.
    looked: dict[bool, tuple[int, int]] = field(default_factory=dict, init=False)
    is_open: threading.Event = field(default_factory=threading.Event, init=False)

    async def run(self) -> None:
        """Queue what was left, then do jobs in both lanes for ever."""
        await retry_while_db_down(self.startup)
        self.is_open.set()
        try:
            async with asyncio.TaskGroup() as group:
                for may_ask in AT_ONCE:
                    lane = Lane(self, may_ask=may_ask)
                    worker = Worker(duty=lane, clock=self.clock, bell=self.bell, doze_s=self.doze_s)
                    group.create_task(worker.run())
        finally:
            self.is_open.clear()
            await self._give_all_back()

    def new_claim(self, job_id: str, *, may_ask: bool, brought: object = None) -> Job | None:
        """A claim for a job that is about to be queued; None where its lane has no room.

        The job is inserted under the claim and handed over after the commit, so no poll is needed.
        Should this daemon die first, the lease runs out.
        """
        waiting = sum(job.may_ask is may_ask for job in tuple(self.held.values()))
        if waiting >= AT_ONCE[may_ask] or not self.is_open.is_set():
            return None
        claim = secrets.token_hex(CLAIM_BYTES)
        return Job(
            job_id=job_id,
            attempts=0,
            claim=claim,
            may_ask=may_ask,
            is_handed_over=True,
            brought=brought,
        )

    def hand_over(self, job: Job) -> None:
        """Do a job that was inserted under its claim; may be called from any thread."""
        self.held[job.job_id] = job
        self.handed[job.may_ask].append(job)
        self.bell.ring(lane_topic(self.duty.topic, may_ask=job.may_ask))

    def startup(self) -> int:
        """Queue the work that a previous daemon left; returns the number of jobs."""
        self._undo_clock_jump()
        return self.duty.startup()

    def claim(self, limit: int, *, may_ask: bool = False) -> Claim[Job]:
        """Claim up to `limit` due jobs of a lane."""
        handed = self.handed[may_ask]
        taken = tuple(handed.popleft() for _ in range(min(limit, len(handed))))
        if taken and not self._must_look(may_ask=may_ask):
            return Claim(items=taken, due_at_ms=self.due.get(may_ask), is_all=not handed)
        found = self._claim_queued(limit - len(taken), may_ask=may_ask)
        return replace(found, items=(*taken, *found.items))

    def _must_look(self, *, may_ask: bool) -> bool:
        """Whether the queue may have a due job: handed-over jobs must not starve it."""
        now, due = self.clock.now_ms(), self.due.get(may_ask)
        rings, at_ms = self.looked.get(may_ask, (-1, now))
        is_fresh = 0 <= now - at_ms < self.look_s * 1000
        is_due = due is not None and due <= now
        return is_due or not is_fresh or rings != self.bell.count(self.duty.topic)

    def _claim_queued(self, limit: int, *, may_ask: bool) -> Claim[Job]:
        now, besides = self.clock.now_ms(), tuple(self.held)
        # Counted before the poll: a ring during the poll must not be missed.
        self.looked[may_ask] = (self.bell.count(self.duty.topic), now)
        with self.units.read() as unit:
            if not self.duty.is_on(unit):
                return Claim()
            queue = self.duty.queue(unit)
            due = queue.next_due_ms(needs_model=may_ask, besides=besides)
        self.due[may_ask] = due
        if due is not None and due > now + self.duty.waits_ms[-1]:
            self._undo_clock_jump()
            return Claim(due_at_ms=now)
        # A claim is a write transaction: only when a job is due.
        if limit <= 0 or due is None or due > now:
            return Claim(due_at_ms=due)
        with self.units.write() as unit:
            jobs = self.duty.queue(unit).claim(
                now_ms=now,
                until_ms=now + LEASE_MS,
                limit=limit,
                needs_model=may_ask,
                besides=besides,
            )
        return Claim(items=jobs, due_at_ms=due)

    async def work(self, job: Job) -> None:
        """Do one job; a failure does not affect the others."""
        is_over = False
        try:
            await self.duty.do(job)
            is_over = job.is_handed_over
        except ClaimLost:
            log.info(self._event("taken_over"), **self._id_of(job))
        except Exception as problem:  # noqa: BLE001 - a job that fails must not end the worker
            await self._after_failure(job, problem)
        # A cancelled job stays in `held` until it is given back.
        self.held.pop(job.job_id, None)
        # The job may be due again earlier than a sleeping lane expects, and in the other lane.
        if not is_over:
            self.bell.ring(self.duty.topic)

    async def _after_failure(self, job: Job, problem: Exception) -> None:
        if not isinstance(problem, NeedsModel):
            known = isinstance(problem, UnderstudyError)
            tell = log.warning if known else log.error
            tell(
                self._event("failed"),
                **self._id_of(job),
                attempt=job.attempts + 1,
                reason=code_of(problem),
                exc_info=None if known else problem,
            )
        try:
            await retry_while_db_down(self._put_back, job, problem)
        except Exception:
            # The lease runs out, and then the job is retried.
            log.exception(self._event("not_settled"), **self._id_of(job))

    def _put_back(self, job: Job, problem: Exception) -> None:
        now = self.clock.now_ms()
        with self.units.write() as unit:
            queue = self.duty.queue(unit)
            if isinstance(problem, NeedsModel):
                queue.give_back(job, due_at_ms=now, needs_model=True)
            elif isinstance(problem, DatabaseUnavailable):
                # Nothing is wrong with the job, so this does not count as an attempt.
                queue.give_back(job, due_at_ms=now + AWAY_MS)
            elif not queue.holds(job):
                return
            elif self.duty.is_hopeless(unit, job, problem):
                self.duty.give_up(unit, job, problem)
            else:
                waits = self.duty.waits_ms
                # Half of the back-off is random: jobs that failed together do not return together.
                wait = waits[min(job.attempts, len(waits) - 1)] * (0.5 + self.jitter() / 2)
                queue.retry(job, due_at_ms=now + round(wait), error=code_of(problem))

    async def _give_all_back(self) -> None:
        """Give the claimed jobs back at shutdown, without an attempt counted."""
        left = tuple(self.held.values())
        self.held.clear()
        for handed in self.handed.values():
            handed.clear()
        if not left:
            return
        try:
            await in_thread(self._release, left)
        except Exception:
            # The leases run out.
            log.exception(self._event("not_given_back"), number=len(left))

    def _release(self, jobs: Collection[Job]) -> None:
        with self.units.write() as unit:
            # Rows are locked in the order of their ids everywhere, against deadlocks.
            for job in sorted(jobs, key=lambda it: it.job_id):
                self.duty.queue(unit).give_back(job, due_at_ms=self.clock.now_ms())

    def _undo_clock_jump(self) -> None:
        """Make jobs due now that are due too far ahead, because the clock was set back."""
        now = self.clock.now_ms()
        with self.units.write() as unit:
            pulled = self.duty.queue(unit).pull_back(
                now_ms=now,
                waiting_until_ms=now + self.duty.waits_ms[-1],
                held_until_ms=now + LONGEST_LEASE_MS,
            )
        if pulled:
            log.warning(self._event("clock_went_back"), number=pulled)

    def _event(self, what: str) -> str:
        return f"{self.duty.name}.{what}"

    def _id_of(self, job: Job) -> dict[str, str]:
        return {self.duty.id_name: job.job_id}


@dataclass(frozen=True, slots=True)
class Lane:
    """One lane of a queue as the duty of a worker."""

    worker: QueueWorker
    _: KW_ONLY
    may_ask: bool

    @property
    def at_once(self) -> int:
        """As many jobs as the lane does concurrently."""
        return AT_ONCE[self.may_ask]

    @property
    def sleep(self) -> WorkerSleep:
        """Until the next job is due, or one is queued."""
        topic = self.worker.duty.topic
        topics = (topic, lane_topic(topic, may_ask=self.may_ask))
        return WorkerSleep(topics=topics, longest_s=self.worker.look_s)

    def claim(self, limit: int) -> Claim[Job]:
        """Claim due jobs of the lane, and note them as held."""
        claim = self.worker.claim(limit, may_ask=self.may_ask)
        # On this thread: a worker that is cancelled meanwhile never sees the claim.
        self.worker.held.update({job.job_id: job for job in claim.items})
        return claim

    async def do(self, job: Job) -> None:
        """Do one job of the lane."""
        await self.worker.work(job)


def lane_topic(topic: str, *, may_ask: bool) -> str:
    """The bell topic that rings when a job is handed to one lane."""
    return f"{topic}:{'model' if may_ask else 'labels'}"


def code_of(problem: Exception) -> str:
    """The code of a failure, or the name of its class."""
    return problem.code if isinstance(problem, UnderstudyError) else type(problem).__name__
