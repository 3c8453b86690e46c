"""Job queues: each job at most once, claimed under a lease by one worker of any daemon."""

import secrets
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any, Final

import sqlalchemy as sa

from understudy.storage.engine import Dialect
from understudy.storage.rows import INSERTS
from understudy.storage.visible_connection import VisibleConnection
from understudy.work.queue_worker import CLAIM_BYTES, LEASE_MS, Job

# The columns of a job that nobody has tried.
ANEW: Final = {"attempts": 0, "claim": None, "again_at_ms": None, "needs_model": False}


class JobQueue:
    """Jobs by the id of their subject, each at most once; any number of daemons share the queue.

    It has two lanes, so that a job without a model call never waits for one that needs it. A worker
    of the first lane that finds a model call necessary gives the job back to the second. A claim is
    a random token that only its holder knows.
    """

    def __init__(self, connection: VisibleConnection, dialect: Dialect, jobs: sa.Table) -> None:
        self._connection = connection
        self._dialect = dialect
        self._jobs = jobs

    def put(self, job_ids: Sequence[str], *, due_at_ms: int) -> None:
        """Queue jobs; one that is queued already stays, due no later, with its attempts reset.

        A claimed job stays with its worker, and is done once more afterwards.
        """
        if not job_ids:
            return
        again = _put(self._jobs, self._connection.dialect.name)
        self._connection.execute(again, _new(job_ids, due_at_ms))

    def put_missing(
        self, job_ids: Sequence[str], *, due_at_ms: int, needs_model: bool = False
    ) -> int:
        """Queue the jobs that are not queued yet; returns how many."""
        if not job_ids:
            return 0
        new = _put_missing(self._jobs, self._connection.dialect.name)
        rows = [{**row, "needs_model": needs_model} for row in _new(job_ids, due_at_ms)]
        return len(self._connection.execute(new, rows).all())

    def put_held(self, job: Job, *, now_ms: int) -> bool:
        """Insert a job under the claim of its worker; False when it is queued already."""
        new = _put_missing(self._jobs, self._connection.dialect.name)
        (row,) = _new([job.job_id], now_ms + LEASE_MS)
        held = {**row, "needs_model": job.may_ask, "claim": job.claim}
        return self._connection.execute(new, [held]).first() is not None

    def next_due_ms(
        self, *, needs_model: bool = False, besides: Collection[str] = ()
    ) -> int | None:
        """When the next job of a lane is due, except `besides`; None when the lane is empty."""
        # No job has an empty id, and a list that is never empty makes a simpler statement.
        values = {"needs_model": needs_model, "besides": tuple(besides) or ("",)}
        return self._connection.execute(_next_due(self._jobs), values).scalar()

    def claim(
        self,
        *,
        now_ms: int,
        until_ms: int,
        limit: int,
        needs_model: bool = False,
        besides: Collection[str] = (),
    ) -> tuple[Job, ...]:
        """Claim up to `limit` due jobs of a lane, oldest first.

        A lease that expired counts as an attempt, or a job that kills its daemon would repeat for
        ever.
        """
        jobs = self._jobs.c
        due = sa.select(jobs.job_id).where(
            jobs.needs_model == sa.literal(needs_model), jobs.due_at_ms <= now_ms
        )
        if besides:
            due = due.where(jobs.job_id.not_in(tuple(besides)))
        due = due.order_by(jobs.due_at_ms, jobs.job_id).limit(limit)
        job_ids = self._connection.execute(self._dialect.locked_if_free(due)).scalars().all()
        claim = secrets.token_hex(CLAIM_BYTES)
        take = (
            sa.update(self._jobs)
            .where(jobs.job_id.in_(job_ids))
            .values(
                claim=claim,
                due_at_ms=until_ms,
                again_at_ms=None,
                attempts=jobs.attempts + sa.case((jobs.claim.is_(None), 0), else_=1),
            )
            .returning(jobs.job_id, jobs.attempts)
        )
        attempts = {row.job_id: row.attempts for row in self._connection.execute(take)}
        return tuple(
            Job(job_id=job_id, attempts=attempts[job_id], claim=claim, may_ask=needs_model)
            for job_id in job_ids
        )

    def holds(self, job: Job) -> bool:
        """Whether the claim still stands; the row is held until the unit ends."""
        query = self._dialect.locked(_held(self._jobs))
        return self._connection.execute(query, _claim_of(job)).first() is not None

    def extend(self, job: Job, *, until_ms: int) -> bool:
        """Extend the lease; False when the claim was lost."""
        return self._hits(
            job, sa.update(self._jobs).where(_is_held(self._jobs)).values(due_at_ms=until_ms)
        )

    def done(self, job: Job) -> bool:
        """Take it off the queue; False when the claim was lost meanwhile."""
        finished, once_more = _done(self._jobs)
        return self._hits(job, finished) or self._hits(job, once_more)

    def retry(self, job: Job, *, due_at_ms: int, error: str) -> bool:
        """Put a job back with one more attempt; False when the claim was lost.

        A job that was queued again meanwhile keeps that due time, with no attempts.
        """
        jobs = self._jobs.c
        return self._put_back(
            job,
            {
                "due_at_ms": due_at_ms,
                "attempts": jobs.attempts + 1,
                "needs_model": jobs.needs_model,
            },
            {"error": error},
        )

    def give_back(self, job: Job, *, due_at_ms: int, needs_model: bool | None = None) -> bool:
        """Put a job back without an attempt, in its lane or the other; False if the claim was lost.

        A job that was queued again meanwhile keeps that due time, with no attempts.
        """
        jobs = self._jobs.c
        lane = jobs.needs_model if needs_model is None else sa.literal(needs_model)
        values = {"due_at_ms": due_at_ms, "attempts": jobs.attempts, "needs_model": lane}
        return self._put_back(job, values, {})

    def pull_back(self, *, now_ms: int, waiting_until_ms: int, held_until_ms: int) -> int:
        """Make jobs due now whose due time is beyond these limits; returns how many."""
        jobs = self._jobs.c
        latest = sa.case((jobs.claim.is_(None), waiting_until_ms), else_=held_until_ms)
        pulled = sa.update(self._jobs).where(jobs.due_at_ms > latest).values(due_at_ms=now_ms)
        return self._connection.execute(pulled).rowcount

    def tries(self, job_id: str) -> tuple[int, str | None]:
        """How often a job was tried, and the code of its last error."""
        jobs = self._jobs.c
        query = sa.select(jobs.attempts, jobs.error).where(jobs.job_id == job_id)
        row = self._connection.execute(query).first()
        return (0, None) if row is None else (row.attempts, row.error)

    def failing(self, *, attempts: int) -> tuple[int, str | None]:
        """How many jobs failed at least `attempts` times, and the last error of one of them."""
        jobs = self._jobs.c
        failed = jobs.attempts >= attempts, jobs.error.is_not(None)
        count = sa.select(sa.func.count()).select_from(self._jobs).where(*failed)
        last = sa.select(jobs.error).where(*failed).order_by(jobs.due_at_ms.desc()).limit(1)
        return (
            self._connection.execute(count).scalar_one(),
            self._connection.execute(last).scalar(),
        )

    def size(self) -> int:
        """The number of jobs, claimed or not."""
        query = sa.select(sa.func.count()).select_from(self._jobs)
        return self._connection.execute(query).scalar_one()

    def _put_back(self, job: Job, values: dict[str, Any], noted: dict[str, Any]) -> bool:
        """Release a claim; a job queued again meanwhile keeps that due time, with no attempts."""
        jobs = self._jobs.c
        was_put = jobs.again_at_ms.is_not(None)
        anew = {"due_at_ms": jobs.again_at_ms, "attempts": 0, "needs_model": sa.false()}
        back = {name: sa.case((was_put, anew[name]), else_=values[name]) for name in anew}
        statement = sa.update(self._jobs).where(_is_held(self._jobs))
        return self._hits(job, statement.values(claim=None, again_at_ms=None, **back, **noted))

    def _hits(self, job: Job, statement: sa.Update | sa.Delete) -> bool:
        return self._connection.execute(statement, _claim_of(job)).rowcount == 1


def _new(job_ids: Sequence[str], due_at_ms: int) -> list[dict[str, Any]]:
    # Sorted, so that two concurrent inserts of the same jobs cannot deadlock.
    return [
        {"job_id": job_id, "due_at_ms": due_at_ms, "attempts": 0}
        for job_id in sorted(frozenset(job_ids))
    ]


def _claim_of(job: Job) -> dict[str, str]:
    return {"held_id": job.job_id, "held_by": job.claim}


def _is_held(jobs: sa.Table) -> sa.ColumnElement[bool]:
    return sa.and_(
        jobs.c.job_id == sa.bindparam("held_id"), jobs.c.claim == sa.bindparam("held_by")
    )


# Asked whenever a run ends, so they are put together only once.
@cache
def _held(jobs: sa.Table) -> sa.Select[Any]:
    return sa.select(jobs.c.job_id).where(_is_held(jobs))


@cache
def _done(jobs: sa.Table) -> tuple[sa.Delete, sa.Update]:
    """What takes a job off the queue, and what keeps it there that was put again meanwhile."""
    once_more = sa.update(jobs).where(_is_held(jobs))
    return (
        sa.delete(jobs).where(_is_held(jobs), jobs.c.again_at_ms.is_(None)),
        once_more.values(due_at_ms=jobs.c.again_at_ms, error=None, **ANEW),
    )


@cache
def _put(jobs: sa.Table, dialect: str) -> Any:
    insert = INSERTS[dialect](jobs)
    changed = _put_again(jobs, insert.excluded)
    return insert.on_conflict_do_update(index_elements=["job_id"], set_=changed)


@cache
def _put_missing(jobs: sa.Table, dialect: str) -> Any:
    return INSERTS[dialect](jobs).on_conflict_do_nothing().returning(jobs.c.job_id)


@cache
def _next_due(jobs: sa.Table) -> Any:
    return sa.select(sa.func.min(jobs.c.due_at_ms)).where(
        jobs.c.needs_model == sa.bindparam("needs_model", type_=sa.Boolean),
        jobs.c.job_id.not_in(sa.bindparam("besides", expanding=True)),
    )


def _put_again(table: sa.Table, put: Any) -> dict[str, Any]:
    """The conflict update of a job that is queued already."""
    jobs, waits = table.c, table.c.claim.is_(None)
    return {
        "due_at_ms": sa.case(
            (sa.and_(waits, put.due_at_ms < jobs.due_at_ms), put.due_at_ms), else_=jobs.due_at_ms
        ),
        "attempts": sa.case((waits, 0), else_=jobs.attempts),
        "needs_model": sa.case((waits, sa.false()), else_=jobs.needs_model),
        "again_at_ms": sa.case(
            (waits, None),
            (jobs.again_at_ms <= put.due_at_ms, jobs.again_at_ms),
            else_=put.due_at_ms,
        ),
    }
