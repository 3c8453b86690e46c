"""The worker that reviews: woken, patient with failures, and never in anybody's way."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ADMIN
from tests.support.review_factories import found
from tests.support.review_harness import ReviewHarness, judging
from tests.support.run_harness import make_settings, until
from understudy.core.errors import Invalid, Unavailable
from understudy.learnings.model import CandidateState, Kind, Mode, ReviewAction
from understudy.providers.registry import Routes
from understudy.review.worker import MAX_ATTEMPTS, WAITS_MS, give_up
from understudy.storage.schema import learning_candidates
from understudy.storage.unit import Units
from understudy.work.queue_worker import AT_ONCE, LEASE_MS, ClaimLost, Job

pytestmark = pytest.mark.anyio

PROVISIONAL = {"kind": "fact", "action": "publish_provisional"}


@pytest.fixture
async def harness(units: Units, tmp_path: Path) -> AsyncIterator[ReviewHarness]:
    routes = Routes(make_settings(tmp_path))
    yield ReviewHarness(units, routes)
    await routes.close()


class Crashing:
    """A judge that cannot even be asked."""

    def __init__(self, problem: Exception) -> None:
        self.problem = problem
        self.asked = 0

    async def judge(self, *_: object, **__: object) -> Any:
        self.asked += 1
        raise self.problem


def crashing(harness: ReviewHarness, problem: Exception) -> Crashing:
    judge = Crashing(problem)
    reviewer = replace(harness.reviewer, judge=judge)  # type: ignore[arg-type]
    harness.worker = harness.worker_for(reviewer)
    return judge


async def test_a_review_that_fails_is_tried_again_later_and_then_left_to_a_person(
    harness: ReviewHarness,
) -> None:
    judge = crashing(harness, Unavailable("odd", detail="nobody knows why"))
    harness.set_policy(PROVISIONAL, **judging())
    poison = harness.find("Preferred editor is Helix")

    for number, wait in enumerate(WAITS_MS):
        assert await harness.work() == 1
        assert judge.asked == number + 1
        harness.clock.advance(wait - 1)
        assert await harness.work() == 0
        harness.clock.advance(1)
    assert harness.plane.candidate(poison).state is CandidateState.PENDING
    assert await harness.work() == 1

    assert judge.asked == MAX_ATTEMPTS
    assert harness.plane.candidate(poison).state is CandidateState.ESCALATED
    assert "odd: nobody knows why" in harness.review_of(poison).reason
    assert harness.plane.queued() == 0


async def test_a_failure_holds_up_no_other_candidate(harness: ReviewHarness) -> None:
    crashing(harness, RuntimeError("boom"))
    harness.set_policy(PROVISIONAL, {"action": "manual_review"}, **judging())
    poison = harness.find("Preferred editor is Helix")
    fine = harness.find("Decided on tea", kind=Kind.DECISION)

    assert await harness.work() == 2

    assert harness.plane.candidate(poison).state is CandidateState.PENDING
    assert harness.plane.candidate(fine).state is CandidateState.ESCALATED


async def test_what_would_only_fail_again_is_not_tried_again(harness: ReviewHarness) -> None:
    crashing(harness, Invalid("secret_content", detail="it looks like a secret"))
    harness.set_policy(PROVISIONAL, **judging())
    candidate = harness.find("Preferred editor is Helix")

    assert await harness.work() == 1

    assert harness.plane.candidate(candidate).state is CandidateState.ESCALATED
    assert "secret_content: it looks like a secret" in harness.review_of(candidate).reason


async def test_in_the_shadow_a_failure_is_noted(harness: ReviewHarness) -> None:
    crashing(harness, Invalid("odd", detail="odd"))
    harness.set_policy(PROVISIONAL, mode="shadow", **judging())
    candidate = harness.find("Preferred editor is Helix")

    await harness.work()

    assert harness.plane.candidate(candidate).state is CandidateState.PENDING
    review = harness.review_of(candidate)
    assert (review.mode, review.action) == (Mode.SHADOW, ReviewAction.MANUAL_REVIEW)
    assert await harness.restarted().work() == 0


async def test_a_candidate_that_cannot_be_read_is_left_and_the_others_go_on(
    harness: ReviewHarness, database: UnitsOnDatabase
) -> None:
    harness.set_policy({"action": "reject"})
    torn, fine = harness.find("Preferred editor is Helix"), harness.find("Preferred shell is fish")
    with database.engine.begin() as connection:
        connection.execute(
            sa.update(learning_candidates)
            .where(learning_candidates.c.candidate_id == torn.candidate_id)
            .values(body="torn")
        )

    for wait in (*WAITS_MS, 0):
        await harness.work()
        harness.clock.advance(wait)

    assert harness.plane.candidate(fine).state is CandidateState.REJECTED
    assert harness.plane.queued() == 0


async def test_a_candidate_that_kills_its_daemon_does_not_go_round_for_ever(
    harness: ReviewHarness,
) -> None:
    harness.set_policy(PROVISIONAL)
    candidate = harness.find("Preferred editor is Helix")
    for _ in range(MAX_ATTEMPTS):
        assert len(harness.claimed()) == 1
        harness.clock.advance(LEASE_MS)

    await harness.work()

    assert harness.plane.candidate(candidate).state is CandidateState.ESCALATED
    assert "could not be reviewed" in harness.review_of(candidate).reason


async def test_what_a_lost_claim_came_to_is_not_written(harness: ReviewHarness) -> None:
    harness.set_policy(PROVISIONAL)
    candidate = harness.find("Preferred editor is Helix")
    [late] = harness.claimed()
    harness.clock.advance(LEASE_MS)
    other = harness.restarted()
    [job] = other.claimed()

    await harness.worker.work(late)
    assert harness.plane.candidate(candidate) == candidate
    await other.worker.work(job)

    assert harness.plane.candidate(candidate).state is CandidateState.PUBLISHED


async def test_many_workers_share_the_queue_without_meeting(harness: ReviewHarness) -> None:
    for number in range(20):
        harness.find(f"Preferred tool {number} is good")
    claimed: list[Job] = []

    def work(one: ReviewHarness) -> None:
        while jobs := one.worker.claim(3).items:
            claimed.extend(jobs)

    threads = [Thread(target=work, args=(harness.restarted(),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(claimed) == len({job.job_id for job in claimed}) == 20


async def test_at_the_start_what_waits_is_queued_once(harness: ReviewHarness) -> None:
    candidate = found("Preferred editor is Helix")
    with harness.units.write() as unit:
        unit.candidates.add(candidate)

    assert harness.worker.startup() == 1
    assert harness.worker.startup() == 0
    await harness.work()
    assert harness.worker.startup() == 0

    harness.policies.set_policy(ADMIN, {"mode": "manual_only"})
    assert harness.worker.startup() == 0
    assert harness.review_of(candidate).action is ReviewAction.MANUAL_REVIEW


async def test_the_worker_is_woken_by_what_is_proposed(harness: ReviewHarness) -> None:
    """It would look again by itself only after a minute."""
    harness.bell.attach(asyncio.get_running_loop())
    running = asyncio.create_task(replace(harness.worker, look_s=60.0).run())
    candidate = await asyncio.to_thread(harness.find, "Preferred editor is Helix")
    await until(lambda: harness.plane.candidate(candidate).automation_review is not None)

    harness.set_policy({"action": "reject"})
    await until(lambda: harness.plane.candidate(candidate).state is CandidateState.REJECTED)

    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def test_a_worker_with_nothing_to_do_asks_nothing(
    harness: ReviewHarness, database: UnitsOnDatabase
) -> None:
    running = asyncio.create_task(replace(harness.worker, look_s=60.0).run())
    await asyncio.sleep(0.3)
    asked: list[str] = []

    def listen(*event: Any) -> None:
        asked.append(event[2])

    sa.event.listen(database.engine, "before_cursor_execute", listen)
    await asyncio.sleep(0.5)
    sa.event.remove(database.engine, "before_cursor_execute", listen)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running

    assert asked == []


@pytest.mark.parametrize("meanwhile", ["decided", "taken", "left to people"])
async def test_giving_up_leaves_alone_what_is_no_longer_its_affair(
    harness: ReviewHarness, meanwhile: str
) -> None:
    harness.set_policy(PROVISIONAL)
    candidate = harness.find("Preferred editor is Helix")
    [job] = harness.claimed()
    if meanwhile == "decided":
        harness.plane.publish(candidate)
    elif meanwhile == "taken":
        harness.clock.advance(LEASE_MS)
        assert len(harness.restarted().claimed()) == 1
    else:
        harness.policies.set_policy(ADMIN, {"mode": "manual_only"})
    before = harness.plane.candidate(candidate)

    with harness.units.write() as unit:
        give_up(unit, job, "odd", now_ms=harness.clock.now_ms())

    assert harness.plane.candidate(candidate) == before
    assert harness.plane.queued() == (1 if meanwhile == "taken" else 0)


async def test_a_policy_that_changed_unnoticed_is_noticed_at_the_end(
    harness: ReviewHarness,
) -> None:
    harness.set_policy(PROVISIONAL)
    candidate = harness.find("Preferred editor is Helix")
    [job] = harness.claimed()
    case = harness.reviewer.open(job)
    assert case is not None
    with harness.units.write() as unit:
        latest = unit.revisions.latest()
        assert latest is not None
        document = {"learning_policy": {"mode": "enabled"}}
        later = replace(latest, revision=latest.revision + 1, document=document)
        unit.revisions.add(later, keep=64)
    decision = await harness.reviewer._decide(job, case)
    harness.reviewer._settle(job, case, decision, None)

    assert harness.plane.candidate(candidate) == candidate
    assert (await harness.review(candidate)).state is CandidateState.ESCALATED


async def test_a_claim_is_held_on_to_while_the_judge_thinks(harness: ReviewHarness) -> None:
    harness.find("Preferred editor is Helix")
    [job] = harness.claimed()
    harness.clock.advance(LEASE_MS - 1)
    assert harness.reviewer._extend(job)
    harness.clock.advance(LEASE_MS - 1)

    assert harness.claimed() == ()
    harness.clock.advance(1)
    assert len(harness.claimed()) == 1
    assert not harness.reviewer._extend(job)


async def test_a_claim_that_was_lost_is_no_failure(harness: ReviewHarness) -> None:
    crashing(harness, ClaimLost())
    harness.set_policy(PROVISIONAL, **judging())
    candidate = harness.find("Preferred editor is Helix")

    assert await harness.work() == 1

    assert harness.plane.candidate(candidate) == candidate
    assert harness.plane.queued() == 1


class Gone:
    """Units of a database that cannot do what it is asked."""

    def write(self) -> Any:
        raise Unavailable("odd", detail="not now")


async def test_a_failure_that_cannot_be_written_down_leaves_the_claim_to_run_out(
    harness: ReviewHarness,
) -> None:
    crashing(harness, Unavailable("odd"))
    harness.set_policy(PROVISIONAL, **judging())
    harness.find("Preferred editor is Helix")
    [job] = harness.claimed()

    await replace(harness.worker, units=Gone()).work(job)  # type: ignore[arg-type]

    assert harness.claimed() == ()
    harness.clock.advance(LEASE_MS)
    assert [it.attempts for it in harness.claimed()] == [1]


async def test_more_than_fits_at_once_is_reviewed_all_the_same(harness: ReviewHarness) -> None:
    for number in range(2 * AT_ONCE[False] + 1):
        harness.find(f"Preferred tool {number} is good")
    running = asyncio.create_task(replace(harness.worker, look_s=60.0).run())

    # A review is counted once its transaction is over.
    await until(lambda: len(harness.counted.reviewed) == 2 * AT_ONCE[False] + 1)

    assert harness.plane.queued() == 0
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
