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
async def desk(units: Units, tmp_path: Path) -> AsyncIterator[ReviewHarness]:
    routes = Routes(make_settings(tmp_path))
    yield ReviewHarness(units, routes)
    await routes.close()


class Crashing:
    """A judge that cannot even be asked."""

    def __init__(self, problem: Exception) -> None:
        self.problem = problem
        self.asked = 0

    async def judge(self, *_: object) -> Any:
        self.asked += 1
        raise self.problem


def crashing(desk: ReviewHarness, problem: Exception) -> Crashing:
    judge = Crashing(problem)
    reviewer = replace(desk.reviewer, judge=judge)  # type: ignore[arg-type]
    desk.worker = desk.worker_for(reviewer)
    return judge


async def test_a_review_that_fails_is_tried_again_later_and_then_left_to_a_person(
    desk: ReviewHarness,
) -> None:
    judge = crashing(desk, Unavailable("odd", detail="nobody knows why"))
    desk.set_policy(PROVISIONAL, **judging())
    poison = desk.find("Preferred editor is Helix")

    for number, wait in enumerate(WAITS_MS):
        assert await desk.work() == 1
        assert judge.asked == number + 1
        desk.clock.advance(wait - 1)
        assert await desk.work() == 0
        desk.clock.advance(1)
    assert desk.plane.candidate(poison).state is CandidateState.PENDING
    assert await desk.work() == 1

    assert judge.asked == MAX_ATTEMPTS
    assert desk.plane.candidate(poison).state is CandidateState.ESCALATED
    assert "odd: nobody knows why" in desk.review_of(poison).reason
    assert desk.plane.queued() == 0


async def test_a_failure_holds_up_no_other_candidate(desk: ReviewHarness) -> None:
    crashing(desk, RuntimeError("boom"))
    desk.set_policy(PROVISIONAL, {"action": "manual_review"}, **judging())
    poison = desk.find("Preferred editor is Helix")
    fine = desk.find("Decided on tea", kind=Kind.DECISION)

    assert await desk.work() == 2

    assert desk.plane.candidate(poison).state is CandidateState.PENDING
    assert desk.plane.candidate(fine).state is CandidateState.ESCALATED


async def test_what_would_only_fail_again_is_not_tried_again(desk: ReviewHarness) -> None:
    crashing(desk, Invalid("secret_content", detail="it looks like a secret"))
    desk.set_policy(PROVISIONAL, **judging())
    candidate = desk.find("Preferred editor is Helix")

    assert await desk.work() == 1

    assert desk.plane.candidate(candidate).state is CandidateState.ESCALATED
    assert "secret_content: it looks like a secret" in desk.review_of(candidate).reason


async def test_in_the_shadow_a_failure_is_noted(desk: ReviewHarness) -> None:
    crashing(desk, Invalid("odd", detail="odd"))
    desk.set_policy(PROVISIONAL, mode="shadow", **judging())
    candidate = desk.find("Preferred editor is Helix")

    await desk.work()

    assert desk.plane.candidate(candidate).state is CandidateState.PENDING
    review = desk.review_of(candidate)
    assert (review.mode, review.action) == (Mode.SHADOW, ReviewAction.MANUAL_REVIEW)
    assert await desk.restarted().work() == 0


async def test_a_candidate_that_cannot_be_read_is_left_and_the_others_go_on(
    desk: ReviewHarness, house: UnitsOnDatabase
) -> None:
    desk.set_policy({"action": "reject"})
    torn, fine = desk.find("Preferred editor is Helix"), desk.find("Preferred shell is fish")
    with house.engine.begin() as connection:
        connection.execute(
            sa.update(learning_candidates)
            .where(learning_candidates.c.candidate_id == torn.candidate_id)
            .values(body="torn")
        )

    for wait in (*WAITS_MS, 0):
        await desk.work()
        desk.clock.advance(wait)

    assert desk.plane.candidate(fine).state is CandidateState.REJECTED
    assert desk.plane.queued() == 0


async def test_a_candidate_that_kills_its_daemon_does_not_go_round_for_ever(
    desk: ReviewHarness,
) -> None:
    desk.set_policy(PROVISIONAL)
    candidate = desk.find("Preferred editor is Helix")
    for _ in range(MAX_ATTEMPTS):
        assert len(desk.claimed()) == 1
        desk.clock.advance(LEASE_MS)

    await desk.work()

    assert desk.plane.candidate(candidate).state is CandidateState.ESCALATED
    assert "could not be reviewed" in desk.review_of(candidate).reason


async def test_what_a_lost_claim_came_to_is_not_written(desk: ReviewHarness) -> None:
    desk.set_policy(PROVISIONAL)
    candidate = desk.find("Preferred editor is Helix")
    [late] = desk.claimed()
    desk.clock.advance(LEASE_MS)
    other = desk.restarted()
    [job] = other.claimed()

    await desk.worker.work(late)
    assert desk.plane.candidate(candidate) == candidate
    await other.worker.work(job)

    assert desk.plane.candidate(candidate).state is CandidateState.PUBLISHED


async def test_many_workers_share_the_queue_without_meeting(desk: ReviewHarness) -> None:
    for number in range(20):
        desk.find(f"Preferred tool {number} is good")
    claimed: list[Job] = []

    def work(one: ReviewHarness) -> None:
        while jobs := one.worker.claim(3).items:
            claimed.extend(jobs)

    threads = [Thread(target=work, args=(desk.restarted(),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(claimed) == len({job.job_id for job in claimed}) == 20


async def test_at_the_start_what_waits_is_queued_once(desk: ReviewHarness) -> None:
    candidate = found("Preferred editor is Helix")
    with desk.units.write() as unit:
        unit.candidates.add(candidate)

    assert desk.worker.startup() == 1
    assert desk.worker.startup() == 0
    await desk.work()
    assert desk.worker.startup() == 0

    desk.policies.set_policy(ADMIN, {"mode": "manual_only"})
    assert desk.worker.startup() == 0
    assert desk.review_of(candidate).action is ReviewAction.MANUAL_REVIEW


async def test_the_worker_is_woken_by_what_is_proposed(desk: ReviewHarness) -> None:
    """It would look again by itself only after a minute."""
    desk.bell.attach(asyncio.get_running_loop())
    running = asyncio.create_task(replace(desk.worker, look_s=60.0).run())
    candidate = await asyncio.to_thread(desk.find, "Preferred editor is Helix")
    await until(lambda: desk.plane.candidate(candidate).automation_review is not None)

    desk.set_policy({"action": "reject"})
    await until(lambda: desk.plane.candidate(candidate).state is CandidateState.REJECTED)

    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def test_a_worker_with_nothing_to_do_asks_nothing(
    desk: ReviewHarness, house: UnitsOnDatabase
) -> None:
    running = asyncio.create_task(replace(desk.worker, look_s=60.0).run())
    await asyncio.sleep(0.3)
    asked: list[str] = []

    def listen(*event: Any) -> None:
        asked.append(event[2])

    sa.event.listen(house.engine, "before_cursor_execute", listen)
    await asyncio.sleep(0.5)
    sa.event.remove(house.engine, "before_cursor_execute", listen)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running

    assert asked == []


@pytest.mark.parametrize("meanwhile", ["decided", "taken", "left to people"])
async def test_giving_up_leaves_alone_what_is_no_longer_its_affair(
    desk: ReviewHarness, meanwhile: str
) -> None:
    desk.set_policy(PROVISIONAL)
    candidate = desk.find("Preferred editor is Helix")
    [job] = desk.claimed()
    if meanwhile == "decided":
        desk.plane.publish(candidate)
    elif meanwhile == "taken":
        desk.clock.advance(LEASE_MS)
        assert len(desk.restarted().claimed()) == 1
    else:
        desk.policies.set_policy(ADMIN, {"mode": "manual_only"})
    before = desk.plane.candidate(candidate)

    with desk.units.write() as unit:
        give_up(unit, job, "odd", now_ms=desk.clock.now_ms())

    assert desk.plane.candidate(candidate) == before
    assert desk.plane.queued() == (1 if meanwhile == "taken" else 0)


async def test_a_policy_that_changed_unnoticed_is_noticed_at_the_end(desk: ReviewHarness) -> None:
    desk.set_policy(PROVISIONAL)
    candidate = desk.find("Preferred editor is Helix")
    [job] = desk.claimed()
    case = desk.reviewer.open(job)
    assert case is not None
    with desk.units.write() as unit:
        latest = unit.revisions.latest()
        assert latest is not None
        document = {"learning_policy": {"mode": "enabled"}}
        later = replace(latest, revision=latest.revision + 1, document=document)
        unit.revisions.add(later, keep=64)
    decision = await desk.reviewer._decide(job, case)
    desk.reviewer._settle(job, case, decision, None)

    assert desk.plane.candidate(candidate) == candidate
    assert (await desk.review(candidate)).state is CandidateState.ESCALATED


async def test_a_claim_is_held_on_to_while_the_judge_thinks(desk: ReviewHarness) -> None:
    desk.find("Preferred editor is Helix")
    [job] = desk.claimed()
    desk.clock.advance(LEASE_MS - 1)
    assert desk.reviewer._extend(job)
    desk.clock.advance(LEASE_MS - 1)

    assert desk.claimed() == ()
    desk.clock.advance(1)
    assert len(desk.claimed()) == 1
    assert not desk.reviewer._extend(job)


async def test_a_claim_that_was_lost_is_no_failure(desk: ReviewHarness) -> None:
    crashing(desk, ClaimLost())
    desk.set_policy(PROVISIONAL, **judging())
    candidate = desk.find("Preferred editor is Helix")

    assert await desk.work() == 1

    assert desk.plane.candidate(candidate) == candidate
    assert desk.plane.queued() == 1


class Gone:
    """Units of a database that cannot do what it is asked."""

    def write(self) -> Any:
        raise Unavailable("odd", detail="not now")


async def test_a_failure_that_cannot_be_written_down_leaves_the_claim_to_run_out(
    desk: ReviewHarness,
) -> None:
    crashing(desk, Unavailable("odd"))
    desk.set_policy(PROVISIONAL, **judging())
    desk.find("Preferred editor is Helix")
    [job] = desk.claimed()

    await replace(desk.worker, units=Gone()).work(job)  # type: ignore[arg-type]

    assert desk.claimed() == ()
    desk.clock.advance(LEASE_MS)
    assert [it.attempts for it in desk.claimed()] == [1]


async def test_more_than_fits_at_once_is_reviewed_all_the_same(desk: ReviewHarness) -> None:
    for number in range(2 * AT_ONCE[False] + 1):
        desk.find(f"Preferred tool {number} is good")
    running = asyncio.create_task(replace(desk.worker, look_s=60.0).run())

    # A review is counted once its transaction is over.
    await until(lambda: len(desk.counted.reviewed) == 2 * AT_ONCE[False] + 1)

    assert desk.plane.queued() == 0
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
