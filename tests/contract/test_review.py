"""Candidates are reviewed by the policy alone: what happens, what is only noted, and why."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.factories import ADMIN, ALICE, NOW, make_run
from tests.support.learning_factories import keep, make_learning
from tests.support.review_harness import ReviewHarness
from tests.support.run_harness import make_settings
from understudy.core.errors import Invalid, StaleVersion
from understudy.core.ids import new_id
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
from understudy.runs.model import DebugRequest, InputItem, RunInput, RunUsage
from understudy.runtime.service import INITIAL
from understudy.storage.unit import Units
from understudy.work.queue_worker import LEASE_MS

pytestmark = [pytest.mark.one_database, pytest.mark.anyio]

ACTIVE = {"name": "active", "kind": "fact", "action": "publish_active"}
PROVISIONAL = {"name": "provisional", "kind": "fact", "action": "publish_provisional"}
REJECT = {"name": "no", "kind": "fact", "action": "reject"}
HELIX = "Preferred editor is Helix"


@pytest.fixture
async def harness(units: Units, tmp_path: Path) -> AsyncIterator[ReviewHarness]:
    routes = Routes(make_settings(tmp_path))
    yield ReviewHarness(units, routes)
    await routes.close()


async def test_by_default_a_review_is_noted_and_nothing_happens(harness: ReviewHarness) -> None:
    candidate = harness.plane.propose(HELIX)

    reviewed = await harness.review(candidate)

    assert harness.policies.policy()[0].mode is Mode.SHADOW
    assert reviewed.state is CandidateState.PENDING
    review = harness.review_of(candidate)
    assert (review.mode, review.action) == (Mode.SHADOW, ReviewAction.MANUAL_REVIEW)
    assert review.reason.strip()
    assert review.policy_revision == 1
    assert harness.plane.queued() == 0
    assert harness.counted.reviewed == [ReviewAction.MANUAL_REVIEW]


async def test_in_the_shadow_a_rule_is_noted_and_publishes_nothing(harness: ReviewHarness) -> None:
    harness.set_policy(ACTIVE, mode="shadow")
    harness.remember(f"Fact: {HELIX}")
    candidate = harness.find(HELIX)

    reviewed = await harness.review(candidate)

    assert reviewed.state is CandidateState.PENDING
    assert harness.review_of(candidate).action is ReviewAction.PUBLISH_ACTIVE
    assert harness.review_of(candidate).matched_rule_name == "active"
    assert harness.plane.all_learnings() == []


async def test_where_people_decide_alone_nothing_is_reviewed(harness: ReviewHarness) -> None:
    harness.set_policy(REJECT, mode="manual_only")
    candidate = harness.plane.propose(HELIX)

    reviewed = await harness.review(candidate)

    assert reviewed == candidate
    assert harness.plane.queued() == 0


@pytest.mark.every_database
async def test_what_no_rule_decides_is_left_to_a_person(harness: ReviewHarness) -> None:
    harness.set_policy()
    candidate = harness.find(HELIX)

    escalated = await harness.review(candidate)

    assert escalated.state is CandidateState.ESCALATED
    assert escalated.decided_at_ms is None
    assert [it.data["what"] for it in harness.plane.events("s1")][-1] == "candidate_escalated"
    entry = harness.plane.audit()[-1]
    assert (entry.actor, entry.action) == ("daemon", "learning_candidates.escalate")
    by_hand = harness.plane.publish(escalated).learning
    assert by_hand.policy_decision is PolicyDecision.MANUAL


async def test_a_rule_may_reject(harness: ReviewHarness) -> None:
    harness.set_policy(REJECT, PROVISIONAL)
    candidate = harness.plane.propose(HELIX)

    rejected = await harness.review(candidate)

    assert (rejected.state, rejected.decided_by) == (CandidateState.REJECTED, "daemon")
    assert harness.review_of(candidate).matched_rule_name == "no"
    assert rejected.decision_reason == harness.review_of(candidate).reason


async def test_a_rule_in_quarantine_lets_the_next_one_decide(harness: ReviewHarness) -> None:
    harness.set_policy(REJECT, PROVISIONAL, publication={"quarantined_rule_names": [" NO "]})
    candidate = harness.plane.propose(HELIX)

    await harness.review(candidate)

    assert harness.review_of(candidate).matched_rule_name == "provisional"


async def test_a_rule_may_publish_for_the_time_being(harness: ReviewHarness) -> None:
    harness.set_policy({**PROVISIONAL, "expires_after_ms": 100})
    candidate = harness.plane.propose(HELIX, expires_at_ms=NOW + 1000)

    published = await harness.review(candidate)

    learning = harness.learning_of(candidate)
    assert published.state is CandidateState.PUBLISHED
    assert (learning.status, learning.publish_tier) == (
        LearningStatus.PROVISIONAL,
        Tier.PROVISIONAL,
    )
    assert (learning.policy_decision, learning.policy_actor) == (PolicyDecision.AUTOMATIC, "daemon")
    assert learning.verification_status is Verification.UNVERIFIED
    assert learning.expires_at_ms == NOW + 100
    assert prompt_blockers(learning, now_ms=NOW) != ()


async def test_a_candidate_from_the_api_is_not_active_without_evidence(
    harness: ReviewHarness,
) -> None:
    harness.set_policy(ACTIVE)
    first = harness.plane.propose(HELIX)
    await harness.work()
    harness.set_policy(ACTIVE, publication={"allow_api_origin_active_publication": True})
    second = harness.plane.propose("Preferred shell is fish")
    await harness.work()

    assert harness.learning_of(first).status is LearningStatus.PROVISIONAL
    assert "API" in harness.review_of(first).reason
    assert harness.learning_of(second).status is LearningStatus.PROVISIONAL
    missing = "evidence is missing: there is no text of a source run to look in"
    assert missing in harness.review_of(second).reason


def captured(harness: ReviewHarness, text: str, **fields: Any) -> dict[str, Any]:
    """The fields of a candidate that names the captured request of a run as its evidence."""
    run_id = new_id("run")
    items = (InputItem(type="text", text=text),)
    harness.remember(text, run_id=run_id, input=RunInput(items=items), **fields)
    request = {"messages": [{"role": "user", "content": text}]}
    with harness.units.write() as unit:
        unit.debug.add(DebugRequest(run_id=run_id, step=1, attempt=1, at_ms=NOW, request=request))
        (kept,) = unit.debug.list(run_id)
    ref = EvidenceRef(run_id=run_id, artifact_id=kept.artifact_id)
    return {"source": LearningSource(run_id=run_id), "evidence_refs": (ref,)}


@pytest.mark.every_database
async def test_a_captured_request_makes_a_candidate_from_the_api_active_where_that_is_allowed(
    harness: ReviewHarness,
) -> None:
    tools = RunUsage(tool_calls=1)
    harness.set_policy(ACTIVE)
    refused = harness.plane.propose(HELIX, **captured(harness, f"{HELIX}. Go on."))
    await harness.work()
    harness.set_policy(ACTIVE, publication={"allow_api_origin_active_publication": True})
    fish, tea = "Preferred shell is fish", "Preferred tea is green"
    said = harness.plane.propose(fish, **captured(harness, f"{fish}. Go on.", usage=tools))
    denied = harness.plane.propose(tea, **captured(harness, f"It is not so that {tea}."))
    await harness.work()

    assert harness.learning_of(refused).status is LearningStatus.PROVISIONAL
    learning = harness.learning_of(said)
    assert (learning.status, learning.verification_status) == (
        LearningStatus.ACTIVE,
        Verification.VERIFIED,
    )
    assert prompt_blockers(learning, now_ms=NOW) == ()
    failed = harness.learning_of(denied)
    assert (failed.status, failed.verification_status) == (
        LearningStatus.PROVISIONAL,
        Verification.FAILED,
    )


@pytest.mark.parametrize("content", [HELIX, "The preferred editor: Helix"])
async def test_what_its_run_said_becomes_active_and_verified(
    harness: ReviewHarness, content: str
) -> None:
    harness.set_policy(ACTIVE)
    harness.remember("For later. " * 60 + f"Fact: {HELIX}")
    candidate = harness.find(content)

    await harness.work()

    learning = harness.learning_of(candidate)
    assert (learning.status, learning.publish_tier) == (LearningStatus.ACTIVE, Tier.ACTIVE)
    assert learning.verification_status is Verification.VERIFIED
    assert prompt_blockers(learning, now_ms=NOW) == ()
    assert "verified by the request of run_1" in harness.review_of(candidate).reason


async def test_what_its_run_did_not_say_is_only_provisional(harness: ReviewHarness) -> None:
    harness.set_policy(ACTIVE)
    harness.remember(f"It is not so that {HELIX}")
    candidates = [
        harness.find(HELIX),
        harness.find("Preferred shell is fish"),
        harness.find("Preferred tea is green", run_id="run_2"),
        harness.find("Preferred wiki is ours", evidence_refs=()),
    ]
    await harness.work()

    failed, unverified = Verification.FAILED, Verification.UNVERIFIED
    for candidate, verification in zip(
        candidates, (failed, failed, unverified, unverified), strict=True
    ):
        learning = harness.learning_of(candidate)
        assert learning.status is LearningStatus.PROVISIONAL
        assert learning.verification_status is verification
    reasons = [harness.review_of(candidate).reason for candidate in candidates]
    assert ["verification failed" in reason for reason in reasons] == [True, True, False, False]
    assert ["evidence is missing" in reason for reason in reasons] == [False, False, True, True]


async def test_what_a_run_left_behind_counts_only_for_its_time(harness: ReviewHarness) -> None:
    harness.set_policy(ACTIVE)
    harness.remember(f"Fact: {HELIX}")
    harness.clock.advance(31 * 24 * 3600 * 1000)
    candidate = harness.find(HELIX)

    await harness.work()

    assert harness.learning_of(candidate).status is LearningStatus.PROVISIONAL


@pytest.mark.parametrize("trusts_tools", [True, False])
async def test_what_a_tool_answered_supports_it_where_tools_are_trusted(
    harness: ReviewHarness, trusts_tools: bool
) -> None:
    allowed = {
        "allow_api_origin_active_publication": True,
        "allow_untrusted_active_publication": trusts_tools,
    }
    harness.set_policy(ACTIVE, publication=allowed)
    run = make_run()
    artifact = new_artifact(
        f"a log\n{HELIX}\nPreferred shell is still fish\n",
        run_id=run.run_id,
        call_key="c",
        tool_name="shell",
        at_ms=NOW,
    )
    with harness.units.write() as unit:
        unit.runs.add(run)
        unit.artifacts.add(artifact)
    source = LearningSource(run_id=run.run_id)
    ref = EvidenceRef(run_id=run.run_id, artifact_id=artifact.artifact_id)
    said = harness.plane.propose(HELIX, source=source, evidence_refs=(ref,))
    meant = harness.plane.propose("Preferred shell is fish", source=source, evidence_refs=(ref,))
    elsewhere = harness.plane.propose(
        "a log", kind=Kind.FACT, source=LearningSource(run_id="run_9"), evidence_refs=(ref,)
    )
    await harness.work()

    is_verified = harness.learning_of(said).verification_status is Verification.VERIFIED
    assert is_verified is trusts_tools
    if trusts_tools:
        assert f"artifact {artifact.artifact_id}" in harness.review_of(said).reason
    assert {it.derived_from_untrusted for it in (said, meant, elsewhere)} == {True}
    assert harness.learning_of(meant).status is LearningStatus.PROVISIONAL
    assert harness.learning_of(elsewhere).status is LearningStatus.PROVISIONAL


@pytest.mark.every_database
async def test_what_only_a_tool_said_is_not_active_whatever_the_candidate_says_of_itself(
    harness: ReviewHarness,
) -> None:
    harness.set_policy(ACTIVE)
    harness.remember("What does the page say?")
    artifact = new_artifact(HELIX, run_id="run_1", call_key="c", tool_name="shell", at_ms=NOW)
    with harness.units.write() as unit:
        unit.artifacts.add(artifact)
    ref = EvidenceRef(run_id="run_1", artifact_id=artifact.artifact_id)
    candidate = harness.find(HELIX, evidence_refs=(ref,))

    await harness.work()

    assert harness.learning_of(candidate).status is LearningStatus.PROVISIONAL
    assert "what a tool answered" in harness.review_of(candidate).reason


QUOTED = {
    "a quotation": f"Is this true?\n> {HELIX}",
    "marks": f'Do you know this: "{HELIX}"',
    "a page": f"<p>{HELIX}</p>",
    "a denial before a label": f"It is not true that fact: {HELIX}",
    "an announcement": f"A stranger claims the following, which is a lie. Fact: {HELIX}.",
}


@pytest.mark.parametrize("request_text", QUOTED.values(), ids=QUOTED)
async def test_what_a_request_quotes_or_denies_verifies_nothing(
    harness: ReviewHarness, request_text: str
) -> None:
    harness.set_policy(ACTIVE)
    harness.remember(request_text)
    candidate = harness.find(HELIX)

    await harness.work()

    learning = harness.learning_of(candidate)
    assert (learning.status, learning.verification_status) == (
        LearningStatus.PROVISIONAL,
        Verification.FAILED,
    )


@pytest.mark.every_database
@pytest.mark.parametrize("how", ["rejected", "revoked"])
async def test_what_a_person_declined_after_it_was_proposed_no_rule_publishes(
    harness: ReviewHarness, how: str
) -> None:
    harness.set_policy(ACTIVE)
    harness.remember(f"Fact: {HELIX}")
    # Proposed while nobody had said no, so nothing in it tells of it.
    candidate = harness.find(HELIX)
    other = harness.plane.propose(HELIX)
    if how == "rejected":
        harness.plane.candidates.reject(ALICE, other.candidate_id)
    else:
        harness.plane.learnings.revoke(ALICE, harness.plane.publish(other).learning.learning_id)

    await harness.work()

    assert harness.plane.candidate(candidate).state is CandidateState.ESCALATED
    assert "a person said no to the same thing" in harness.review_of(candidate).reason


async def test_what_comes_from_strangers_does_not_become_active(harness: ReviewHarness) -> None:
    harness.set_policy(ACTIVE)
    harness.remember(f"Fact: {HELIX}")
    candidate = harness.find(HELIX, derived_from_untrusted=True)

    await harness.work()

    assert harness.learning_of(candidate).status is LearningStatus.PROVISIONAL


@pytest.mark.parametrize("rule", [ACTIVE, PROVISIONAL], ids=["active", "provisional"])
@pytest.mark.parametrize("kind", [Kind.FACT, Kind.DECISION])
async def test_what_contradicts_a_learning_is_left_to_a_person(
    harness: ReviewHarness, rule: dict[str, str], kind: Kind
) -> None:
    known = make_learning("Codename is Atlas", kind=kind)
    keep(harness.units, known)
    harness.set_policy(rule)
    harness.remember("Fact: Codename is Borealis. Fact: Preferred editor is Helix.")
    candidate = harness.find("Codename is Borealis")
    other = harness.find(HELIX)

    assert await harness.work() == 2

    assert harness.plane.candidate(candidate).state is CandidateState.ESCALATED
    assert known.learning_id in harness.review_of(candidate).reason
    assert harness.plane.learning(known) == known
    assert harness.plane.candidate(other).state is CandidateState.PUBLISHED
    assert harness.plane.queued() == 0


@pytest.mark.every_database
async def test_what_is_known_already_makes_no_second_learning(harness: ReviewHarness) -> None:
    known = make_learning("Codename is Atlas")
    keep(harness.units, known)
    harness.set_policy(PROVISIONAL)
    candidate = harness.find("The codename: atlas")

    await harness.work()

    assert harness.learning_of(candidate) == replace(known, said_again=1)
    assert len(harness.plane.all_learnings()) == 1


async def test_a_secret_is_rejected_before_any_rule(harness: ReviewHarness) -> None:
    harness.set_policy(ACTIVE)
    candidate = harness.find("The API key is " + "sk-proj-" + "abcdefgh12345678")

    rejected = await harness.review(candidate)

    assert rejected.state is CandidateState.REJECTED
    assert "secret classifier" in harness.review_of(candidate).reason


async def test_a_procedure_is_published_for_the_time_being_at_most(harness: ReviewHarness) -> None:
    harness.set_policy({"kind": "procedure", "action": "publish_provisional"})
    candidate = harness.find("To deploy, run make ship", kind=Kind.PROCEDURE)

    await harness.work()

    assert harness.learning_of(candidate).status is LearningStatus.PROVISIONAL


@pytest.mark.parametrize("state", ["expired", "rejected", "published"])
async def test_what_waits_no_longer_is_not_reviewed(harness: ReviewHarness, state: str) -> None:
    harness.set_policy(REJECT)
    candidate = harness.plane.propose(HELIX, expires_at_ms=NOW + 10)
    if state == "expired":
        harness.clock.advance(10)
    elif state == "rejected":
        harness.plane.candidates.reject(ALICE, candidate.candidate_id)
    else:
        harness.plane.publish(candidate)
    before = harness.plane.candidate(candidate)

    await harness.work()

    assert harness.plane.candidate(candidate) == before
    assert harness.plane.queued() == 0


async def test_a_new_policy_has_everything_that_waits_reviewed_again(
    harness: ReviewHarness,
) -> None:
    waiting = [harness.plane.propose(f"Preferred tool {number} is good") for number in range(3)]
    await harness.work()
    assert harness.plane.queued() == 0

    harness.set_policy(REJECT)

    assert harness.plane.queued() == 3
    await harness.work()
    assert {harness.plane.candidate(it).state for it in waiting} == {CandidateState.REJECTED}


async def test_another_setting_has_nothing_reviewed_again(harness: ReviewHarness) -> None:
    harness.plane.propose(HELIX)
    await harness.work()

    harness.policies.runtime.change(ADMIN, {"debug_level": "full"})

    assert harness.plane.queued() == 0


@pytest.mark.every_database
async def test_a_policy_that_comes_back_brings_its_reviews_back(harness: ReviewHarness) -> None:
    candidate = harness.plane.propose(HELIX)
    harness.set_policy(REJECT, mode="shadow")
    await harness.work()
    first = harness.review_of(candidate)
    harness.clock.advance(1000)
    harness.set_policy(PROVISIONAL, mode="shadow")
    await harness.work()
    assert harness.review_of(candidate).action is ReviewAction.PUBLISH_PROVISIONAL

    harness.policies.roll_back_policy(ADMIN)
    await harness.work()

    assert harness.review_of(candidate) == first
    with harness.units.read() as unit:
        assert len(unit.reviews.of_candidate(candidate.candidate_id)) == 2


async def test_what_is_queued_again_for_nothing_is_left_as_it_is(harness: ReviewHarness) -> None:
    candidate = harness.plane.propose(HELIX)
    reviewed = await harness.review(candidate)
    with harness.units.write() as unit:
        unit.review_queue.put([candidate.candidate_id], due_at_ms=NOW)

    assert await harness.work() == 1

    assert harness.plane.candidate(candidate) == reviewed
    assert harness.plane.queued() == 0


@pytest.mark.every_database
async def test_what_somebody_else_took_over_is_left_to_them(harness: ReviewHarness) -> None:
    candidate = harness.plane.propose(HELIX)
    reviewed = await harness.review(candidate)
    with harness.units.write() as unit:
        unit.review_queue.put([candidate.candidate_id], due_at_ms=NOW)
    [job] = harness.claimed()
    harness.clock.advance(LEASE_MS)
    assert len(harness.restarted().claimed()) == 1

    await harness.worker.work(job)

    assert harness.plane.candidate(candidate) == reviewed
    assert harness.plane.queued() == 1


async def test_a_wrong_policy_changes_nothing(harness: ReviewHarness) -> None:
    before = harness.policies.policy()

    with pytest.raises(Invalid) as refused:
        harness.set_policy({"action": "publish_active"})
    assert refused.value.code == "invalid_learning_policy"
    with pytest.raises(Invalid):
        harness.policies.set_policy(ADMIN, {})
    with pytest.raises(Invalid) as unknown:
        harness.set_policy(judge={"enabled": True, "model": {"provider": "nowhere"}})
    assert [it.pointer for it in unknown.value.errors] == ["/judge/model/provider"]
    with pytest.raises(StaleVersion):
        harness.policies.set_policy(ADMIN, {"mode": "enabled"}, expected_revision=7)

    assert harness.policies.policy() == before


@pytest.mark.every_database
async def test_policies_have_a_history(harness: ReviewHarness) -> None:
    harness.policies.set_policy(ADMIN, {"publication": {"default_action": "reject"}})
    harness.policies.runtime.change(ADMIN, {"debug_level": "full"})
    changed, revision = harness.policies.set_policy(ADMIN, {"mode": "enabled"}, expected_revision=3)

    history = harness.policies.policy_revisions()

    assert [it.revision for _, it in history] == [4, 2, 1]
    assert history[0] == (changed, revision)
    assert history[1][0].mode is Mode.SHADOW
    back, revision = harness.policies.roll_back_policy(ADMIN, 2)
    assert back == history[1][0]
    assert revision.document["debug_level"] == "full"


async def test_the_trace_of_a_candidate_can_be_asked_for(harness: ReviewHarness) -> None:
    harness.set_policy({"kind": "decision", "action": "reject"}, REJECT, mode="shadow")
    candidate = harness.plane.propose(HELIX)

    said = harness.policies.explain(candidate.candidate_id)

    assert said.action is ReviewAction.REJECT
    assert [it.decided for it in said.trace.rules] == [False, True]


async def test_a_damaged_policy_has_nothing_reviewed(harness: ReviewHarness) -> None:
    candidate = harness.plane.propose(HELIX)
    torn = {"learning_policy": {"mode": "torn"}}
    with harness.units.write() as unit:
        unit.revisions.add(replace(INITIAL, revision=2, document=torn), keep=64)

    await harness.work()

    assert harness.plane.candidate(candidate) == candidate
    with harness.units.read() as unit:
        assert in_force(unit).policy.mode is Mode.MANUAL_ONLY
        assert not capture_in(unit).run_summary_candidates
    harness.set_policy(REJECT)
    with pytest.raises(Invalid):
        harness.policies.roll_back_policy(ADMIN, 2)
    assert harness.policies.policy()[0].mode is Mode.ENABLED
