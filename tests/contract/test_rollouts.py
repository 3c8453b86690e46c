"""Promoting procedures: what may become a skill, and what each stage asks for."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support.factories import ALICE, NOW
from tests.support.rollout_factories import make_trial
from tests.support.rollout_harness import ASKED, NAME, RolloutHarness
from understudy.core.errors import Conflict, Invalid, NotFound
from understudy.core.page import PageRequest
from understudy.learnings.model import Kind, LearningSource, LearningStatus, Tier
from understudy.review.policy import PromotionSettings
from understudy.rollout.definition import DEFAULT_DESCRIPTION
from understudy.rollout.model import EvidenceKind, RolloutFilter, Stage
from understudy.rollout.replay.report import (
    JudgedBy,
    ReplayCase,
    ReplayedCase,
    ReplayedRun,
    ReplayVerdict,
)
from understudy.rollout.trials.trial import TrialState
from understudy.sessions.learning_scopes import session_scope
from understudy.storage.unit import Units

pytestmark = pytest.mark.one_database

UNFIT: dict[str, dict[str, Any]] = {
    "fact": {"kind": Kind.FACT},
    "provisional": {"status": LearningStatus.PROVISIONAL, "publish_tier": Tier.PROVISIONAL},
    "revoked": {"status": LearningStatus.REVOKED},
    "of a session": {"scope": session_scope("s1")},
}


@pytest.fixture
def hand(units: Units) -> RolloutHarness:
    return RolloutHarness(units)


def nothing_is_there(hand: RolloutHarness) -> bool:
    return hand.rollouts.page(PageRequest()).items == () and hand.audit() == []


@pytest.mark.every_database
@pytest.mark.parametrize("fields", UNFIT.values(), ids=UNFIT)
def test_only_an_active_procedure_of_the_workspace_is_promoted(
    hand: RolloutHarness, fields: dict[str, Any]
) -> None:
    hand.learn(**fields)
    with pytest.raises(Invalid) as told:
        hand.promote()
    assert told.value.code == "source_not_promotable"
    assert nothing_is_there(hand)


def test_what_nobody_knows_is_not_promoted_and_not_found(hand: RolloutHarness) -> None:
    with pytest.raises(NotFound) as told:
        hand.promote("lrn_nobody")
    assert told.value.code == "learning_not_found"
    for ask in (
        lambda: hand.get(),
        lambda: hand.rollouts.events(NAME, PageRequest()),
        lambda: hand.rollouts.history(NAME, PageRequest()),
        lambda: hand.rollouts.revoke(ALICE, NAME),
        lambda: hand.rollouts.rollback(ALICE, NAME),
        lambda: hand.rollouts.at(NAME, 1),
    ):
        with pytest.raises(NotFound) as missing:
            ask()
        assert missing.value.code == "rollout_not_found"


def test_a_bad_definition_or_another_beginning_than_draft_leaves_nothing(
    hand: RolloutHarness,
) -> None:
    hand.learn()
    for fields in ({"context": "inline"}, {"skill_name": "a b"}):
        with pytest.raises(Invalid) as told:
            hand.promote(**fields)
        assert told.value.code == "invalid_definition"
    for stage in set(Stage) - {Stage.DRAFT}:
        with pytest.raises(Invalid) as told:
            hand.promote(status=stage)
        assert told.value.code == "rollout_starts_in_draft"
    assert nothing_is_there(hand)


def test_a_promoted_procedure_is_a_draft_that_nobody_is_offered(hand: RolloutHarness) -> None:
    learning = hand.learn()
    detail = hand.promote(description=" ")
    record = detail.record
    assert (record.status, record.attempt, record.revision) == (Stage.DRAFT, 1, 1)
    assert (record.promoted_by, record.promoted_at_ms) == ("alice", NOW + 1)
    assert record.definition.description == DEFAULT_DESCRIPTION
    assert learning.content not in str(record)
    (event,) = detail.events
    assert (event.event, event.from_status, event.to_status) == ("promote", None, "draft")
    assert event.definition_fingerprint == record.fingerprint
    assert [it.code for it in detail.missing] == ["needs_verification"]
    assert hand.get() == detail
    assert hand.mounted.files == {}
    (entry,) = hand.audit()
    assert (entry.action, entry.resource_id, entry.actor) == ("rollouts.promote", NAME, "alice")


@pytest.mark.every_database
def test_the_session_of_the_source_hears_of_it_without_its_words(hand: RolloutHarness) -> None:
    hand.learn()
    hand.promote()
    (told,) = hand.told()
    assert told.data == {
        "what": "rollout_promote",
        "learning_id": "lrn_1",
        "skill_name": NAME,
        "status": "draft",
    }


def test_a_learning_that_names_a_session_that_is_gone_is_promoted_all_the_same(
    hand: RolloutHarness,
) -> None:
    hand.learn(source=LearningSource(session_id="gone"))
    assert hand.promote().record.status is Stage.DRAFT


def test_a_learning_has_one_live_skill_and_a_name_one_owner(hand: RolloutHarness) -> None:
    hand.learn("lrn_1")
    hand.learn("lrn_2")
    hand.promote("lrn_1")
    with pytest.raises(Conflict) as told:
        hand.promote("lrn_1", skill_name="other")
    assert (told.value.code, told.value.params["skill_name"]) == ("already_promoted", NAME)
    with pytest.raises(Conflict) as told:
        hand.promote("lrn_2")
    assert told.value.code == "skill_already_exists"
    hand.taken.add("other")
    with pytest.raises(Conflict) as told:
        hand.promote("lrn_2", skill_name="other")
    assert told.value.code == "skill_already_exists"
    assert len(hand.audit()) == 1


def test_a_name_that_was_taken_back_may_be_used_again_if_it_is_still_free(
    hand: RolloutHarness,
) -> None:
    hand.learn("lrn_1")
    hand.learn("lrn_2")
    hand.bring_to(Stage.VERIFIED)
    hand.rollouts.revoke(ALICE, NAME)
    hand.taken.add(NAME)
    with pytest.raises(Conflict):
        hand.promote("lrn_2")
    hand.taken.clear()
    detail = hand.promote("lrn_2")
    assert (detail.record.status, detail.record.source_learning_id) == (Stage.DRAFT, "lrn_2")
    assert detail.counts.successful_run_count == 0
    assert detail.record.revoked_at_ms is None


def test_the_same_again_changes_nothing(hand: RolloutHarness) -> None:
    hand.learn()
    shown = {Stage.VERIFIED: "verification", Stage.ACTIVE: "canary"}
    for stage in (Stage.DRAFT, Stage.VERIFIED, Stage.CANARY, Stage.ACTIVE):
        if stage in shown:
            hand.show(shown[stage], hand.run())
        first = hand.promote(status=stage)
        assert hand.promote(status=stage) == first
        assert first.record.status is stage


@pytest.mark.every_database
def test_a_draft_is_edited_freely_and_starts_anew_with_other_words(hand: RolloutHarness) -> None:
    hand.learn()
    first = hand.promote()
    hand.show("verification", hand.run())
    changed = hand.promote(instructions="Something else.")
    assert changed.record.fingerprint != first.record.fingerprint
    assert changed.counts.successful_run_count == 0
    assert changed.evidence == ()
    # The first words again are a third attempt: what spoke for the first one is over.
    assert hand.promote().counts.successful_run_count == 0
    numbers = [it.number for it in hand.rollouts.history(NAME, PageRequest()).items]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers == [3, 2, 1]


def test_verified_needs_evidence_for_these_very_words(hand: RolloutHarness) -> None:
    hand.learn()
    hand.promote()
    with pytest.raises(Invalid) as told:
        hand.promote(status=Stage.VERIFIED)
    assert told.value.code == "rollout_not_ready"
    assert [(it.pointer, it.code) for it in told.value.errors] == [
        ("/status", "needs_verification")
    ]
    hand.show("verification", hand.run())
    with pytest.raises(Invalid):
        hand.promote(status=Stage.VERIFIED, instructions="Something else.")
    assert hand.promote(status=Stage.VERIFIED).record.status is Stage.VERIFIED


def test_other_words_in_verified_take_the_evidence_with_them(hand: RolloutHarness) -> None:
    hand.learn()
    before = hand.bring_to(Stage.VERIFIED)
    with pytest.raises(Invalid) as told:
        hand.promote(status=Stage.VERIFIED, instructions="Something else.")
    assert told.value.code == "rollout_not_ready"
    assert hand.get() == before
    after = hand.promote(instructions="Something else.")
    assert (after.record.status, after.counts.successful_run_count) == (Stage.DRAFT, 0)
    assert after.record.fingerprint != before.record.fingerprint


def test_no_stage_is_passed_over(hand: RolloutHarness) -> None:
    hand.learn()
    hand.bring_to(Stage.DRAFT)
    hand.show("verification", hand.run())
    for target in (Stage.CANARY, Stage.ACTIVE, Stage.REVOKED):
        with pytest.raises(Invalid) as told:
            hand.promote(status=target)
        assert told.value.code == "invalid_rollout_step"
    hand.promote(status=Stage.VERIFIED)
    with pytest.raises(Invalid) as told:
        hand.promote(status=Stage.ACTIVE)
    assert [it.code for it in told.value.errors] == ["needs_canary"]


def test_active_needs_a_canary_that_succeeded_and_none_that_failed(hand: RolloutHarness) -> None:
    hand.learn()
    hand.bring_to(Stage.CANARY)
    assert hand.mounted.files == {}
    with pytest.raises(Invalid) as told:
        hand.promote(status=Stage.ACTIVE)
    assert "needs one successful canary for fingerprint" in told.value.detail
    hand.show("canary", hand.run())
    active = hand.promote(status=Stage.ACTIVE)
    assert active.record.status is Stage.ACTIVE
    assert list(hand.mounted.files) == [NAME]
    assert active.missing == ()


@pytest.mark.every_database
def test_a_failed_canary_sends_it_back_to_the_beginning(hand: RolloutHarness) -> None:
    hand.learn()
    hand.bring_to(Stage.CANARY)
    failed = hand.show("canary", hand.run("no"))
    assert failed.counts.canary_failure_count == 1
    # Nobody goes on before somebody has looked.
    assert failed.record.held_reason is not None
    assert [str(it.event) for it in failed.events[-2:]] == ["rollout_result", "hold"]
    assert failed.events[-1].actor == "daemon"
    both = hand.show("canary", hand.run())
    assert (both.counts.canary_success_count, both.counts.canary_failure_count) == (1, 1)
    with pytest.raises(Invalid) as told:
        hand.promote(status=Stage.ACTIVE)
    assert {it.code for it in told.value.errors} == {"canary_failed", "rollout_held"}
    hand.rollouts.release(ALICE, NAME)
    with pytest.raises(Invalid) as told:
        hand.promote(status=Stage.ACTIVE)
    assert {it.code for it in told.value.errors} == {"canary_failed"}
    back = hand.promote(status=Stage.DRAFT)
    assert (back.counts.canary_failure_count, back.counts.successful_run_count) == (0, 0)
    hand.show("verification", hand.run())
    hand.promote(status=Stage.VERIFIED)
    hand.promote(status=Stage.CANARY)
    hand.show("canary", hand.run())
    assert hand.promote(status=Stage.ACTIVE).record.status is Stage.ACTIVE


@pytest.mark.parametrize(
    "change", [{"instructions": "Else."}, {"model": "m"}, {"allowed_tools": ["read_file"]}]
)
def test_what_is_active_is_changed_by_nobody(hand: RolloutHarness, change: dict[str, Any]) -> None:
    hand.learn()
    before = hand.bring_to(Stage.ACTIVE)
    files = dict(hand.mounted.files)
    for stage in (None, Stage.DRAFT, Stage.ACTIVE):
        with pytest.raises(Conflict) as told:
            hand.promote(status=stage, **change)
        assert told.value.code == "active_definition_change"
    # The words that it has are fine, and say nothing new.
    assert hand.promote(status=Stage.ACTIVE) == before
    assert hand.promote() == before
    assert hand.mounted.files == files
    with pytest.raises(Invalid):
        hand.promote(status=Stage.DRAFT)
    assert hand.get() == before


def test_a_policy_asks_for_runs_in_several_sessions(hand: RolloutHarness) -> None:
    hand.policy = PromotionSettings(min_successes=3, min_sessions=2)
    hand.learn()
    hand.promote()
    for _ in range(3):
        hand.show("verification", hand.run())
    with pytest.raises(Invalid) as told:
        hand.promote(status=Stage.VERIFIED)
    assert "needs 3 accepted verifications in 2 sessions" in told.value.detail
    detail = hand.show("verification", hand.run(session_id="s2"))
    assert (detail.counts.successful_run_count, detail.counts.distinct_session_count) == (4, 2)
    assert hand.promote(status=Stage.VERIFIED).record.status is Stage.VERIFIED


@pytest.mark.every_database
def test_a_policy_asks_for_a_replay_before_it_is_active(hand: RolloutHarness) -> None:
    hand.learn()
    hand.policy = PromotionSettings(require_replay=True)
    record = hand.bring_to(Stage.CANARY).record
    hand.show("canary", hand.run())
    with pytest.raises(Invalid) as told:
        hand.promote(status=Stage.ACTIVE)
    assert [it.code for it in told.value.errors] == ["needs_replay"]
    trial = make_trial(
        record,
        kind=EvidenceKind.CANARY,
        state=TrialState.PASSED,
        cases=({"run_id": "run_1"},),
        report={"regressions": 0},
        ended_at_ms=NOW,
    )
    plain, failed = replace(trial, trial_id="trl_2", cases=()), TrialState.FAILED
    for other in (plain, replace(trial, trial_id="trl_3", state=failed)):
        with hand.units.write() as unit:
            unit.rollout_trials.add(other)
        with pytest.raises(Invalid):
            hand.promote(status=Stage.ACTIVE)
    fared = ReplayedRun(run_id="run_1", verdict=ReplayVerdict.SUCCEEDED, judged_by=JudgedBy.MARKER)
    judged = ReplayCase(
        trial_id="trl_4",
        number=1,
        recorded_run_id="run_1",
        owner_id="alice",
        marker="x",
        report=ReplayedCase(recorded=fared, without_skill=fared, with_skill=fared),
        judged_at_ms=NOW,
    )
    with hand.units.write() as unit:
        unit.rollout_trials.add(replace(trial, trial_id="trl_4", created_at_ms=NOW + 1))
        unit.replay_cases.add(judged)
    assert hand.promote(status=Stage.ACTIVE).record.status is Stage.ACTIVE


@pytest.mark.every_database
def test_rollouts_are_listed_with_their_counts_and_by_what_is_asked(hand: RolloutHarness) -> None:
    for number in (1, 2, 3):
        hand.learn(f"lrn_{number}")
    hand.bring_to(Stage.VERIFIED, "lrn_1", skill_name="b")
    hand.promote("lrn_2", skill_name="a")
    hand.promote("lrn_3", skill_name="c")
    page = hand.rollouts.page(PageRequest(limit=2))
    assert [(it.record.skill_name, it.counts.successful_run_count) for it in page.items] == [
        ("a", 0),
        ("b", 1),
    ]
    assert page.next_cursor is not None

    def named(**narrowed: Any) -> list[str]:
        found = hand.rollouts.page(PageRequest(), narrowed=RolloutFilter(**narrowed))
        return [it.record.skill_name for it in found.items]

    assert named(status=Stage.DRAFT) == ["a", "c"]
    assert named(source_learning_id="lrn_1") == ["b"]
    assert named(source_learning_id="lrn_1", status=Stage.DRAFT) == []


@pytest.mark.every_database
def test_a_rollout_is_shown_as_it_was_at_any_change(hand: RolloutHarness) -> None:
    hand.learn()
    hand.promote()
    now = hand.promote(instructions="Something else.").record
    assert hand.rollouts.at(NAME, now.revision) == now
    assert hand.rollouts.at(NAME, 1).definition.instructions == ASKED.instructions
    with pytest.raises(NotFound) as told:
        hand.rollouts.at(NAME, 99)
    assert told.value.code == "rollout_snapshot_not_found"
