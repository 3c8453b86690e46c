"""Candidates are reviewed by the policy alone: what happens, what is only noted, and why."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.factories import ADMIN, ALICE, NOW, make_run
from tests.support.learning_factories import keep, make_learning
from tests.support.review_harness import ReviewHarness
from tests.support.run_harness import make_settings
from understudy.core.errors import Invalid, StaleVersion
from understudy.learnings.model import (
    CandidateState,
    EvidenceRef,
    Kind,
    LearningSource,
    LearningStatus,
    Mode,
    PolicyDecision,
    ReviewAction,
    Tier,
    Verification,
)
from understudy.learnings.visibility import prompt_blockers
from understudy.providers.registry import Routes
from understudy.review.policy import capture_in, in_force
from understudy.runs.artifacts import new_artifact
from understudy.runtime.service import INITIAL
from understudy.storage.unit import Units
from understudy.work.queue_worker import LEASE_MS

pytestmark = [pytest.mark.one_database, pytest.mark.anyio]

ACTIVE = {"name": "active", "kind": "fact", "action": "publish_active"}
PROVISIONAL = {"name": "provisional", "kind": "fact", "action": "publish_provisional"}
REJECT = {"name": "no", "kind": "fact", "action": "reject"}
HELIX = "Preferred editor is Helix"


@pytest.fixture
async def desk(units: Units, tmp_path: Path) -> AsyncIterator[ReviewHarness]:
    routes = Routes(make_settings(tmp_path))
    yield ReviewHarness(units, routes)
    await routes.close()


async def test_by_default_a_review_is_noted_and_nothing_happens(desk: ReviewHarness) -> None:
    candidate = desk.plane.propose(HELIX)

    reviewed = await desk.review(candidate)

    assert desk.policies.policy()[0].mode is Mode.SHADOW
    assert reviewed.state is CandidateState.PENDING
    review = desk.review_of(candidate)
    assert (review.mode, review.action) == (Mode.SHADOW, ReviewAction.MANUAL_REVIEW)
    assert review.reason.strip()
    assert review.policy_revision == 1
    assert desk.plane.queued() == 0
    assert desk.counted.reviewed == [ReviewAction.MANUAL_REVIEW]


async def test_in_the_shadow_a_rule_is_noted_and_publishes_nothing(desk: ReviewHarness) -> None:
    desk.set_policy(ACTIVE, mode="shadow")
    desk.remember(f"Fact: {HELIX}")
    candidate = desk.find(HELIX)

    reviewed = await desk.review(candidate)

    assert reviewed.state is CandidateState.PENDING
    assert desk.review_of(candidate).action is ReviewAction.PUBLISH_ACTIVE
    assert desk.review_of(candidate).matched_rule_name == "active"
    assert desk.plane.all_learnings() == []


async def test_where_people_decide_alone_nothing_is_reviewed(desk: ReviewHarness) -> None:
    desk.set_policy(REJECT, mode="manual_only")
    candidate = desk.plane.propose(HELIX)

    reviewed = await desk.review(candidate)

    assert reviewed == candidate
    assert desk.plane.queued() == 0


@pytest.mark.every_database
async def test_what_no_rule_decides_is_left_to_a_person(desk: ReviewHarness) -> None:
    desk.set_policy()
    candidate = desk.find(HELIX)

    escalated = await desk.review(candidate)

    assert escalated.state is CandidateState.ESCALATED
    assert escalated.decided_at_ms is None
    assert [it.data["what"] for it in desk.plane.events("s1")][-1] == "candidate_escalated"
    entry = desk.plane.audit()[-1]
    assert (entry.actor, entry.action) == ("daemon", "learning_candidates.escalate")
    by_hand = desk.plane.publish(escalated).learning
    assert by_hand.policy_decision is PolicyDecision.MANUAL


async def test_a_rule_may_reject(desk: ReviewHarness) -> None:
    desk.set_policy(REJECT, PROVISIONAL)
    candidate = desk.plane.propose(HELIX)

    rejected = await desk.review(candidate)

    assert (rejected.state, rejected.decided_by) == (CandidateState.REJECTED, "daemon")
    assert desk.review_of(candidate).matched_rule_name == "no"
    assert rejected.decision_reason == desk.review_of(candidate).reason


async def test_a_rule_in_quarantine_lets_the_next_one_decide(desk: ReviewHarness) -> None:
    desk.set_policy(REJECT, PROVISIONAL, publication={"quarantined_rule_names": [" NO "]})
    candidate = desk.plane.propose(HELIX)

    await desk.review(candidate)

    assert desk.review_of(candidate).matched_rule_name == "provisional"


async def test_a_rule_may_publish_for_the_time_being(desk: ReviewHarness) -> None:
    desk.set_policy({**PROVISIONAL, "expires_after_ms": 100})
    candidate = desk.plane.propose(HELIX, expires_at_ms=NOW + 1000)

    published = await desk.review(candidate)

    learning = desk.learning_of(candidate)
    assert published.state is CandidateState.PUBLISHED
    assert (learning.status, learning.publish_tier) == (
        LearningStatus.PROVISIONAL,
        Tier.PROVISIONAL,
    )
    assert (learning.policy_decision, learning.policy_actor) == (PolicyDecision.AUTOMATIC, "daemon")
    assert learning.verification_status is Verification.UNVERIFIED
    assert learning.expires_at_ms == NOW + 100
    assert prompt_blockers(learning, now_ms=NOW) != ()


async def test_a_candidate_from_the_api_is_not_active_even_where_that_is_allowed(
    desk: ReviewHarness,
) -> None:
    desk.set_policy(ACTIVE)
    first = desk.plane.propose(HELIX)
    await desk.work()
    desk.set_policy(ACTIVE, publication={"allow_api_origin_active_publication": True})
    second = desk.plane.propose("Preferred shell is fish")
    await desk.work()

    assert desk.learning_of(first).status is LearningStatus.PROVISIONAL
    assert "API" in desk.review_of(first).reason
    assert desk.learning_of(second).status is LearningStatus.PROVISIONAL
    assert "evidence is missing" in desk.review_of(second).reason


@pytest.mark.parametrize("content", [HELIX, "The preferred editor: Helix"])
async def test_what_its_run_said_becomes_active_and_verified(
    desk: ReviewHarness, content: str
) -> None:
    desk.set_policy(ACTIVE)
    desk.remember("For later. " * 60 + f"Fact: {HELIX}")
    candidate = desk.find(content)

    await desk.work()

    learning = desk.learning_of(candidate)
    assert (learning.status, learning.publish_tier) == (LearningStatus.ACTIVE, Tier.ACTIVE)
    assert learning.verification_status is Verification.VERIFIED
    assert prompt_blockers(learning, now_ms=NOW) == ()
    assert "verified by the request of run_1" in desk.review_of(candidate).reason


async def test_what_its_run_did_not_say_is_only_provisional(desk: ReviewHarness) -> None:
    desk.set_policy(ACTIVE)
    desk.remember(f"It is not so that {HELIX}")
    candidates = [
        desk.find(HELIX),
        desk.find("Preferred shell is fish"),
        desk.find("Preferred tea is green", run_id="run_2"),
        desk.find("Preferred wiki is ours", evidence_refs=()),
    ]
    await desk.work()

    for candidate in candidates:
        assert desk.learning_of(candidate).status is LearningStatus.PROVISIONAL
        assert "evidence is missing" in desk.review_of(candidate).reason


async def test_what_a_run_left_behind_counts_only_for_its_time(desk: ReviewHarness) -> None:
    desk.set_policy(ACTIVE)
    desk.remember(f"Fact: {HELIX}")
    desk.clock.advance(31 * 24 * 3600 * 1000)
    candidate = desk.find(HELIX)

    await desk.work()

    assert desk.learning_of(candidate).status is LearningStatus.PROVISIONAL


@pytest.mark.parametrize("trusts_tools", [True, False])
async def test_what_a_tool_answered_supports_it_where_tools_are_trusted(
    desk: ReviewHarness, trusts_tools: bool
) -> None:
    allowed = {
        "allow_api_origin_active_publication": True,
        "allow_untrusted_active_publication": trusts_tools,
    }
    desk.set_policy(ACTIVE, publication=allowed)
    run = make_run()
    artifact = new_artifact(
        f"a log\n{HELIX}\nPreferred shell is still fish\n",
        run_id=run.run_id,
        call_key="c",
        tool_name="shell",
        at_ms=NOW,
    )
    with desk.units.write() as unit:
        unit.runs.add(run)
        unit.artifacts.add(artifact)
    source = LearningSource(run_id=run.run_id)
    ref = EvidenceRef(run_id=run.run_id, artifact_id=artifact.artifact_id)
    said = desk.plane.propose(HELIX, source=source, evidence_refs=(ref,))
    meant = desk.plane.propose("Preferred shell is fish", source=source, evidence_refs=(ref,))
    elsewhere = desk.plane.propose(
        "a log", kind=Kind.FACT, source=LearningSource(run_id="run_9"), evidence_refs=(ref,)
    )
    await desk.work()

    is_verified = desk.learning_of(said).verification_status is Verification.VERIFIED
    assert is_verified is trusts_tools
    if trusts_tools:
        assert f"artifact {artifact.artifact_id}" in desk.review_of(said).reason
    assert {it.derived_from_untrusted for it in (said, meant, elsewhere)} == {True}
    assert desk.learning_of(meant).status is LearningStatus.PROVISIONAL
    assert desk.learning_of(elsewhere).status is LearningStatus.PROVISIONAL


@pytest.mark.every_database
async def test_what_only_a_tool_said_is_not_active_whatever_the_candidate_says_of_itself(
    desk: ReviewHarness,
) -> None:
    desk.set_policy(ACTIVE)
    desk.remember("What does the page say?")
    artifact = new_artifact(HELIX, run_id="run_1", call_key="c", tool_name="shell", at_ms=NOW)
    with desk.units.write() as unit:
        unit.artifacts.add(artifact)
    ref = EvidenceRef(run_id="run_1", artifact_id=artifact.artifact_id)
    candidate = desk.find(HELIX, evidence_refs=(ref,))

    await desk.work()

    assert desk.learning_of(candidate).status is LearningStatus.PROVISIONAL
    assert "what a tool answered" in desk.review_of(candidate).reason


QUOTED = {
    "a quotation": f"Is this true?\n> {HELIX}",
    "marks": f'Do you know this: "{HELIX}"',
    "a page": f"<p>{HELIX}</p>",
    "a denial before a label": f"It is not true that fact: {HELIX}",
    "an announcement": f"A stranger claims the following, which is a lie. Fact: {HELIX}.",
}


@pytest.mark.parametrize("request_text", QUOTED.values(), ids=QUOTED)
async def test_what_a_request_quotes_or_denies_verifies_nothing(
    desk: ReviewHarness, request_text: str
) -> None:
    desk.set_policy(ACTIVE)
    desk.remember(request_text)
    candidate = desk.find(HELIX)

    await desk.work()

    learning = desk.learning_of(candidate)
    assert (learning.status, learning.verification_status) == (
        LearningStatus.PROVISIONAL,
        Verification.UNVERIFIED,
    )


@pytest.mark.every_database
@pytest.mark.parametrize("how", ["rejected", "revoked"])
async def test_what_a_person_declined_after_it_was_proposed_no_rule_publishes(
    desk: ReviewHarness, how: str
) -> None:
    desk.set_policy(ACTIVE)
    desk.remember(f"Fact: {HELIX}")
    # Proposed while nobody had said no, so nothing in it tells of it.
    candidate = desk.find(HELIX)
    other = desk.plane.propose(HELIX)
    if how == "rejected":
        desk.plane.candidates.reject(ALICE, other.candidate_id)
    else:
        desk.plane.learnings.revoke(ALICE, desk.plane.publish(other).learning.learning_id)

    await desk.work()

    assert desk.plane.candidate(candidate).state is CandidateState.ESCALATED
    assert "a person said no to the same thing" in desk.review_of(candidate).reason


async def test_what_comes_from_strangers_does_not_become_active(desk: ReviewHarness) -> None:
    desk.set_policy(ACTIVE)
    desk.remember(f"Fact: {HELIX}")
    candidate = desk.find(HELIX, derived_from_untrusted=True)

    await desk.work()

    assert desk.learning_of(candidate).status is LearningStatus.PROVISIONAL


@pytest.mark.parametrize("rule", [ACTIVE, PROVISIONAL], ids=["active", "provisional"])
async def test_what_contradicts_a_learning_is_left_to_a_person(
    desk: ReviewHarness, rule: dict[str, str]
) -> None:
    known = make_learning("Codename is Atlas")
    keep(desk.units, known)
    desk.set_policy(rule)
    desk.remember("Fact: Codename is Borealis. Fact: Preferred editor is Helix.")
    candidate = desk.find("Codename is Borealis")
    other = desk.find(HELIX)

    assert await desk.work() == 2

    assert desk.plane.candidate(candidate).state is CandidateState.ESCALATED
    assert known.learning_id in desk.review_of(candidate).reason
    assert desk.plane.learning(known) == known
    assert desk.plane.candidate(other).state is CandidateState.PUBLISHED
    assert desk.plane.queued() == 0


@pytest.mark.every_database
async def test_what_is_known_already_makes_no_second_learning(desk: ReviewHarness) -> None:
    known = make_learning("Codename is Atlas")
    keep(desk.units, known)
    desk.set_policy(PROVISIONAL)
    candidate = desk.find("The codename: atlas")

    await desk.work()

    assert desk.learning_of(candidate) == known
    assert len(desk.plane.all_learnings()) == 1


async def test_a_secret_is_rejected_before_any_rule(desk: ReviewHarness) -> None:
    desk.set_policy(ACTIVE)
    candidate = desk.find("The API key is " + "sk-proj-" + "abcdefgh12345678")

    rejected = await desk.review(candidate)

    assert rejected.state is CandidateState.REJECTED
    assert "secret classifier" in desk.review_of(candidate).reason


async def test_a_procedure_is_published_for_the_time_being_at_most(desk: ReviewHarness) -> None:
    desk.set_policy({"kind": "procedure", "action": "publish_provisional"})
    candidate = desk.find("To deploy, run make ship", kind=Kind.PROCEDURE)

    await desk.work()

    assert desk.learning_of(candidate).status is LearningStatus.PROVISIONAL


@pytest.mark.parametrize("state", ["expired", "rejected", "published"])
async def test_what_waits_no_longer_is_not_reviewed(desk: ReviewHarness, state: str) -> None:
    desk.set_policy(REJECT)
    candidate = desk.plane.propose(HELIX, expires_at_ms=NOW + 10)
    if state == "expired":
        desk.clock.advance(10)
    elif state == "rejected":
        desk.plane.candidates.reject(ALICE, candidate.candidate_id)
    else:
        desk.plane.publish(candidate)
    before = desk.plane.candidate(candidate)

    await desk.work()

    assert desk.plane.candidate(candidate) == before
    assert desk.plane.queued() == 0


async def test_a_new_policy_has_everything_that_waits_reviewed_again(desk: ReviewHarness) -> None:
    waiting = [desk.plane.propose(f"Preferred tool {number} is good") for number in range(3)]
    await desk.work()
    assert desk.plane.queued() == 0

    desk.set_policy(REJECT)

    assert desk.plane.queued() == 3
    await desk.work()
    assert {desk.plane.candidate(it).state for it in waiting} == {CandidateState.REJECTED}


async def test_another_setting_has_nothing_reviewed_again(desk: ReviewHarness) -> None:
    desk.plane.propose(HELIX)
    await desk.work()

    desk.policies.runtime.change(ADMIN, {"debug_level": "full"})

    assert desk.plane.queued() == 0


@pytest.mark.every_database
async def test_a_policy_that_comes_back_brings_its_reviews_back(desk: ReviewHarness) -> None:
    candidate = desk.plane.propose(HELIX)
    desk.set_policy(REJECT, mode="shadow")
    await desk.work()
    first = desk.review_of(candidate)
    desk.clock.advance(1000)
    desk.set_policy(PROVISIONAL, mode="shadow")
    await desk.work()
    assert desk.review_of(candidate).action is ReviewAction.PUBLISH_PROVISIONAL

    desk.policies.roll_back_policy(ADMIN)
    await desk.work()

    assert desk.review_of(candidate) == first
    with desk.units.read() as unit:
        assert len(unit.reviews.of_candidate(candidate.candidate_id)) == 2


async def test_what_is_queued_again_for_nothing_is_left_as_it_is(desk: ReviewHarness) -> None:
    candidate = desk.plane.propose(HELIX)
    reviewed = await desk.review(candidate)
    with desk.units.write() as unit:
        unit.review_queue.put([candidate.candidate_id], due_at_ms=NOW)

    assert await desk.work() == 1

    assert desk.plane.candidate(candidate) == reviewed
    assert desk.plane.queued() == 0


@pytest.mark.every_database
async def test_what_somebody_else_took_over_is_left_to_them(desk: ReviewHarness) -> None:
    candidate = desk.plane.propose(HELIX)
    reviewed = await desk.review(candidate)
    with desk.units.write() as unit:
        unit.review_queue.put([candidate.candidate_id], due_at_ms=NOW)
    [job] = desk.claimed()
    desk.clock.advance(LEASE_MS)
    assert len(desk.restarted().claimed()) == 1

    await desk.worker.work(job)

    assert desk.plane.candidate(candidate) == reviewed
    assert desk.plane.queued() == 1


async def test_a_wrong_policy_changes_nothing(desk: ReviewHarness) -> None:
    before = desk.policies.policy()

    with pytest.raises(Invalid) as refused:
        desk.set_policy({"action": "publish_active"})
    assert refused.value.code == "invalid_learning_policy"
    with pytest.raises(Invalid):
        desk.policies.set_policy(ADMIN, {})
    with pytest.raises(Invalid) as unknown:
        desk.set_policy(judge={"enabled": True, "model": {"provider": "nowhere"}})
    assert [it.pointer for it in unknown.value.errors] == ["/judge/model/provider"]
    with pytest.raises(StaleVersion):
        desk.policies.set_policy(ADMIN, {"mode": "enabled"}, expected_revision=7)

    assert desk.policies.policy() == before


@pytest.mark.every_database
async def test_policies_have_a_history(desk: ReviewHarness) -> None:
    desk.policies.set_policy(ADMIN, {"publication": {"default_action": "reject"}})
    desk.policies.runtime.change(ADMIN, {"debug_level": "full"})
    changed, revision = desk.policies.set_policy(ADMIN, {"mode": "enabled"}, expected_revision=3)

    history = desk.policies.policy_revisions()

    assert [it.revision for _, it in history] == [4, 2, 1]
    assert history[0] == (changed, revision)
    assert history[1][0].mode is Mode.SHADOW
    back, revision = desk.policies.roll_back_policy(ADMIN, 2)
    assert back == history[1][0]
    assert revision.document["debug_level"] == "full"


async def test_the_trace_of_a_candidate_can_be_asked_for(desk: ReviewHarness) -> None:
    desk.set_policy({"kind": "decision", "action": "reject"}, REJECT, mode="shadow")
    candidate = desk.plane.propose(HELIX)

    said = desk.policies.explain(candidate.candidate_id)

    assert said.action is ReviewAction.REJECT
    assert [it.decided for it in said.trace.rules] == [False, True]


async def test_a_damaged_policy_has_nothing_reviewed(desk: ReviewHarness) -> None:
    candidate = desk.plane.propose(HELIX)
    torn = {"learning_policy": {"mode": "torn"}}
    with desk.units.write() as unit:
        unit.revisions.add(replace(INITIAL, revision=2, document=torn), keep=64)

    await desk.work()

    assert desk.plane.candidate(candidate) == candidate
    with desk.units.read() as unit:
        assert in_force(unit).policy.mode is Mode.MANUAL_ONLY
        assert not capture_in(unit).run_summary_candidates
    desk.set_policy(REJECT)
    with pytest.raises(Invalid):
        desk.policies.roll_back_policy(ADMIN, 2)
    assert desk.policies.policy()[0].mode is Mode.ENABLED
