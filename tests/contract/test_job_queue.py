"""Queues of work: each job once, to one worker at a time, and nothing that is put is lost."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tests.contract.conftest import UnitsOnDatabase
from understudy.storage.job_queue import JobQueue
from understudy.storage.unit import Unit, Units
from understudy.work.queue_worker import Job

LATER = 1_000

QUEUES: dict[str, Callable[[Unit], JobQueue]] = {
    "reviews": lambda unit: unit.review_queue,
    "captures": lambda unit: unit.capture_queue,
}


@contextmanager
def queue(units: Units) -> Iterator[JobQueue]:
    with units.write() as unit:
        yield unit.review_queue


def put(units: Units, *job_ids: str, due_at_ms: int = 1) -> None:
    with queue(units) as jobs:
        jobs.put(job_ids, due_at_ms=due_at_ms)


def claim(
    units: Units, *, now_ms: int = 10, until_ms: int = LATER, limit: int = 9
) -> tuple[Job, ...]:
    with queue(units) as jobs:
        return jobs.claim(now_ms=now_ms, until_ms=until_ms, limit=limit)


def done(units: Units, job: Job) -> bool:
    with queue(units) as jobs:
        return jobs.done(job)


def retry(units: Units, job: Job, *, due_at_ms: int = LATER) -> bool:
    with queue(units) as jobs:
        return jobs.retry(job, due_at_ms=due_at_ms, error="out\0 of \ud83d order")


def next_due_ms(units: Units) -> int | None:
    with queue(units) as jobs:
        return jobs.next_due_ms()


def tried(jobs: tuple[Job, ...]) -> list[tuple[str, int]]:
    return [(job.job_id, job.attempts) for job in jobs]


@pytest.fixture
def units(empty_database: UnitsOnDatabase) -> Units:
    return empty_database.units


@pytest.mark.parametrize("of", QUEUES.values(), ids=QUEUES)
def test_what_is_put_is_claimed_when_due_and_gone_when_done(
    units: Units, of: Callable[[Unit], JobQueue]
) -> None:
    with units.write() as unit:
        assert (of(unit).size(), of(unit).next_due_ms()) == (0, None)
        of(unit).put(["b", "a", "b"], due_at_ms=5)
        of(unit).put(["c"], due_at_ms=4)
        of(unit).put([], due_at_ms=1)
        assert (of(unit).size(), of(unit).next_due_ms()) == (3, 4)
        assert of(unit).claim(now_ms=3, until_ms=LATER, limit=9) == ()
        jobs = of(unit).claim(now_ms=5, until_ms=LATER, limit=2)
        assert tried(jobs) == [("c", 0), ("a", 0)]
        assert [of(unit).done(job) for job in (*jobs, *jobs)] == [True, True, False, False]
        assert (of(unit).size(), of(unit).next_due_ms()) == (1, 5)


def test_the_queues_know_nothing_of_each_other(units: Units) -> None:
    with units.write() as unit:
        unit.review_queue.put(["a"], due_at_ms=1)
        assert unit.capture_queue.size() == 0
        assert unit.capture_queue.claim(now_ms=9, until_ms=LATER, limit=9) == ()


def test_what_is_held_is_given_to_nobody_else_until_the_claim_runs_out(units: Units) -> None:
    put(units, "a")
    [first] = claim(units, until_ms=20)
    assert claim(units, now_ms=19) == ()
    # Somebody must look when the claim runs out.
    assert next_due_ms(units) == 20

    [second] = claim(units, now_ms=20)
    assert second.claim != first.claim
    # What kills its daemon must not go round for ever.
    assert (first.attempts, second.attempts) == (0, 1)
    assert (done(units, first), retry(units, first)) == (False, False)
    with queue(units) as jobs:
        assert (jobs.holds(first), jobs.holds(second)) == (False, True)
    assert done(units, second)


def test_who_holds_a_job_may_keep_it_longer(units: Units) -> None:
    put(units, "a")
    [job] = claim(units, until_ms=20)
    with queue(units) as jobs:
        assert jobs.extend(job, until_ms=30)

    assert claim(units, now_ms=29) == ()
    assert tried(claim(units, now_ms=30)) == [("a", 1)]
    with queue(units) as jobs:
        assert not jobs.extend(job, until_ms=LATER)


def test_a_claim_that_ran_out_stands_while_nobody_else_takes_it(units: Units) -> None:
    put(units, "a")
    [job] = claim(units, until_ms=11)

    with queue(units) as jobs:
        assert jobs.holds(job)
    assert done(units, job)


def test_what_failed_comes_back_later_with_one_more_attempt(units: Units) -> None:
    put(units, "a")
    for attempt in range(3):
        [job] = claim(units)
        assert job.attempts == attempt
        assert retry(units, job, due_at_ms=10)
        assert not retry(units, job)
    [job] = claim(units)
    assert retry(units, job, due_at_ms=30)

    assert (claim(units, now_ms=29), next_due_ms(units)) == ((), 30)
    assert tried(claim(units, now_ms=30)) == [("a", 4)]


@pytest.mark.parametrize(("before", "put_at", "due"), [(50, 20, 20), (20, 50, 20)])
def test_what_waits_and_is_put_again_is_due_no_later_and_tried_anew(
    units: Units, before: int, put_at: int, due: int
) -> None:
    put(units, "a")
    [job] = claim(units)
    retry(units, job, due_at_ms=before)
    put(units, "a", due_at_ms=put_at)

    assert next_due_ms(units) == due
    assert tried(claim(units, now_ms=due)) == [("a", 0)]


@pytest.mark.parametrize("settle", [done, retry])
def test_what_is_put_while_it_is_held_is_done_once_more(
    units: Units, settle: Callable[[Units, Job], bool]
) -> None:
    put(units, "a")
    [job] = claim(units)
    retry(units, job, due_at_ms=10)
    [job] = claim(units)
    for due_at_ms in (50, 30, 40):
        put(units, "a", due_at_ms=due_at_ms)

    with queue(units) as jobs:
        assert jobs.holds(job)
        assert jobs.claim(now_ms=LATER - 1, until_ms=LATER, limit=9) == ()
    assert settle(units, job)
    assert next_due_ms(units) == 30
    [again] = claim(units, now_ms=30)
    assert again.attempts == 0
    assert done(units, again)
    assert next_due_ms(units) is None


def test_what_is_put_while_it_is_held_is_done_once_more_even_if_the_holder_dies(
    units: Units,
) -> None:
    put(units, "a")
    claim(units, until_ms=20)
    put(units, "a", due_at_ms=15)

    [job] = claim(units, now_ms=20)
    assert job.attempts == 1
    # It was put before this claim, so this claim is what it was put for.
    assert done(units, job)
    assert next_due_ms(units) is None


def test_only_what_is_missing_is_put_where_nothing_may_change(units: Units) -> None:
    put(units, "held", "waiting")
    [held, waiting] = claim(units)
    retry(units, waiting, due_at_ms=70)
    with queue(units) as jobs:
        assert jobs.put_missing(["new", "held", "waiting", "new", "other"], due_at_ms=5) == 2
        assert jobs.put_missing(["new"], due_at_ms=1) == 0
        assert jobs.put_missing([], due_at_ms=1) == 0

    with queue(units) as jobs:
        assert jobs.holds(held)
    assert tried(claim(units)) == [("new", 0), ("other", 0)]
    assert tried(claim(units, now_ms=70)) == [("waiting", 1)]


def test_many_are_put_and_claimed_at_once(units: Units) -> None:
    names = [f"job{number:04}" for number in range(1_500)]
    with queue(units) as jobs:
        assert jobs.put_missing(names[:1_200], due_at_ms=1) == 1_200
        jobs.put(names, due_at_ms=1)
        assert jobs.size() == 1_500
        assert [job.job_id for job in jobs.claim(now_ms=1, until_ms=9, limit=2_000)] == names


def test_workers_that_claim_at_once_share_the_work(units: Units) -> None:
    put(units, *(f"job{number:02}" for number in range(30)))

    def work(_: int) -> list[str]:
        mine = []
        while jobs := claim(units, limit=3):
            mine += [job.job_id for job in jobs]
            assert all(done(units, job) for job in jobs)
        return mine

    with ThreadPoolExecutor(4) as workers:
        shares = list(workers.map(work, range(4)))

    assert sorted(name for share in shares for name in share) == [f"job{n:02}" for n in range(30)]
    assert next_due_ms(units) is None


@pytest.mark.postgres
def test_who_claims_does_not_wait_for_another_daemon_that_just_does(
    empty_database: UnitsOnDatabase,
) -> None:
    units = empty_database.units
    if empty_database.engine.dialect.name == "sqlite":
        pytest.skip("SQLite has one writer at a time")
    put(units, "a", "b")
    with queue(units) as jobs, ThreadPoolExecutor(1) as other:
        assert tried(jobs.claim(now_ms=9, until_ms=LATER, limit=1)) == [("a", 0)]
        assert tried(other.submit(claim, units).result(timeout=10)) == [("b", 0)]


@pytest.mark.postgres
def test_a_job_that_is_being_settled_is_put_again_afterwards(
    empty_database: UnitsOnDatabase,
) -> None:
    units = empty_database.units
    if empty_database.engine.dialect.name == "sqlite":
        pytest.skip("SQLite has one writer at a time")
    put(units, "a")
    [job] = claim(units)
    with ThreadPoolExecutor(1) as other:
        with queue(units) as jobs:
            assert jobs.holds(job)
            waiting = other.submit(put, units, "a", due_at_ms=7)
            assert jobs.done(job)
        waiting.result(timeout=10)

    assert tried(claim(units)) == [("a", 0)]


def test_what_needs_a_model_waits_in_a_lane_of_its_own(units: Units) -> None:
    put(units, "plain", "slow")
    [plain, slow] = claim(units)
    with queue(units) as jobs:
        assert jobs.give_back(slow, due_at_ms=5, needs_model=True)
        assert not jobs.give_back(slow, due_at_ms=5)
        assert jobs.next_due_ms(needs_model=True) == 5
        assert jobs.claim(now_ms=10, until_ms=LATER, limit=9) == ()
        [job] = jobs.claim(now_ms=10, until_ms=LATER, limit=9, needs_model=True)
        assert (job.job_id, job.attempts, job.may_ask, plain.may_ask) == ("slow", 0, True, False)
        # Tried again it stays there; put again it is looked at anew.
        assert jobs.retry(job, due_at_ms=6, error="odd")
        assert jobs.next_due_ms(needs_model=True) == 6
        jobs.put(["slow"], due_at_ms=6)
        assert (jobs.next_due_ms(needs_model=True), jobs.next_due_ms()) == (None, 6)


def test_what_is_given_back_was_never_taken(units: Units) -> None:
    put(units, "a")
    retry(units, claim(units)[0], due_at_ms=2)
    [job] = claim(units)
    with queue(units) as jobs:
        assert jobs.give_back(job, due_at_ms=7)
        assert not jobs.holds(job)

    assert next_due_ms(units) == 7
    assert tried(claim(units)) == [("a", 1)]


def test_what_is_put_while_it_is_held_and_then_given_back_is_due_as_put(units: Units) -> None:
    put(units, "a")
    retry(units, claim(units)[0], due_at_ms=2)
    [job] = claim(units)
    put(units, "a", due_at_ms=4)
    with queue(units) as jobs:
        assert jobs.give_back(job, due_at_ms=7, needs_model=True)

    assert next_due_ms(units) == 4
    assert tried(claim(units)) == [("a", 0)]


def test_who_has_some_under_way_looks_past_them(units: Units) -> None:
    put(units, "a")
    put(units, "b", due_at_ms=3)
    with queue(units) as jobs:
        assert jobs.next_due_ms(besides=["a"]) == 3
        assert jobs.next_due_ms(besides=["a", "b"]) is None
        found = jobs.claim(now_ms=9, until_ms=LATER, limit=9, besides=["a"])
    assert tried(found) == [("b", 0)]


def test_what_is_due_too_late_to_be_true_is_pulled_back(units: Units) -> None:
    put(units, "near", due_at_ms=20)
    put(units, "far", due_at_ms=21)
    put(units, "held", "lost")
    [held, lost] = claim(units, limit=2)
    with queue(units) as jobs:
        assert jobs.extend(held, until_ms=30)
        assert jobs.extend(lost, until_ms=31)
        assert jobs.pull_back(now_ms=10, waiting_until_ms=20, held_until_ms=30) == 2

    assert tried(claim(units)) == [("far", 0), ("lost", 1)]
    with queue(units) as jobs:
        assert jobs.holds(held)
