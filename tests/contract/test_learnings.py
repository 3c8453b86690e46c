"""Learnings: taken back, replaced and traced."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from tests.support.factories import (
    ADMIN,
    ALICE,
    NOW,
    bound,
    make_persona,
    make_run,
    make_session,
)
from tests.support.learning_factories import PERSONA, PROJECT, SESSION, keep, make_learning
from tests.support.learning_harness import LearningHarness
from understudy.core.errors import Conflict, Invalid, NotFound, UnderstudyError
from understudy.core.page import PageRequest
from understudy.core.principal import Principal
from understudy.learnings.decisions import by_policy, reject
from understudy.learnings.events import LearningNotice, Listeners
from understudy.learnings.guard import SecretGuard
from understudy.learnings.model import (
    AutomationReview,
    Candidate,
    EvidenceRef,
    JudgeVerdict,
    Kind,
    Learning,
    LearningFilter,
    LearningSource,
    LearningStatus,
    LearningUse,
    Mode,
    PolicyDecision,
    ReviewAction,
    Sensitivity,
    Verification,
)
from understudy.learnings.publication import PublishChanges, publish
from understudy.learnings.service import LearningService, Replacement
from understudy.learnings.status import status_of
from understudy.sessions.learning_scopes import WORKSPACE, session_scope
from understudy.storage.unit import Unit, Units

ATLAS = "Project codename is Atlas."
BOREALIS = "Project codename is Borealis."
CYGNUS = "Project codename is Cygnus."
SECRET = "api-key: sk-" + "proj-x1"


@pytest.fixture
def plane(units: Units) -> LearningHarness:
    return LearningHarness(units)


def refused(kind: type[UnderstudyError], act: Callable[[], object]) -> str:
    with pytest.raises(kind) as told:
        act()
    return told.value.code


def review(rule: str) -> AutomationReview:
    return AutomationReview(
        mode=Mode.ENABLED,
        action=ReviewAction.PUBLISH_ACTIVE,
        reviewed_at_ms=NOW,
        reason=f"rule {rule}",
        policy_revision=1,
        matched_rule_name=rule,
        judge=JudgeVerdict(action=ReviewAction.PUBLISH_ACTIVE, judged_at_ms=NOW, reason="sound"),
    )


def by_daemon(plane: LearningHarness, content: str, rule: str) -> Learning:
    """A learning that automation published and verified."""
    candidate = plane.propose(content)
    with plane.units.write() as unit:
        decider = by_policy(review(rule), verification=Verification.VERIFIED)
        return publish(
            unit, candidate.candidate_id, PublishChanges(), by=decider, now_ms=NOW
        ).learning


def rejected_by_daemon(plane: LearningHarness, content: str, rule: str) -> Candidate:
    candidate = plane.propose(content)
    with plane.units.write() as unit:
        return reject(unit, candidate.candidate_id, by=by_policy(review(rule)), now_ms=NOW)


def test_automation_publishes_in_its_own_name(plane: LearningHarness) -> None:
    learning = by_daemon(plane, ATLAS, "r1")
    assert learning.policy_decision is PolicyDecision.AUTOMATIC
    assert learning.policy_actor == "daemon"
    assert learning.verification_status is Verification.VERIFIED
    candidate = plane.candidates.get(str(learning.source_candidate_id))
    assert candidate.decided_by == "daemon"
    assert candidate.automation_review == review("r1")


def test_automation_meets_a_conflict_before_anything_is_written(plane: LearningHarness) -> None:
    first = plane.learn(ATLAS)
    candidate = plane.propose(BOREALIS)
    with plane.units.write() as unit:
        with pytest.raises(Conflict) as told:
            publish(
                unit,
                candidate.candidate_id,
                PublishChanges(),
                by=by_policy(review("r1")),
                now_ms=NOW,
            )
        # The unit can still be used, to have the candidate escalated.
        assert unit.candidates.get(candidate.candidate_id) == candidate
    assert told.value.params == {"learning_id": first.learning_id}
    assert plane.all_learnings() == [first]


def test_a_revoked_learning_says_why_and_stays_as_it_was_revoked_first(
    plane: LearningHarness,
) -> None:
    learning = plane.learn(ATLAS)
    revoked = plane.learnings.revoke(ALICE, learning.learning_id, reason=" was a joke ")
    assert revoked.status is LearningStatus.REVOKED
    assert (revoked.revoked_at_ms, revoked.revoked_reason) == (NOW, "was a joke")
    plane.clock.advance(1000)
    assert plane.learnings.revoke(ADMIN, learning.learning_id, reason="again") == revoked
    assert plane.learning(learning) == revoked
    assert [it.action for it in plane.audit()].count("learnings.revoke") == 1
    assert plane.linked == [learning.learning_id]


def test_a_blank_reason_is_no_reason(plane: LearningHarness) -> None:
    learning = plane.learn(ATLAS)
    assert plane.learnings.revoke(ALICE, learning.learning_id, reason="  ").revoked_reason is None


def test_a_reason_with_a_secret_revokes_nothing(plane: LearningHarness) -> None:
    learning = plane.learn(ATLAS)
    refused(Invalid, lambda: plane.learnings.revoke(ALICE, learning.learning_id, reason=SECRET))
    assert plane.learning(learning) == learning


def test_what_was_superseded_may_still_be_revoked(plane: LearningHarness) -> None:
    first = plane.learn(ATLAS)
    plane.supersede(first, BOREALIS)
    assert plane.learnings.revoke(ALICE, first.learning_id).status is LearningStatus.REVOKED


def test_superseding_puts_another_in_its_place(plane: LearningHarness) -> None:
    source, evidence = (
        LearningSource(run_id="run_1", session_id="s1"),
        (EvidenceRef(run_id="run_1"),),
    )
    first = plane.learn(
        ATLAS, source=source, evidence_refs=evidence, expires_at_ms=NOW + 99, confidence=70
    )
    plane.clock.advance(10)
    second = plane.supersede(first, CYGNUS).learning
    assert plane.learning(second) == second
    assert second.status is LearningStatus.ACTIVE
    assert second.supersedes == first.learning_id
    assert (second.policy_decision, second.policy_actor) == (PolicyDecision.MANUAL, "operator")
    assert (second.source, second.evidence_refs) == (source, evidence)
    assert (second.created_at_ms, second.published_at_ms) == (first.created_at_ms, NOW + 10)
    assert (second.expires_at_ms, second.confidence) == (NOW + 99, 70)
    assert second.semantic_key == "project codename=cygnus"
    ended = plane.learning(first)
    assert (ended.status, ended.superseded_by) == (LearningStatus.SUPERSEDED, second.learning_id)
    assert plane.linked == [first.learning_id]


def test_superseding_twice_answers_the_same_replacement(plane: LearningHarness) -> None:
    first = plane.learn(ATLAS)
    second = plane.supersede(first, CYGNUS)
    again = plane.supersede(first, BOREALIS)
    assert (again.learning, again.is_new) == (second.learning, False)
    assert len(plane.all_learnings()) == 2


def test_superseding_gives_what_is_asked_for_and_keeps_the_rest(plane: LearningHarness) -> None:
    first = plane.learn(ATLAS)
    second = plane.supersede(
        first,
        CYGNUS,
        scope=first.scope,
        kind=Kind.DECISION,
        sensitivity=Sensitivity.SENSITIVE,
        confidence=100,
        expires_at_ms=NOW + 5,
    ).learning
    assert second.kind is Kind.DECISION
    assert second.sensitivity is Sensitivity.SENSITIVE
    assert (second.confidence, second.expires_at_ms) == (100, NOW + 5)


def test_new_words_are_not_verified_because_the_old_ones_were(plane: LearningHarness) -> None:
    first = by_daemon(plane, ATLAS, "r1")
    second = plane.supersede(first, CYGNUS).learning
    assert second.verification_status is Verification.UNVERIFIED
    assert second.policy_decision is PolicyDecision.MANUAL


@pytest.mark.every_database
def test_a_wider_scope_takes_over_from_a_narrower_one(plane: LearningHarness) -> None:
    with plane.units.write() as unit:
        unit.sessions.add(make_session("s9", **bound(make_persona("helper"))))
    first = plane.learn(ATLAS, scope=session_scope("s9"))

    second = plane.supersede(first, CYGNUS, scope=PERSONA).learning
    assert (second.scope, second.supersedes) == (PERSONA, first.learning_id)
    assert plane.learning(first).superseded_by == second.learning_id
    third = plane.supersede(second, ATLAS, scope=WORKSPACE).learning
    assert third.scope == WORKSPACE
    # Sessions that are told of the old one would not be told of the new one.
    for narrower in (SESSION, PERSONA, PROJECT):
        code = refused(Conflict, partial(plane.supersede, third, CYGNUS, scope=narrower))
        assert code == "supersede_scope_mismatch"
    other = plane.learn(BOREALIS, scope=SESSION)
    code = refused(Conflict, lambda: plane.supersede(other, CYGNUS, scope=PERSONA))
    assert code == "supersede_scope_mismatch"
    assert plane.learning(third) == third


def test_superseding_has_its_limits(plane: LearningHarness) -> None:
    first = plane.learn(ATLAS)
    assert refused(Conflict, lambda: plane.supersede(first, CYGNUS, scope=SESSION)) == (
        "supersede_scope_mismatch"
    )
    refused(Invalid, lambda: plane.supersede(first, SECRET))
    refused(Invalid, lambda: plane.supersede(first, " "))
    refused(Invalid, lambda: plane.supersede(first, CYGNUS, confidence=101))
    code = refused(Invalid, lambda: plane.supersede(first, CYGNUS, kind=Kind.RUN_SUMMARY))
    assert code == "run_summary_is_daemon_owned"
    assert refused(NotFound, lambda: plane.supersede(make_learning(), CYGNUS)) == (
        "learning_not_found"
    )
    assert plane.all_learnings() == [first]
    plane.learnings.revoke(ALICE, first.learning_id)
    assert refused(Conflict, lambda: plane.supersede(first, CYGNUS)) == "learning_revoked"


def test_a_replacement_may_not_contradict_or_repeat_a_third_learning(
    plane: LearningHarness,
) -> None:
    snack = plane.learn("Default snack is banana")
    codename = plane.learn(ATLAS)
    with pytest.raises(Conflict) as told:
        plane.supersede(snack, BOREALIS)
    assert told.value.code == "learning_conflict"
    assert told.value.params["learning_id"] == codename.learning_id
    assert refused(Conflict, lambda: plane.supersede(snack, ATLAS)) == "learning_duplicate"
    assert plane.learning(snack) == snack
    # The same words again, said better, are fine.
    assert plane.supersede(codename, "Project codename: ATLAS").is_new


def test_a_replacement_that_nobody_linked_is_found_and_linked(
    plane: LearningHarness, units: Units
) -> None:
    first = plane.learn(ATLAS)
    half_done = make_learning(BOREALIS, supersedes=first.learning_id)
    keep(units, half_done)
    assert plane.supersede(first, CYGNUS).learning == half_done
    ended = plane.learning(first)
    assert ended.status is LearningStatus.SUPERSEDED
    assert ended.superseded_by == half_done.learning_id


def test_a_hook_that_refuses_keeps_the_learning_as_it_was(
    plane: LearningHarness, units: Units
) -> None:
    def refuse(_unit: Unit, _by: Principal, _learning: Learning) -> tuple[LearningNotice, ...]:
        raise Conflict("skill_busy", domain="skills")

    learning = plane.learn(ATLAS)
    stubborn = LearningService(units, plane.clock, Listeners(linked=(refuse,)))
    with pytest.raises(Conflict):
        stubborn.revoke(ALICE, learning.learning_id)
    with pytest.raises(Conflict):
        stubborn.revoke_matching(ALICE, LearningFilter(), everything=True)
    assert plane.learning(learning) == learning


def test_revoking_what_matches_needs_something_to_match(plane: LearningHarness) -> None:
    learning = plane.learn(ATLAS)
    code = refused(Invalid, lambda: plane.learnings.revoke_matching(ALICE, LearningFilter()))
    assert code == "filter_required"
    assert plane.learning(learning) == learning


def test_revoking_what_a_rule_published_leaves_the_rest(plane: LearningHarness) -> None:
    by_hand = plane.learn("The sky is blue")
    other = by_daemon(plane, "The sea is green", "r2")
    ours = [by_daemon(plane, ATLAS, "r1"), by_daemon(plane, "Default snack is banana", "r1")]
    narrowed = LearningFilter(policy_actor="Daemon", matched_rule_name="R1")
    found = plane.learnings.revoke_matching(ALICE, narrowed, dry_run=True)
    assert list(found) == ours
    assert [plane.learning(it) for it in ours] == ours
    revoked = plane.learnings.revoke_matching(ALICE, narrowed, reason="bad rule")
    assert [it.learning_id for it in revoked] == [it.learning_id for it in ours]
    assert {it.revoked_reason for it in revoked} == {"bad rule"}
    assert [plane.learning(it) for it in ours] == list(revoked)
    assert plane.learning(by_hand) == by_hand
    assert plane.learning(other) == other
    assert plane.learnings.revoke_matching(ALICE, narrowed) == ()


def test_everything_is_revoked_only_when_that_is_said(plane: LearningHarness) -> None:
    first = plane.learn(ATLAS, scope=SESSION)
    plane.supersede(first, BOREALIS)
    plane.learnings.revoke_matching(ALICE, LearningFilter(), everything=True)
    assert {it.status for it in plane.all_learnings()} == {LearningStatus.REVOKED}
    told = [it.data["what"] for it in plane.events("s1")]
    assert told.count("learning_revoked") == 2


def test_what_is_too_much_for_one_transaction_is_refused_as_a_whole(plane: LearningHarness) -> None:
    service = replace(plane.learnings, most_at_once=1)
    kept = [plane.learn("The sky is blue"), plane.learn("The sea is green")]
    narrowed = LearningFilter(kind=Kind.FACT)
    for dry_run in (True, False):
        with pytest.raises(Conflict) as told:
            service.revoke_matching(ALICE, narrowed, dry_run=dry_run)
        assert told.value.code == "too_many_matches"
    assert plane.all_learnings() == kept
    # What is revoked already is not counted.
    plane.learnings.revoke(ALICE, kept[0].learning_id)
    assert len(service.revoke_matching(ALICE, narrowed)) == 1


def test_a_lineage_leads_to_the_candidate_its_judge_and_its_run(
    plane: LearningHarness, units: Units
) -> None:
    with units.write() as unit:
        unit.runs.add(make_run("s1", run_id="run_1"))
    candidate = plane.propose(ATLAS, source=LearningSource(run_id="run_1", session_id="s1"))
    with units.write() as unit:
        unit.reviews.put(candidate.candidate_id, "digest", review("r1"))
    learning = plane.publish(candidate).learning
    lineage = plane.learnings.lineage(learning.learning_id, PageRequest())
    assert lineage.learning == learning
    assert lineage.candidate == plane.candidate(candidate)
    assert lineage.reviews == (review("r1"),)
    assert lineage.source_run is not None
    assert lineage.source_run.run_id == "run_1"
    assert (lineage.replaced, lineage.replaced_by, lineage.use_count) == ((), (), 0)


def test_a_lineage_leads_through_every_replacement_both_ways(plane: LearningHarness) -> None:
    candidate = plane.propose(ATLAS)
    first = plane.publish(candidate).learning
    second = plane.supersede(first, BOREALIS).learning
    third = plane.supersede(second, CYGNUS).learning
    ids = [first.learning_id, second.learning_id, third.learning_id]
    ways = {}
    for learning_id in ids:
        lineage = plane.learnings.lineage(learning_id, PageRequest())
        # A replacement goes back to what was proposed first.
        assert lineage.candidate == plane.candidate(candidate)
        ways[learning_id] = (
            [it.learning_id for it in lineage.replaced],
            [it.learning_id for it in lineage.replaced_by],
        )
    assert ways == {
        ids[0]: ([], ids[1:]),
        ids[1]: (ids[:1], ids[2:]),
        ids[2]: ([ids[1], ids[0]], []),
    }


def test_a_lineage_that_goes_round_in_circles_ends(plane: LearningHarness, units: Units) -> None:
    one, two = make_learning("X is blue"), make_learning("Y is red")
    keep(
        units,
        replace(one, supersedes=two.learning_id, superseded_by=two.learning_id),
        replace(two, supersedes=one.learning_id, superseded_by=one.learning_id),
    )
    lineage = plane.learnings.lineage(one.learning_id, PageRequest())
    assert [it.learning_id for it in lineage.replaced] == [two.learning_id]
    assert [it.learning_id for it in lineage.replaced_by] == [two.learning_id]


def test_a_lineage_names_what_is_gone_as_gone(plane: LearningHarness, units: Units) -> None:
    lost = make_learning(
        supersedes="lrn_gone",
        source_candidate_id="cand_gone",
        source=LearningSource(run_id="run_gone"),
    )
    keep(units, lost)
    lineage = plane.learnings.lineage(lost.learning_id, PageRequest())
    assert (lineage.candidate, lineage.source_run, lineage.replaced) == (None, None, ())
    assert refused(NotFound, lambda: plane.learnings.lineage("lrn_none", PageRequest())) == (
        "learning_not_found"
    )


def test_a_lineage_lists_the_runs_that_were_told(plane: LearningHarness, units: Units) -> None:
    learning = plane.learn(ATLAS)
    runs = [make_run("s1", run_id=f"run_{number}") for number in range(3)]
    with units.write() as unit:
        for run in runs:
            unit.runs.add(run)
        unit.learning_uses.add(
            LearningUse(
                learning_id=learning.learning_id,
                learning_version=learning.version,
                run_id=run.run_id,
                session_id="s1",
                at_ms=NOW + number,
            )
            for number, run in enumerate(runs)
        )
    lineage = plane.learnings.lineage(learning.learning_id, PageRequest(limit=2))
    assert lineage.use_count == 3
    assert [it.run_id for it in lineage.uses.items] == ["run_2", "run_1"]
    assert lineage.uses.next_cursor is not None


def test_the_numbers_tell_how_often_proposals_are_accepted(plane: LearningHarness) -> None:
    plane.learn("The sky is blue")
    plane.candidates.reject(ALICE, plane.propose("The sea is dry").candidate_id)
    by_daemon(plane, ATLAS, "r1")
    rejected_by_daemon(plane, "Water is dry", "r1")
    rejected_by_daemon(plane, "Fire is cold", "r1")
    plane.propose("Ice is hot")
    revoked = plane.learn("Grass is red")
    plane.learnings.revoke(ALICE, revoked.learning_id)
    with plane.units.read() as unit:
        status = status_of(unit)
    assert status["candidates"] == {
        "pending": 1,
        "escalated": 0,
        "published": 3,
        "rejected": 3,
    }
    assert status["learnings"] == {
        "provisional": 0,
        "active": 2,
        "superseded": 0,
        "revoked": 1,
    }
    assert status["acceptance"]["capture_paths"]["api"] == {
        "people": {"published": 2, "rejected": 1, "acceptance_rate": 0.6667},
        "daemon": {"published": 1, "rejected": 2, "acceptance_rate": 0.3333},
        "open": 1,
        "expired": 0,
    }
    assert status["acceptance"]["rules"] == {
        "r1": {
            "people": {"published": 0, "rejected": 0, "acceptance_rate": None},
            "daemon": {"published": 1, "rejected": 2, "acceptance_rate": 0.3333},
            "open": 0,
            "expired": 0,
        }
    }


def test_no_secret_that_the_operator_named_is_kept_in_a_reason_or_a_replacement(
    plane: LearningHarness,
) -> None:
    learning = plane.learn("The sky is blue")
    guarded = replace(plane.learnings, guard=SecretGuard(("heron",)))
    only = LearningFilter(kind=learning.kind)

    for act in (
        lambda: guarded.revoke(ALICE, learning.learning_id, reason="heron"),
        lambda: guarded.revoke_matching(ALICE, only, reason="heron"),
        lambda: guarded.supersede(
            ALICE, learning.learning_id, Replacement(content="The sky is heron grey")
        ),
    ):
        with pytest.raises(Invalid):
            act()
    assert plane.all_learnings() == [learning]
