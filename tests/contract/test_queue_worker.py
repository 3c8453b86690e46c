"""Working off a queue: stopped in good order, never in one's own way, whatever the clock says."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from tests.contract.test_learning_capture import EXAMPLE, ended, school
from tests.support.learning_runs import LearningRuns
from tests.support.review_harness import ReviewHarness, judging, verdict
from tests.support.run_harness import arrived, until
from understudy.core.errors import DatabaseUnavailable
from understudy.learnings.capture_settings import CaptureSettings, SemanticCaptureSettings
from understudy.learnings.model import CandidateState, Kind
from understudy.memory.record import SemanticCapture
from understudy.providers.registry import Routes
from understudy.providers.structured import StructuredModel
from understudy.review.worker import MAX_ATTEMPTS, WAITS_MS
from understudy.settings import Settings
from understudy.storage.unit import Units
from understudy.testing.fake_model import FakeModel
from understudy.work.queue_worker import AT_ONCE, AWAY_MS, LEASE_MS, QueueWorker

pytestmark = pytest.mark.anyio

__all__ = ["school"]

HELIX = "Preferred editor is Helix"
PROVISIONAL = {"kind": "fact", "action": "publish_provisional"}
DAY_MS = 24 * 3600 * 1000


@pytest.fixture
async def harness(units: Units, settings: Settings) -> AsyncIterator[ReviewHarness]:
    routes = Routes(settings)
    harness = ReviewHarness(units, routes)
    harness.bell.attach(asyncio.get_running_loop())
    yield harness
    await routes.close()


@asynccontextmanager
async def at_work(worker: QueueWorker) -> AsyncIterator[None]:
    """A worker that runs until it is told to stop."""
    running = asyncio.create_task(replace(worker, look_s=60.0).run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_daemon_that_is_stopped_again_and_again_gives_no_candidate_up(
    harness: ReviewHarness, fake: FakeModel
) -> None:
    fake.rule = lambda _: verdict("publish_provisional")
    harness.set_policy(PROVISIONAL, **judging())
    candidate = harness.find(HELIX)
    fake.hold()

    for stops in range(MAX_ATTEMPTS + 1):
        async with at_work(harness.worker):
            await arrived(fake, stops + 1)
    assert harness.plane.candidate(candidate) == candidate
    fake.release()

    # Given back, it waits for nobody's claim to run out.
    async with at_work(harness.worker):
        await until(lambda: harness.plane.candidate(candidate).state is CandidateState.PUBLISHED)
    assert harness.plane.queued() == 0


async def test_a_judge_that_hangs_holds_up_nothing_that_needs_none(
    harness: ReviewHarness, fake: FakeModel
) -> None:
    harness.set_policy(PROVISIONAL, {"action": "manual_review"}, **judging())
    for number in range(sum(AT_ONCE.values()) + 2):
        harness.find(f"Preferred tool {number} is good")
    plain = harness.find("Decided on tea", kind=Kind.DECISION)
    fake.hold()

    async with at_work(harness.worker):
        await until(lambda: harness.plane.candidate(plain).state is CandidateState.ESCALATED)
        await arrived(fake, AT_ONCE[True])
    assert len(fake.requests) == AT_ONCE[True]
    fake.release()


async def test_a_model_that_hangs_holds_labels_up_for_its_time_limit_alone(
    school: LearningRuns, fake: FakeModel
) -> None:
    """It may strike them, so it is asked first."""
    school.captured = CaptureSettings(semantic_candidates=SemanticCaptureSettings(timeout_ms=50))
    school.bell.attach(asyncio.get_running_loop())
    plain = [await ended(school) for _ in range(sum(AT_ONCE.values()) + 1)]
    labelled = await ended(school, EXAMPLE)
    fake.hold()

    async with at_work(school.worker()):
        await until(lambda: len(school.proposed(labelled)) > 1)
    assert {school.receipt(run_id) for run_id in plain} == {SemanticCapture.PENDING}
    fake.release()


async def test_a_worker_does_not_take_on_again_what_it_has_under_way(
    harness: ReviewHarness, fake: FakeModel
) -> None:
    """As after a database that was away for longer than a claim lasts."""
    fake.rule = lambda _: verdict("publish_provisional")
    harness.set_policy(PROVISIONAL, **judging())
    candidate = harness.find(HELIX)
    fake.hold()

    async with at_work(harness.worker):
        await arrived(fake, 1)
        harness.clock.advance(2 * LEASE_MS)
        other = harness.find("Decided on tea", kind=Kind.DECISION)
        await until(lambda: harness.plane.candidate(other).state is CandidateState.ESCALATED)
        fake.release()
        await until(lambda: harness.plane.candidate(candidate).state is CandidateState.PUBLISHED)
    assert len(fake.requests) == 1


async def test_a_job_that_is_handed_over_does_not_keep_a_queued_one_waiting(
    school: LearningRuns,
) -> None:
    """As when a lane has no room for one run that ends, and has room again for the next."""
    school.bell.attach(asyncio.get_running_loop())
    worker = replace(school.worker(), look_s=60.0)
    queued = await ended(school, EXAMPLE)
    worker.is_open.set()
    job = worker.new_claim("run_deleted_meanwhile", may_ask=False)
    assert job is not None
    with school.units.write() as unit:
        assert unit.capture_queue.put_held(job, now_ms=school.clock.now_ms())
    worker.hand_over(job)

    running = asyncio.create_task(worker.run())
    try:
        await until(lambda: len(school.proposed(queued)) > 1)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_what_the_judge_said_is_kept_when_the_claim_is_lost(
    harness: ReviewHarness, fake: FakeModel
) -> None:
    fake.rule = lambda _: verdict("publish_provisional")
    harness.set_policy(PROVISIONAL, **judging())
    candidate = harness.find(HELIX)
    fake.hold()
    [job] = harness.claimed()
    reviewing = asyncio.create_task(harness.worker.work(job))
    await arrived(fake, 1)
    harness.clock.advance(LEASE_MS)
    other = harness.restarted()
    [taken] = other.claimed()

    fake.release()
    await reviewing
    assert harness.plane.candidate(candidate) == candidate
    await other.worker.work(taken)

    assert harness.plane.candidate(candidate).state is CandidateState.PUBLISHED
    assert len(fake.requests) == 1


async def test_a_database_that_was_away_for_a_moment_costs_no_attempt(
    harness: ReviewHarness, fake: FakeModel
) -> None:
    fake.rule = lambda _: verdict("publish_provisional")
    away = [DatabaseUnavailable("database_unavailable")] * (MAX_ATTEMPTS + 1)

    def default_route() -> str:
        if away:
            raise away.pop()
        return "a"

    judge = replace(harness.reviewer.judge, model=StructuredModel(harness.routes, default_route))
    harness.worker = harness.worker_for(replace(harness.reviewer, judge=judge))
    harness.set_policy(PROVISIONAL, **judging())
    candidate = harness.find(HELIX)

    for _ in range(MAX_ATTEMPTS + 1):
        assert await harness.work() == 1
        assert harness.plane.candidate(candidate) == candidate
        harness.clock.advance(AWAY_MS)

    assert (await harness.review(candidate)).state is CandidateState.PUBLISHED


@pytest.mark.parametrize("left", ["waiting", "held"])
@pytest.mark.parametrize("notices", ["at the start", "while it works"])
async def test_what_a_clock_that_was_set_back_put_off_is_done_all_the_same(
    harness: ReviewHarness, left: str, notices: str
) -> None:
    harness.set_policy({"action": "reject"})
    candidate = harness.find(HELIX)
    harness.clock.advance(DAY_MS)
    [job] = harness.claimed()
    if left == "waiting":
        with harness.units.write() as unit:
            unit.review_queue.retry(job, due_at_ms=harness.clock.now_ms(), error="odd")
    harness.clock.advance(-DAY_MS)

    with capture_logs() as logs:
        if notices == "at the start":
            assert await harness.restarted().work() == 1
        else:
            assert (await harness.work(), await harness.work()) == (0, 1)

    assert harness.plane.candidate(candidate).state is CandidateState.REJECTED
    assert [it["number"] for it in logs if it["event"] == "review.clock_went_back"] == [1]


async def test_a_wait_or_a_claim_of_the_usual_length_is_not_cut_short(
    harness: ReviewHarness,
) -> None:
    first, second = harness.find(HELIX), harness.find("Preferred shell is fish")
    jobs = {job.job_id: job for job in harness.claimed(2)}
    due = harness.clock.now_ms() + WAITS_MS[-1]
    with harness.units.write() as unit:
        unit.review_queue.retry(jobs[first.candidate_id], due_at_ms=due, error="odd")

    assert await harness.restarted().work() == 0

    with harness.units.write() as unit:
        assert unit.review_queue.holds(jobs[second.candidate_id])
