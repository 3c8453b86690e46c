"""The queue of review: its order, what a reviewer is told, and what is put off or taken back."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bench.statements import counted
from tests.support.factories import (
    ADMIN,
    ALICE,
    NOW,
    bound,
    make_member,
    make_persona,
    make_project,
    make_run,
    make_session,
)
from tests.support.learning_harness import LearningHarness
from tests.support.rollout_factories import make_rollout
from tests.support.run_memory_harness import make_record
from understudy.core.clock import DAY_MS
from understudy.core.errors import UnderstudyError
from understudy.core.page import PageRequest
from understudy.core.records import extended, reduced
from understudy.learnings.bulk import BulkAction, BulkChoice, BulkRequest
from understudy.learnings.candidates import ReviewItem
from understudy.learnings.model import (
    Applies,
    Candidate,
    CandidateState,
    Kind,
    LearningSource,
    LearningStatus,
    RelatedLearning,
    Sensitivity,
    related,
)
from understudy.learnings.reach import Reach
from understudy.memory.record import RunEvidence
from understudy.sessions.learning_scopes import WORKSPACE, session_scope
from understudy.sessions.model import SessionStatus
from understudy.storage.unit import Units

pytestmark = pytest.mark.one_database


@pytest.fixture
def plane(units: Units) -> LearningHarness:
    return LearningHarness(units)


@pytest.mark.every_database
def test_reviewers_are_handed_one_after_another(plane: LearningHarness) -> None:
    first, second = plane.propose("X is blue"), plane.propose("Y is red")
    everywhere = (
        Reach(scope=WORKSPACE, words="injected in every session of this daemon", suggested=True),
    )
    found = plane.candidates.next_for_review()
    assert found.item == extended(ReviewItem, first, reaches=everywhere, suggested_scope=WORKSPACE)
    assert found.following == 1
    found = plane.candidates.next_for_review(after=first.candidate_id)
    assert found.item == extended(ReviewItem, second, reaches=everywhere, suggested_scope=WORKSPACE)
    assert found.following == 0
    assert plane.candidates.next_for_review(after=second.candidate_id).item is None


@pytest.mark.every_database
def test_a_reviewer_is_told_whom_each_scope_reaches(plane: LearningHarness) -> None:
    with plane.units.write() as unit:
        unit.sessions.add(make_session("s9", **bound(make_persona("helper"))))
        unit.projects.add(make_project("garden", members=(make_member("s9"),)))
    candidate = plane.propose("X is blue", scope=session_scope("s9"))

    reaches = plane.candidates.item(candidate.candidate_id).reaches

    assert [(it.scope.key, it.words, it.unused) for it in reaches] == [
        ("session:s9", "injected in this session only", None),
        ("persona:helper", "injected in every session of persona helper", None),
        ("project:garden", "injected in every session of project garden", None),
        ("workspace:default", "injected in every session of this daemon", None),
    ]


SAID_HERE = {"source": LearningSource(session_id="s9")}
FACT = {"kind": Kind.FACT}
OFFERED: list[tuple[str, dict[str, Any], str]] = [
    ("I like tabs", {"kind": Kind.PREFERENCE}, "workspace:default"),
    ("I like tabs", {"kind": Kind.DECISION, "applies": Applies.ALWAYS}, "workspace:default"),
    ("We close at five", FACT | SAID_HERE, "workspace:default"),
    ("We close at five", {"kind": Kind.DECISION} | SAID_HERE, "workspace:default"),
    # Who proposes it over the API names the session, unless it was said there.
    ("We close at five", FACT, "session:s9"),
    # The statement names the session or a project of it.
    ("Use tabs in this session", {"kind": Kind.PREFERENCE}, "session:s9"),
    ("本会话请用制表符", {"kind": Kind.PREFERENCE}, "session:s9"),
    ("Sessions end at five", FACT | SAID_HERE, "workspace:default"),
    ("This project uses tabs", FACT | SAID_HERE, "project:garden"),
    ("The Old Garden uses tabs", FACT | SAID_HERE, "project:garden"),
    ("The Old Gardener uses tabs", FACT | SAID_HERE, "workspace:default"),
    # What nobody said, or what no prompt is given, stays where it is.
    ("I like tabs", {"kind": Kind.PREFERENCE, "derived_from_untrusted": True}, "session:s9"),
    ("I like", {"kind": Kind.PREFERENCE, "sensitivity": Sensitivity.SENSITIVE}, "session:s9"),
    ("First tabs, then spaces", {"kind": Kind.PROCEDURE} | SAID_HERE, "session:s9"),
    ("I like tabs", {"kind": Kind.PREFERENCE, "scope": WORKSPACE}, "workspace:default"),
]


@pytest.mark.parametrize(("content", "fields", "offered"), OFFERED)
def test_what_a_user_states_is_suggested_and_published_for_later_sessions(
    plane: LearningHarness, content: str, fields: dict[str, Any], offered: str
) -> None:
    with plane.units.write() as unit:
        unit.sessions.add(make_session("s9", **bound(make_persona("helper"))))
        unit.projects.add(
            make_project("garden", display_name="Old Garden", members=(make_member("s9"),))
        )
    candidate = plane.propose(content, **({"scope": session_scope("s9")} | fields))

    item = plane.candidates.item(candidate.candidate_id)
    [listed] = plane.candidates.page(PageRequest()).items
    bulk = BulkRequest(
        action=BulkAction.PUBLISH,
        candidates=(BulkChoice(candidate_id=candidate.candidate_id),),
        dry_run=True,
    )
    [preview] = plane.bulk.decide(ALICE, bulk).items

    assert [it.scope.key for it in item.reaches if it.suggested] == [offered]
    assert [it and it.key for it in (item.suggested_scope, listed.suggested_scope)] == [offered] * 2
    assert preview.reach is not None
    assert preview.reach.scope.key == offered
    assert plane.publish(candidate).learning.scope.key == offered
    [decided] = plane.candidates.page(PageRequest()).items
    assert decided.suggested_scope is None


def test_a_page_of_candidates_of_one_session_asks_for_its_projects_once(
    plane: LearningHarness,
) -> None:
    with plane.units.write() as unit:
        unit.sessions.add(make_session("s9"))
        unit.projects.add(make_project("garden", members=(make_member("s9"),)))

    def asked() -> int:
        with counted() as work:
            plane.candidates.page(PageRequest())
        return len(work.statements)

    plane.propose("I like tabs", scope=session_scope("s9"), kind=Kind.PREFERENCE)
    alone = asked()
    plane.propose("I like tea", scope=session_scope("s9"), kind=Kind.PREFERENCE)
    assert asked() == alone


def test_a_scope_that_is_named_is_published_for(plane: LearningHarness) -> None:
    with plane.units.write() as unit:
        unit.sessions.add(make_session("s9"))
    here = session_scope("s9")
    candidate = plane.propose("I like tabs", kind=Kind.PREFERENCE, scope=here)

    assert plane.publish(candidate, scope=here).learning.scope == here


def test_what_is_in_the_way_of_a_publication_for_the_suggested_scope_is_shown(
    plane: LearningHarness,
) -> None:
    with plane.units.write() as unit:
        unit.sessions.add(make_session("s9"))
    known = plane.publish(plane.propose("The door is green")).learning
    said = LearningSource(session_id="s9")
    candidate = plane.propose("The door is red", scope=session_scope("s9"), source=said)

    item = plane.candidates.item(candidate.candidate_id)
    assert item.conflicts_with == reduced(RelatedLearning, known)
    with pytest.raises(UnderstudyError, match="contradicts this"):
        plane.publish(candidate)
    replaced = plane.publish(candidate, supersedes=known.learning_id).learning
    assert (replaced.scope, replaced.supersedes) == (WORKSPACE, known.learning_id)


@pytest.mark.parametrize(
    ("session", "unused"),
    [
        ({"status": SessionStatus.ENDED}, "the session has ended"),
        ({"created_at_ms": NOW - 7 * DAY_MS}, "nobody has used the session for 7 days"),
        ({"created_at_ms": NOW - 7 * DAY_MS + 1}, None),
    ],
)
def test_a_session_that_nobody_uses_is_said_to_reviewer_and_publisher(
    plane: LearningHarness, session: dict[str, Any], unused: str | None
) -> None:
    with plane.units.write() as unit:
        unit.sessions.add(make_session("s9", **session))
    candidate = plane.propose("X is blue", scope=session_scope("s9"))

    assert plane.candidates.item(candidate.candidate_id).reaches[0].unused == unused
    reach = plane.publish(candidate).reach
    assert reach is not None
    assert (reach.words, reach.unused) == ("injected in this session only", unused)


def test_a_run_is_a_use_of_its_session(plane: LearningHarness) -> None:
    with plane.units.write() as unit:
        unit.sessions.add(make_session("s9", created_at_ms=NOW - 30 * DAY_MS))
        unit.runs.add(make_run("s9", submitted_at_ms=NOW - DAY_MS))
    candidate = plane.propose("X is blue", scope=session_scope("s9"))

    assert plane.candidates.item(candidate.candidate_id).reaches[0].unused is None


@pytest.mark.every_database
def test_the_sentence_of_the_request_that_says_it_is_quoted(plane: LearningHarness) -> None:
    request = "Hello there. Please remember: I want metric units in reports. What is the time?"
    with plane.units.write() as unit:
        unit.runs.add(make_run(run_id="run_1"))
        unit.run_memory_index.add(make_record("run_1"))
        unit.run_memory_index.keep_evidence(
            RunEvidence(run_id="run_1", request=request, outcome="I want metric units, too.")
        )
    source = LearningSource(run_id="run_1", session_id="s1")
    candidate = plane.propose("I want metric units in reports", source=source)
    typed = plane.propose("Metric units", source=source, quote="I want metric units")
    made_up = plane.propose("Imperial units", source=source, quote="I want imperial units")

    item = plane.candidates.item(candidate.candidate_id)

    assert item.quotes == ("Please remember: I want metric units in reports.",)
    quoted = [plane.candidates.item(it.candidate_id).quote_found for it in (typed, made_up)]
    assert [item.quote_found, *quoted] == [None, True, False]


ATLAS = "Project codename is Atlas."
BOREALIS = "Project codename is Borealis."
HERE = session_scope("s1")


def refused(act: Callable[[], object]) -> str:
    with pytest.raises(UnderstudyError) as told:
        act()
    return told.value.code


def reopened(plane: LearningHarness, candidate: Candidate) -> Candidate:
    return plane.candidates.reopen(ALICE, candidate.candidate_id)


@pytest.mark.every_database
def test_an_undone_publication_is_revoked_and_its_candidate_waits_again(
    plane: LearningHarness,
) -> None:
    candidate = plane.propose(ATLAS, scope=HERE)
    first = plane.publish(candidate).learning

    waiting = reopened(plane, candidate)

    revoked = plane.learning(first)
    assert (revoked.status, revoked.revoked_reason) == (LearningStatus.REVOKED, "undone in review")
    assert revoked.source_candidate_id == candidate.candidate_id
    assert waiting == plane.candidate(candidate)
    assert waiting == replace(
        candidate, undone_learning_ids=(first.learning_id,), version=candidate.version + 2
    )
    # It is no refusal, and the candidate can become another learning.
    item = plane.candidates.item(candidate.candidate_id)
    assert (item.revoked_before, item.rejected_before) == ((), ())
    assert not plane.propose(ATLAS, scope=HERE).declined_before
    second = plane.publish(waiting).learning
    assert second.learning_id != first.learning_id
    lineage = plane.learnings.lineage(second.learning_id, PageRequest())
    assert lineage.undone == related([revoked])
    assert lineage.candidate is not None
    events = [event.data["what"] for event in plane.events("s1")]
    assert "candidate_reopened" in events
    assert [(it.actor, it.action) for it in plane.audit()].count(
        ("alice", "learning_candidates.reopen")
    ) == 1


@pytest.mark.every_database
def test_an_undone_rejection_is_forgotten(plane: LearningHarness) -> None:
    candidate = plane.propose(ATLAS)
    plane.candidates.reject(ALICE, candidate.candidate_id, reason="no")

    waiting = reopened(plane, candidate)

    assert waiting == replace(candidate, version=candidate.version + 2)
    assert not plane.propose(ATLAS).declined_before
    assert reopened(plane, candidate) == waiting


@pytest.mark.every_database
def test_what_an_undone_publication_had_superseded_is_live_again(plane: LearningHarness) -> None:
    older = plane.learn(ATLAS)
    candidate = plane.propose(BOREALIS)
    plane.publish(candidate, supersedes=older.learning_id)

    reopened(plane, candidate)

    assert plane.learning(older) == replace(older, version=older.version + 2)
    [item] = [plane.candidates.item(candidate.candidate_id)]
    assert item.conflicts_with == reduced(RelatedLearning, older)


def test_a_learning_that_stood_before_is_not_taken_back(plane: LearningHarness) -> None:
    there = plane.learn(ATLAS)
    candidate = plane.propose(ATLAS)
    plane.publish(candidate)

    waiting = reopened(plane, candidate)

    assert (waiting.state, waiting.undone_learning_ids) == (CandidateState.PENDING, ())
    assert plane.learning(there) == replace(there, said_again=1)


def test_only_who_decided_takes_it_back_while_nothing_depends_on_it(
    plane: LearningHarness,
) -> None:
    theirs, replaced, gone, late = (
        plane.propose(f"Project {name} is here", expires_at_ms=ends)
        for name, ends in (("a", None), ("b", None), ("c", None), ("d", NOW + 5))
    )
    for each in (theirs, replaced, gone, late):
        plane.publish(each)
    made = {it.source_candidate_id: it for it in plane.all_learnings()}

    code = refused(lambda: plane.candidates.reopen(ADMIN, theirs.candidate_id))
    assert code == "candidate_decided_by_other"
    plane.supersede(made[replaced.candidate_id], "Project b is gone")
    assert refused(lambda: reopened(plane, replaced)) == "learning_superseded"
    plane.learnings.revoke(ALICE, made[gone.candidate_id].learning_id)
    assert refused(lambda: reopened(plane, gone)) == "learning_revoked"
    plane.clock.advance(10)
    assert refused(lambda: reopened(plane, late)) == "candidate_expired"
    assert refused(lambda: plane.candidates.reopen(ALICE, "cand_x")) == "candidate_not_found"
    assert plane.learning(made[theirs.candidate_id]) == made[theirs.candidate_id]


def test_a_promoted_learning_is_not_undone(plane: LearningHarness) -> None:
    candidate = plane.propose("Release notes are kept in a file", kind=Kind.PROCEDURE)
    learning = plane.publish(candidate).learning
    with plane.units.write() as unit:
        unit.rollouts.add(make_rollout("notes", source_learning_id=learning.learning_id))

    assert refused(lambda: reopened(plane, candidate)) == "learning_promoted"
    assert plane.learning(learning) == learning


def test_nothing_is_restored_beside_what_was_published_meanwhile(plane: LearningHarness) -> None:
    older = plane.learn(ATLAS, scope=HERE)
    candidate = plane.propose(BOREALIS)
    newer = plane.publish(candidate, supersedes=older.learning_id).learning
    plane.learn("Project codename is Cygnus.", scope=HERE)

    assert refused(lambda: reopened(plane, candidate)) == "learning_conflict"
    assert plane.learning(newer) == newer
    assert plane.candidate(candidate).state is CandidateState.PUBLISHED


@pytest.mark.every_database
def test_a_snoozed_candidate_is_handed_out_again_when_it_is_time(plane: LearningHarness) -> None:
    candidate = plane.propose(ATLAS)

    asleep = plane.candidates.snooze(ALICE, candidate.candidate_id, NOW + 5)

    assert asleep == replace(candidate, snoozed_until_ms=NOW + 5, version=candidate.version + 1)
    assert plane.candidates.next_for_review().snoozed == 1
    assert plane.candidates.next_for_review().item is None
    plane.clock.advance(5)
    assert plane.candidates.next_for_review().item is not None
    assert plane.candidates.snooze(ALICE, candidate.candidate_id, 0).snoozed_until_ms is None
    plane.publish(candidate)
    code = refused(lambda: plane.candidates.snooze(ALICE, candidate.candidate_id, NOW + 9))
    assert code == "candidate_published"
    assert "learning_candidates.snooze" in [it.action for it in plane.audit()]


def test_what_was_typed_in_a_session_and_waits_is_not_proposed_twice(
    plane: LearningHarness,
) -> None:
    typed = LearningSource(session_id="s1")
    scope = session_scope("s1")
    first = plane.propose("I prefer tabs.", scope=scope, source=typed)

    assert plane.propose("I prefer tabs", scope=scope, source=typed) == first
    others = [
        plane.propose("I prefer tabs", scope=scope),
        plane.propose("I prefer tabs", scope=scope, source=LearningSource(session_id="s2")),
        plane.propose("I prefer tabs", scope=WORKSPACE, source=typed),
    ]
    assert len({first.candidate_id, *(it.candidate_id for it in others)}) == 4
    plane.candidates.reject(ALICE, first.candidate_id)
    assert plane.propose("I prefer tabs", scope=scope, source=typed) != first
