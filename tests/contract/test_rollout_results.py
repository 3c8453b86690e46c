"""What runs show about a skill, and what of it counts."""

from typing import Any

import pytest

from tests.support.factories import ALICE, NOW, make_session
from tests.support.rollout_factories import make_trial
from tests.support.rollout_harness import MARKER, NAME, RolloutHarness
from understudy.core.errors import Conflict, Invalid, NotFound
from understudy.core.ids import new_id
from understudy.review.policy import PromotionSettings
from understudy.rollout.evidence import success_of
from understudy.rollout.model import EvidenceKind, Proof, Rollout, Stage
from understudy.rollout.results import SkillExecution, record_executed
from understudy.runs.model import Run, RunStatus
from understudy.sessions.journal import EventKind, NewEvent
from understudy.sessions.model import Spawn
from understudy.storage.unit import Units

pytestmark = pytest.mark.one_database

EXECUTED_ONLY = PromotionSettings(require_executed_evidence=True)


@pytest.fixture
def hand(units: Units) -> RolloutHarness:
    stagehand = RolloutHarness(units)
    stagehand.learn()
    return stagehand


def refused(hand: RolloutHarness, run: Run | str, kind: str = "verification", **fields: str) -> str:
    """Why a result is not taken; nothing changes then."""
    before = hand.get()
    with pytest.raises(Invalid) as told:
        hand.show(kind, run, **fields)
    assert hand.get() == before
    return told.value.code


def executed(
    hand: RolloutHarness,
    record: Rollout,
    run: Run,
    kind: str = "verification",
    *,
    success: bool = True,
) -> Rollout:
    trial = make_trial(record, "trl_1", workspace_digest="c" * 40)
    execution = SkillExecution(kind=EvidenceKind(kind), run=run, success=success, trial=trial)
    with hand.units.write() as unit:
        return record_executed(hand.transactions.within(unit, "alice"), record, execution)


def test_a_run_that_failed_or_lacks_the_marker_verifies_nothing(hand: RolloutHarness) -> None:
    hand.promote()
    for status in (RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.INTERRUPTED):
        assert refused(hand, hand.run(status=status)) == "verification_failed"
    assert refused(hand, hand.run("something else")) == "verification_failed"
    assert refused(hand, hand.run(MARKER.lower())) == "verification_failed"
    assert refused(hand, hand.run(status=RunStatus.RUNNING)) == "run_not_ended"


@pytest.mark.every_database
def test_a_completed_run_with_the_marker_verifies_on_somebodys_word(hand: RolloutHarness) -> None:
    hand.promote()
    run = hand.run(f"All is well: {MARKER}!")
    detail = hand.show("verification", run, expected_output_contains=f"  {MARKER} ")
    (evidence,) = detail.evidence
    assert (evidence.run_id, evidence.session_id, evidence.actor) == (run.run_id, "s1", "alice")
    assert evidence.proof is Proof.ATTESTED
    assert detail.record.fingerprint in evidence.note
    assert detail.verifier_run_ids == (run.run_id,)
    assert detail.counts.verification_status == "verified"
    event = detail.events[-1]
    assert (event.event, event.rollout_kind, event.success) == (
        "rollout_result",
        "verification",
        True,
    )
    assert (event.from_status, event.to_status, event.run_id) == ("draft", "draft", run.run_id)
    # It is a change that others notice, and nothing to go back to.
    assert detail.record.revision == 2
    assert hand.told()[-1].data["what"] == "rollout_result"


def test_only_the_last_output_that_says_anything_counts(hand: RolloutHarness) -> None:
    def say(run: Run, text: object) -> None:
        event = NewEvent(kind=EventKind.OUTPUT, run_id=run.run_id, data={"text": text})
        with hand.units.write() as unit:
            unit.journal.append("s1", [event], at_ms=NOW)

    hand.promote()
    run = hand.run()
    say(run, "in the end, no")
    assert refused(hand, run) == "verification_failed"
    other = hand.run()
    say(other, "  \n")
    say(other, 7)
    assert hand.show("verification", other).counts.successful_run_count == 1


def test_where_nothing_is_expected_a_completed_run_has_to_say_something(
    hand: RolloutHarness,
) -> None:
    silent, failed, said = hand.run(" \n"), hand.run(status=RunStatus.FAILED), hand.run("x")
    with hand.units.read() as unit:
        found = [success_of(unit, run, "") for run in (silent, failed, said)]
    assert [it.success for it in found] == [False, False, True]
    assert found[0].why == f"run {silent.run_id} put out nothing"


def test_the_same_run_again_changes_nothing_whatever_it_is_said_to_show(
    hand: RolloutHarness,
) -> None:
    hand.bring_to(Stage.CANARY)
    before = hand.get()
    (run_id,) = before.verifier_run_ids
    assert hand.show("verification", run_id) == before
    assert hand.show("canary", run_id) == before
    assert hand.show("verification", run_id, expected_output_contains="else") == before


def test_unknown_runs_blank_markers_and_other_definitions_are_refused(hand: RolloutHarness) -> None:
    record = hand.promote().record
    with pytest.raises(NotFound) as told:
        hand.show("verification", "run_nobody")
    assert told.value.code == "run_not_found"
    with pytest.raises(NotFound) as told:
        hand.show("verification", hand.run(), skill_name="nobody")
    assert told.value.code == "rollout_not_found"
    run = hand.run()
    assert refused(hand, run, expected_output_contains=" \t") == "invalid_marker"
    assert refused(hand, run, expected_output_contains="x" * 1001) == "invalid_marker"
    assert refused(hand, run, definition_fingerprint="deadbeef") == "fingerprint_mismatch"
    assert hand.show("verification", run, definition_fingerprint=record.fingerprint).evidence


def test_canary_results_need_the_canary_stage_and_a_live_rollout(hand: RolloutHarness) -> None:
    hand.bring_to(Stage.VERIFIED)
    assert refused(hand, hand.run(), "canary") == "rollout_not_in_canary"
    hand.rollouts.revoke(ALICE, NAME)
    assert refused(hand, hand.run()) == "rollout_revoked"
    assert refused(hand, hand.run(), "canary") == "rollout_revoked"


def test_a_canary_that_did_not_complete_failed(hand: RolloutHarness) -> None:
    hand.bring_to(Stage.CANARY)
    assert refused(hand, hand.run(status=RunStatus.RUNNING), "canary") == "run_not_ended"
    detail = hand.show("canary", hand.run(status=RunStatus.CANCELLED))
    assert (detail.counts.canary_failure_count, detail.evidence[-1].success) == (1, False)
    # A second one is counted; it is held already.
    detail = hand.show("canary", hand.run("no"))
    assert (detail.counts.canary_failure_count, hand.happened().count("hold")) == (2, 1)


def test_a_lying_marker_is_refused_where_executed_evidence_is_asked(hand: RolloutHarness) -> None:
    hand.policy = EXECUTED_ONLY
    fingerprint = hand.promote().record.fingerprint
    assert refused(hand, hand.run()) == "evidence_not_executed"
    assert refused(hand, hand.run(skill_fingerprint="another")) == "evidence_not_executed"
    detail = hand.show("verification", hand.run(skill_fingerprint=fingerprint))
    assert detail.evidence[0].proof is Proof.EXECUTED
    assert hand.promote(status=Stage.VERIFIED).record.status is Stage.VERIFIED


def test_what_was_taken_on_a_word_no_longer_counts_once_more_is_asked(hand: RolloutHarness) -> None:
    hand.promote()
    hand.show("verification", hand.run())
    hand.policy = EXECUTED_ONLY
    assert [it.code for it in hand.get().missing] == ["needs_verification"]
    with pytest.raises(Invalid):
        hand.promote(status=Stage.VERIFIED)
    executed(hand, hand.get().record, hand.run())
    assert hand.promote(status=Stage.VERIFIED).record.status is Stage.VERIFIED


def carried_out(hand: RolloutHarness, output: str = MARKER, **fields: Any) -> tuple[Run, Run]:
    """A run that prints the marker, and a sidechain of it that carried the definition out."""
    parent = hand.run()
    return parent, carried_out_for(parent, hand, output, **fields)


def carried_out_for(parent: Run, hand: RolloutHarness, output: str = MARKER, **fields: Any) -> Run:
    """A sidechain of a run, which carried the definition out."""
    session_id = new_id("ses")
    with hand.units.write() as unit:
        unit.sessions.add(make_session(session_id, parent_session_id="s1"))
    fields = {"skill_fingerprint": hand.get().record.fingerprint} | fields
    child = hand.run(output, session_id=session_id, **fields)
    spawn = Spawn(
        session_id=session_id, run_id=parent.run_id, first_run_id=child.run_id, created_at_ms=NOW
    )
    with hand.units.write() as unit:
        unit.sidechains.add(spawn)
    return child


def test_a_run_whose_sidechain_carried_the_skill_out_executed_it(hand: RolloutHarness) -> None:
    hand.policy = EXECUTED_ONLY
    hand.promote()
    for which in (0, 1):
        pair = carried_out(hand)
        detail = hand.show("verification", pair[which])
        assert (detail.evidence[-1].run_id, detail.evidence[-1].proof) == (
            pair[which].run_id,
            Proof.EXECUTED,
        )
        # It was carried out once, whichever of the two is named.
        assert hand.show("verification", pair[1 - which]) == detail


@pytest.mark.parametrize("kind", ["verification", "canary"])
def test_a_run_that_has_it_carried_out_thrice_succeeded_once(
    hand: RolloutHarness, kind: str
) -> None:
    hand.bring_to(Stage.CANARY)
    hand.policy = EXECUTED_ONLY
    parent, first = carried_out(hand)
    others = [carried_out_for(parent, hand) for _ in range(2)]
    detail = hand.show(kind, first)
    assert detail.evidence[-1].run_id == first.run_id
    for run in (*others, parent):
        assert hand.show(kind, run) == detail


def test_a_sidechain_that_failed_is_heard_whatever_the_one_beside_it_showed(
    hand: RolloutHarness,
) -> None:
    hand.bring_to(Stage.CANARY)
    parent, first = carried_out(hand)
    hand.show("canary", first)
    detail = hand.show("canary", carried_out_for(parent, hand, "no"))
    assert (detail.counts.canary_success_count, detail.counts.canary_failure_count) == (1, 1)
    assert detail.record.held_reason is not None


def test_what_the_daemon_sees_of_a_run_counts_once_with_what_people_named(
    hand: RolloutHarness,
) -> None:
    record = hand.bring_to(Stage.CANARY).record
    parent, first = carried_out(hand)
    second, failed = carried_out_for(parent, hand), carried_out_for(parent, hand, "no")
    counted = hand.show("canary", second).counts
    assert counted.canary_success_count == 1
    executed(hand, record, first, "canary")
    assert hand.get().counts == counted
    # A failure is never hidden by a success.
    executed(hand, record, failed, "canary", success=False)
    assert hand.get().counts.canary_failure_count == 1


def test_sidechains_count_as_the_session_above_them(hand: RolloutHarness) -> None:
    hand.promote()
    for _ in range(2):
        hand.show("verification", carried_out(hand)[1])
    counts = hand.get().counts
    assert (counts.successful_run_count, counts.distinct_session_count) == (2, 1)
    assert {it.root_session_id for it in hand.get().evidence} == {"s1"}
    with hand.units.write() as unit:
        unit.sessions.add(make_session("s2"))
    hand.show("verification", hand.run(session_id="s2"))
    assert hand.get().counts.distinct_session_count == 2


def test_what_a_run_prints_beside_a_skill_that_did_not_work_proves_nothing(
    hand: RolloutHarness,
) -> None:
    hand.policy = EXECUTED_ONLY
    hand.promote()
    for output, fields in (
        (MARKER, {"status": RunStatus.FAILED}),
        (MARKER, {"status": RunStatus.CANCELLED}),
        ("I could not do it", {}),
        (MARKER, {"skill_fingerprint": "another"}),
    ):
        parent, _ = carried_out(hand, output, **fields)
        assert refused(hand, parent) == "evidence_not_executed"
    # Where nothing more is asked, somebody's word is enough.
    hand.policy = PromotionSettings()
    liar, _ = carried_out(hand, "I could not do it")
    assert hand.show("verification", liar).evidence[-1].proof is Proof.ATTESTED


def test_one_that_failed_among_several_makes_no_success(hand: RolloutHarness) -> None:
    hand.policy = EXECUTED_ONLY
    hand.promote()
    parent, _ = carried_out(hand)
    _, failed = carried_out(hand, "no")
    with hand.units.write() as unit:
        unit.sessions.add(make_session("more", parent_session_id="s1"))
        spawn = Spawn(
            session_id="more", run_id=parent.run_id, first_run_id=failed.run_id, created_at_ms=NOW
        )
        unit.sidechains.add(spawn)
    assert refused(hand, parent) == "evidence_not_executed"


def test_what_ran_before_the_attempt_began_did_not_execute_it(hand: RolloutHarness) -> None:
    """The same words again, after it was taken back to draft."""
    hand.promote()
    parent, child = carried_out(hand)
    hand.show("verification", child)
    hand.promote(status=Stage.VERIFIED)
    assert hand.promote(status=Stage.DRAFT).counts.successful_run_count == 0
    hand.policy = EXECUTED_ONLY
    for old in (parent, child):
        assert refused(hand, old) == "evidence_not_executed"
    assert hand.show("verification", carried_out(hand)[0]).evidence[0].proof is Proof.EXECUTED
    hand.policy = PromotionSettings()
    assert hand.show("verification", child).evidence[1].proof is Proof.ATTESTED


def test_a_canary_is_what_ran_in_the_canary(hand: RolloutHarness) -> None:
    hand.bring_to(Stage.VERIFIED)
    early, _ = carried_out(hand)
    hand.policy = EXECUTED_ONLY
    hand.show("verification", carried_out(hand)[0])
    hand.promote(status=Stage.CANARY)
    assert refused(hand, early, "canary") == "evidence_not_executed"
    detail = hand.show("canary", carried_out(hand)[0])
    assert (detail.counts.canary_success_count, detail.evidence[-1].proof) == (1, Proof.EXECUTED)


@pytest.mark.every_database
def test_a_canary_that_was_seen_to_fail_was_executed(hand: RolloutHarness) -> None:
    hand.bring_to(Stage.CANARY)
    hand.policy = EXECUTED_ONLY
    parent, _ = carried_out(hand, "no", status=RunStatus.FAILED)
    # It completed, so by itself it says nothing against the skill.
    assert refused(hand, parent, "canary") == "evidence_not_executed"
    _, child = carried_out(hand, "no")
    detail = hand.show("canary", child)
    assert (detail.evidence[-1].proof, detail.evidence[-1].success) == (Proof.EXECUTED, False)
    assert detail.record.held_reason is not None


@pytest.mark.parametrize("fingerprint", [None, "of this", "of another skill"])
def test_a_run_of_a_trial_is_judged_by_the_daemon_alone(
    hand: RolloutHarness, fingerprint: str | None
) -> None:
    own = hand.promote().record.fingerprint
    run = hand.run(
        "FAILED",
        trial_id="trl_9",
        skill_fingerprint=own if fingerprint == "of this" else fingerprint,
    )
    assert refused(hand, run, expected_output_contains="FAILED") == "evidence_of_a_trial"
    assert refused(hand, hand.run(trial_id="trl_9", status=RunStatus.RUNNING)) == (
        "evidence_of_a_trial"
    )


def test_a_trial_that_passed_in_this_attempt_is_known(hand: RolloutHarness) -> None:
    record, run = hand.promote().record, hand.run(trial_id="trl_1")
    executed(hand, record, run)
    before = hand.get()
    assert hand.show("verification", run, expected_output_contains="else") == before
    hand.promote(instructions="Something else.")
    hand.promote()
    assert refused(hand, run) == "evidence_of_a_trial"


def test_a_marker_that_looks_like_a_secret_is_not_looked_for(hand: RolloutHarness) -> None:
    hand.promote()
    secret = "client" + "Secret: hunter2" + "hunter2"
    assert refused(hand, hand.run(secret), expected_output_contains=secret) == "secret_marker"


def test_a_trial_is_recorded_as_executed_once(hand: RolloutHarness) -> None:
    record, run = hand.promote().record, hand.run()
    kept = executed(hand, record, run)
    assert executed(hand, record, run) == kept
    detail = hand.get()
    (evidence,) = detail.evidence
    assert (evidence.proof, evidence.trial_id, evidence.success) == (Proof.EXECUTED, "trl_1", True)
    assert (detail.record, detail.counts.executed_run_count) == (kept, 1)
    assert hand.told()[-1].data["run_id"] == run.run_id


def test_a_trial_that_came_too_late_or_failed_to_verify_says_nothing(hand: RolloutHarness) -> None:
    first = hand.promote().record
    assert executed(hand, first, hand.run("no"), success=False) == first
    hand.promote(instructions="Something else.")
    second = hand.promote().record
    # The same words as at first, in another attempt.
    assert second.fingerprint == first.fingerprint
    assert executed(hand, first, hand.run()) == second
    assert executed(hand, second, hand.run(), "canary") == second
    hand.rollouts.revoke(ALICE, NAME)
    executed(hand, second, hand.run())
    assert hand.get().evidence == ()


def test_a_canary_trial_that_fails_holds_the_rollout(hand: RolloutHarness) -> None:
    record = hand.bring_to(Stage.CANARY).record
    held = executed(hand, record, hand.run("no"), "canary", success=False)
    assert held.held_reason is not None
    assert hand.happened()[-2:] == ["rollout_result", "hold"]


def test_what_was_accepted_is_counted_and_what_was_not_is_not(hand: RolloutHarness) -> None:
    hand.bring_to(Stage.ACTIVE)
    refused(hand, hand.run("no"))
    counted = hand.counters.snapshot()
    assert {name: n for name, n in counted["evidence_total"].items() if n} == {
        "verification_attested_success": 1,
        "canary_attested_success": 1,
    }
    assert counted["events_total"]["promote"] == 4


def test_a_rollout_is_held_where_it_is_and_let_go(hand: RolloutHarness) -> None:
    hand.bring_to(Stage.VERIFIED)
    held = hand.rollouts.hold(ALICE, NAME, reason=" not before Monday ")
    assert held.record.held_reason == "not before Monday"
    assert hand.rollouts.hold(ALICE, NAME, reason="again") == held
    with pytest.raises(Invalid) as told:
        hand.promote(status=Stage.CANARY)
    assert [it.code for it in told.value.errors] == ["rollout_held"]
    free = hand.rollouts.release(ALICE, NAME)
    assert free.record.held_reason is None
    assert hand.rollouts.release(ALICE, NAME) == free
    assert hand.promote(status=Stage.CANARY).record.status is Stage.CANARY
    assert hand.rollouts.hold(ALICE, NAME).record.held_reason == "held by hand"
    assert hand.happened().count("hold") == 2


def test_what_a_person_holds_only_a_person_lets_go(hand: RolloutHarness) -> None:
    hand.bring_to(Stage.CANARY)
    hand.rollouts.hold(ALICE, NAME, reason="legal says stop")
    for step in (
        lambda: hand.promote(status=Stage.DRAFT),
        lambda: hand.promote(instructions="Something else."),
        lambda: hand.rollouts.revoke(ALICE, NAME),
        hand.promote,
    ):
        step()
        assert hand.get().record.held_reason == "legal says stop"
    assert "release" not in hand.happened()
    hand.show("verification", hand.run())
    assert [it.code for it in hand.get().missing] == ["rollout_held"]
    assert hand.rollouts.release(ALICE, NAME).record.held_reason is None


@pytest.mark.every_database
def test_what_is_held_is_not_rolled_back(hand: RolloutHarness) -> None:
    hand.bring_to(Stage.ACTIVE)
    hand.rollouts.revoke(ALICE, NAME)
    hand.promote()
    hand.rollouts.hold(ALICE, NAME)
    revoked = hand.rollouts.revoke(ALICE, NAME).record
    assert (revoked.held_reason, revoked.is_flagged) == ("held by hand", False)
    with pytest.raises(Conflict) as told:
        hand.rollouts.rollback(ALICE, NAME)
    assert told.value.code == "rollback_refused"
    hand.rollouts.release(ALICE, NAME)
    assert hand.rollouts.rollback(ALICE, NAME).record.status is Stage.ACTIVE


@pytest.mark.parametrize("how", ["draft", "revoke"])
def test_what_the_daemon_held_is_let_go_with_the_attempt_and_says_so(
    hand: RolloutHarness, how: str
) -> None:
    hand.bring_to(Stage.CANARY)
    hand.show("canary", hand.run("no"))
    if how == "draft":
        hand.promote(status=Stage.DRAFT)
    else:
        hand.rollouts.revoke(ALICE, NAME)
    detail = hand.get()
    assert detail.record.held_reason is None
    released = detail.events[-2]
    assert (released.event, released.from_status) == ("release", "canary")
    assert released.reason == "the attempt that the daemon held it for is over"


def test_a_person_takes_over_what_the_daemon_held(hand: RolloutHarness) -> None:
    hand.bring_to(Stage.CANARY)
    hand.show("canary", hand.run("no"))
    assert hand.rollouts.hold(ALICE, NAME, reason="mine").record.held_reason == "mine"
    # What fails now changes nothing about it.
    hand.show("canary", hand.run("no"))
    assert hand.promote(status=Stage.DRAFT).record.held_reason == "mine"


def test_what_is_in_force_or_over_is_not_held(hand: RolloutHarness) -> None:
    def refuse() -> str:
        with pytest.raises(Conflict) as told:
            hand.rollouts.hold(ALICE, NAME)
        return told.value.code

    hand.bring_to(Stage.ACTIVE)
    assert refuse() == "rollout_not_on_its_way"
    hand.rollouts.revoke(ALICE, NAME)
    assert refuse() == "rollout_not_on_its_way"
