"""A learning that was published before its run ended is verified when the run has ended."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.factories import NOW, make_run
from tests.support.review_harness import ReviewHarness
from tests.support.run_harness import make_settings
from tests.support.run_memory_reads import set_policy as set_run_memory_policy
from understudy.learnings.model import (
    Candidate,
    Learning,
    LearningSource,
    LearningStatus,
    PolicyDecision,
    Verification,
)
from understudy.learnings.remember import Suggestions
from understudy.learnings.visibility import Blocker, prompt_blockers
from understudy.providers.registry import Routes
from understudy.runs.model import RunStatus
from understudy.storage.unit import Units

pytestmark = [pytest.mark.one_database, pytest.mark.anyio]

ACTIVE = {"name": "active", "kind": "fact", "action": "publish_active"}
HELIX = "Preferred editor is Helix"


@pytest.fixture
async def harness(units: Units, tmp_path: Path) -> AsyncIterator[ReviewHarness]:
    routes = Routes(make_settings(tmp_path))
    yield ReviewHarness(units, routes)
    await routes.close()


async def suggested(harness: ReviewHarness, *, with_memories: bool = True) -> Candidate:
    """A candidate that an agent suggested and automation published while its run went on."""
    harness.set_policy(ACTIVE)
    set_run_memory_policy(harness.units, enabled=with_memories)
    with harness.units.write() as unit:
        unit.runs.add(make_run(run_id="run_1", status=RunStatus.RUNNING))
    source = LearningSource(run_id="run_1", session_id="s1", derivation_id="call")
    candidate = harness.find(HELIX, source=source)
    await harness.work()
    return candidate


async def ended(harness: ReviewHarness, candidate: Candidate, request: str) -> Learning:
    """The learning after the run has ended with this request."""
    harness.remember(request)
    suggestions = Suggestions(harness.units, harness.clock, harness.listeners)
    with harness.units.write() as unit:
        run = unit.runs.get("run_1")
        assert run is not None
        suggestions.ended(unit, run)
    await harness.work()
    return harness.learning_of(candidate)


async def test_verification_is_pending_while_the_run_goes_on(harness: ReviewHarness) -> None:
    candidate = await suggested(harness)

    learning = harness.learning_of(candidate)

    assert (learning.status, learning.verification_status) == (
        LearningStatus.PROVISIONAL,
        Verification.PENDING,
    )
    assert learning.policy_decision is PolicyDecision.AUTOMATIC
    assert "verification is pending" in harness.review_of(candidate).reason
    assert Blocker.AUTOMATIC_UNVERIFIED in prompt_blockers(learning, now_ms=NOW)


@pytest.mark.every_database
async def test_the_request_of_the_ended_run_makes_it_active(harness: ReviewHarness) -> None:
    candidate = await suggested(harness)

    learning = await ended(harness, candidate, f"{HELIX}. Go on.")

    assert (learning.status, learning.verification_status) == (
        LearningStatus.ACTIVE,
        Verification.VERIFIED,
    )
    assert (learning.policy_decision, learning.version) == (PolicyDecision.AUTOMATIC, 2)
    assert prompt_blockers(learning, now_ms=NOW) == ()
    # Nothing is left to settle.
    with harness.units.write() as unit:
        unit.review_queue.put([candidate.candidate_id], due_at_ms=NOW)
    await harness.work()
    assert harness.learning_of(candidate) == learning


async def test_a_request_that_says_otherwise_fails_it(harness: ReviewHarness) -> None:
    candidate = await suggested(harness)

    learning = await ended(harness, candidate, f"It is not so that {HELIX}.")

    assert (learning.status, learning.verification_status) == (
        LearningStatus.PROVISIONAL,
        Verification.FAILED,
    )


async def test_a_decision_that_automation_may_not_take_any_more_is_a_persons(
    harness: ReviewHarness,
) -> None:
    candidate = await suggested(harness)
    harness.set_policy(ACTIVE, mode="manual_only")

    learning = await ended(harness, candidate, f"{HELIX}. Go on.")

    assert (learning.status, learning.verification_status, learning.policy_decision) == (
        LearningStatus.PROVISIONAL,
        Verification.VERIFIED,
        PolicyDecision.ESCALATED,
    )
    assert Blocker.ESCALATED in prompt_blockers(learning, now_ms=NOW)
    assert harness.counted.snapshot()["publications_total"] == {
        "manual": 0,
        "automatic": 1,
        "escalated": 1,
    }


@pytest.mark.parametrize("content", [HELIX, "Preferred editor is Vim"])
async def test_what_a_person_published_meanwhile_makes_it_a_persons_as_well(
    harness: ReviewHarness, content: str
) -> None:
    candidate = await suggested(harness)
    harness.plane.learn(content)

    learning = await ended(harness, candidate, f"{HELIX}. Go on.")

    assert (learning.status, learning.policy_decision) == (
        LearningStatus.PROVISIONAL,
        PolicyDecision.ESCALATED,
    )


async def test_without_run_memories_nothing_is_awaited(harness: ReviewHarness) -> None:
    candidate = await suggested(harness, with_memories=False)

    assert harness.learning_of(candidate).verification_status is Verification.UNVERIFIED
