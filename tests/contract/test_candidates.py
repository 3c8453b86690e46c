"""Candidates: proposed, looked at, published, rejected, and what becomes of them in time."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import (
    ADMIN,
    ALICE,
    NOW,
    make_run,
)
from tests.support.learning_factories import SESSION, keep, make_learning
from tests.support.learning_harness import LearningHarness
from tests.support.run_harness import until
from understudy.core.errors import Conflict, Invalid, NotFound, UnderstudyError
from understudy.core.page import PageRequest
from understudy.core.records import reduced
from understudy.learnings.decisions import BATCH, expire_in_batches, keep_expiring
from understudy.learnings.model import (
    EXPIRED,
    CandidateFilter,
    CandidateState,
    EvidenceRef,
    Kind,
    LearningSource,
    LearningStatus,
    Origin,
    PolicyDecision,
    RelatedLearning,
    Sensitivity,
    Tier,
    Verification,
    related,
)
from understudy.runs.model import RunRequest
from understudy.sessions.learning_scopes import WORKSPACE, LearningScope, ScopeKind
from understudy.storage.schema import learning_candidates
from understudy.storage.unit import Units

pytestmark = pytest.mark.one_database

ATLAS = "Project codename is Atlas."
BOREALIS = "Project codename is Borealis."
SECRET = "api-key: abc" + "123456789"


@pytest.fixture
def plane(units: Units) -> LearningHarness:
    return LearningHarness(units)


def refused(kind: type[UnderstudyError], act: Callable[[], object]) -> str:
    with pytest.raises(kind) as told:
        act()
    return told.value.code


def expired(plane: LearningHarness, **bounds: int) -> list[int]:
    """How many were rejected in each batch of a look."""
    return list(expire_in_batches(plane.units, plane.clock, **bounds))


@pytest.mark.every_database
def test_a_candidate_takes_the_defaults_and_waits(plane: LearningHarness) -> None:
    candidate = plane.propose("X is blue")
    assert plane.candidate(candidate) == candidate
    assert candidate.candidate_id.startswith("cand_")
    assert candidate.origin is Origin.API
    assert candidate.sensitivity is Sensitivity.SCOPED
    assert candidate.confidence == 80
    assert candidate.state is CandidateState.PENDING
    assert candidate.source == LearningSource()
    assert plane.queued() == 1
    assert plane.rung == ["reviews"]


def test_publishing_by_hand_makes_an_active_learning(plane: LearningHarness) -> None:
    candidate = plane.propose("X is blue")
    learning = plane.publish(candidate).learning
    assert plane.learning(learning) == learning
    assert learning.learning_id.startswith("lrn_")
    assert learning.status is LearningStatus.ACTIVE
    assert learning.publish_tier is Tier.ACTIVE
    assert learning.policy_decision is PolicyDecision.MANUAL
    assert learning.policy_actor == "operator"
    assert learning.verification_status is Verification.UNVERIFIED
    assert learning.source_candidate_id == candidate.candidate_id
    decided = plane.candidate(candidate)
    assert decided.state is CandidateState.PUBLISHED
    assert decided.published_learning_id == learning.learning_id
    assert (decided.decided_by, decided.decided_at_ms) == ("alice", NOW)
    assert plane.published() == 1


def test_a_run_summary_is_the_daemons_own(plane: LearningHarness) -> None:
    refused(Invalid, lambda: plane.propose("what was done", kind=Kind.RUN_SUMMARY))
    candidate = plane.propose("what was done")
    code = refused(Invalid, lambda: plane.publish(candidate, kind=Kind.RUN_SUMMARY))
    assert code == "run_summary_is_daemon_owned"
    assert plane.all_learnings() == []


def test_what_is_given_on_publishing_takes_the_place_of_what_was_proposed(
    plane: LearningHarness,
) -> None:
    candidate = plane.propose(ATLAS, evidence_refs=(EvidenceRef(note="heard it"),))
    learning = plane.publish(
        candidate,
        scope=SESSION,
        kind=Kind.DECISION,
        sensitivity=Sensitivity.SENSITIVE,
        content="  Codename: Borealis  ",
        confidence=55,
        expires_at_ms=NOW + 1000,
        publish_tier=Tier.PROVISIONAL,
    ).learning
    assert learning.scope == SESSION
    assert learning.kind is Kind.DECISION
    assert learning.sensitivity is Sensitivity.SENSITIVE
    assert learning.content == "Codename: Borealis"
    assert (learning.semantic_key, learning.subject_key) == ("codename=borealis", "codename")
    assert learning.confidence == 55
    assert learning.expires_at_ms == NOW + 1000
    assert learning.status is LearningStatus.PROVISIONAL
    assert learning.publish_tier is Tier.PROVISIONAL
    # What is left out stays as it was proposed.
    assert learning.evidence_refs == (EvidenceRef(note="heard it"),)
    assert plane.candidate(candidate).content == ATLAS


@pytest.mark.parametrize("kind", [None, Kind.FACT, Kind.PROCEDURE])
def test_a_secret_does_not_come_in_by_way_of_publishing(
    plane: LearningHarness, kind: Kind | None
) -> None:
    candidate = plane.propose(ATLAS)
    assert refused(Invalid, lambda: plane.publish(candidate, content=SECRET, kind=kind))
    assert plane.candidate(candidate) == candidate
    assert plane.all_learnings() == []


@pytest.mark.every_database
def test_a_second_candidate_that_says_the_same_becomes_the_same_learning(
    plane: LearningHarness,
) -> None:
    first = plane.learn(ATLAS)
    for times, again in enumerate(("project codename: atlas", "The project codename = ATLAS;"), 1):
        candidate = plane.propose(again)
        published = plane.publish(candidate)
        assert published.learning == replace(first, said_again=times)
        assert not published.is_new
        assert plane.candidate(candidate).published_learning_id == first.learning_id
        # And so it stays, however often it is asked for.
        assert plane.publish(candidate).learning == published.learning
    assert plane.all_learnings() == [replace(first, said_again=2)]
    assert plane.published() == 1


def test_another_value_for_the_same_subject_is_a_conflict(plane: LearningHarness) -> None:
    first = plane.learn(ATLAS)
    candidate = plane.propose(BOREALIS)
    with pytest.raises(Conflict) as told:
        plane.publish(candidate)
    assert told.value.code == "learning_conflict"
    assert told.value.params == {"learning_id": first.learning_id}
    assert first.learning_id in told.value.detail
    assert "supersedes" in told.value.detail
    assert plane.candidate(candidate) == candidate
    assert plane.all_learnings() == [first]


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("Our main customer is Acme.", "The main customer is Globex."),
        ("We use Kafka for events.", "We do not use Kafka for events."),
        ("The kitchen has 3 ovens.", "The kitchen has 4 ovens."),
        ("数据库是 MySQL。", "数据库是 PostgreSQL。"),
        ("Cổng là 8080.", "Cổng: 9090"),
    ],
)
def test_an_obvious_conflict_is_found(plane: LearningHarness, known: str, said: str) -> None:
    first = plane.learn(known)
    with pytest.raises(Conflict) as told:
        plane.publish(plane.propose(said))
    assert told.value.params == {"learning_id": first.learning_id}


def test_the_same_written_otherwise_is_published_once_and_counted(plane: LearningHarness) -> None:
    first = plane.learn("Our main customer is Acme.")
    again = plane.publish(plane.propose("main customer: acme"))
    assert again.learning == replace(first, said_again=1)
    assert (again.is_new, again.already) == (False, True)
    assert plane.all_learnings() == [again.learning]


def test_what_can_hold_beside_another_is_published(plane: LearningHarness) -> None:
    plane.learn("We ship to Canada.")
    plane.learn("We ship to Norway.")
    assert len(plane.all_learnings()) == 2


def test_a_conflict_is_settled_by_naming_what_is_superseded(plane: LearningHarness) -> None:
    first = plane.learn(ATLAS)
    second = plane.publish(plane.propose(BOREALIS), supersedes=first.learning_id).learning
    assert second.supersedes == first.learning_id
    ended = plane.learning(first)
    assert ended.status is LearningStatus.SUPERSEDED
    assert ended.superseded_by == second.learning_id
    assert plane.linked == [first.learning_id]


NO_CONFLICT: list[dict[str, Any]] = [
    {"status": LearningStatus.REVOKED},
    {"status": LearningStatus.SUPERSEDED, "superseded_by": "lrn_gone"},
    {"expires_at_ms": NOW},
    {"sensitivity": Sensitivity.SENSITIVE},
    {"status": LearningStatus.PROVISIONAL, "publish_tier": Tier.PROVISIONAL},
    {"policy_decision": PolicyDecision.ESCALATED},
    {"kind": Kind.PREFERENCE},
    {"scope": SESSION},
    {"subject_key": None},
]


def test_what_no_prompt_would_show_beside_it_is_no_conflict(
    plane: LearningHarness, units: Units
) -> None:
    keep(units, *(make_learning(ATLAS, **fields) for fields in NO_CONFLICT))
    assert plane.publish(plane.propose(BOREALIS)).is_new


def test_one_that_a_live_learning_replaces_is_no_conflict(
    plane: LearningHarness, units: Units
) -> None:
    old = make_learning(ATLAS)
    keep(units, old, make_learning("Names are overrated", supersedes=old.learning_id))
    assert plane.publish(plane.propose(BOREALIS)).is_new


def test_clock_times_are_no_subjects_but_what_they_belong_to_is(plane: LearningHarness) -> None:
    plane.learn("Office hours 09:00 to 17:00 in Paris")
    assert plane.publish(plane.propose("Office hours 09:30 to 18:00 in Lyon")).is_new
    plane.learn("Standup is at 10:30")
    later = plane.propose("Standup is at 10:45")
    assert refused(Conflict, lambda: plane.publish(later)) == "learning_conflict"


def test_what_is_provisional_takes_nobodys_place(plane: LearningHarness) -> None:
    first = plane.learn(ATLAS)
    candidate = plane.propose(BOREALIS)
    code = refused(
        Invalid,
        lambda: plane.publish(
            candidate, supersedes=first.learning_id, publish_tier=Tier.PROVISIONAL
        ),
    )
    assert code == "supersedes_needs_active_tier"
    assert plane.learning(first) == first
    assert plane.candidate(candidate) == candidate


def test_what_is_superseded_has_to_be_there_in_force_and_reached_by_the_new_scope(
    plane: LearningHarness,
) -> None:
    narrow = plane.propose(BOREALIS, scope=SESSION)
    wide = plane.learn(ATLAS)
    code = refused(Conflict, lambda: plane.publish(narrow, supersedes=wide.learning_id))
    assert code == "supersede_scope_mismatch"
    assert plane.learning(wide) == wide
    candidate = plane.propose(BOREALIS)

    def naming(learning_id: str) -> Callable[[], object]:
        return lambda: plane.publish(candidate, supersedes=learning_id)

    assert refused(NotFound, naming("lrn_none")) == "learning_not_found"
    revoked = plane.learn("The sky is blue")
    plane.learnings.revoke(ALICE, revoked.learning_id)
    assert refused(Conflict, naming(revoked.learning_id)) == "learning_revoked"
    replaced = plane.learn("The sea is green")
    then = plane.supersede(replaced, "The sea is grey").learning
    plane.learnings.revoke(ALICE, then.learning_id)
    assert refused(Conflict, naming(replaced.learning_id)) == "learning_superseded"
    assert plane.candidate(candidate) == candidate


def test_a_target_that_was_replaced_already_answers_what_replaced_it(
    plane: LearningHarness,
) -> None:
    first = plane.learn(ATLAS)
    second = plane.supersede(first, BOREALIS).learning
    candidate = plane.propose("Project codename is Cygnus.")
    published = plane.publish(candidate, supersedes=first.learning_id)
    assert published.learning == second
    assert not published.is_new
    assert plane.candidate(candidate).published_learning_id == second.learning_id


def test_deciding_twice_is_deciding_once(plane: LearningHarness) -> None:
    kept, dropped = plane.propose("X is blue"), plane.propose("Y is red")
    learning = plane.publish(kept).learning
    assert plane.publish(kept, content="X is green").learning == learning
    rejected = plane.candidates.reject(ALICE, dropped.candidate_id, reason="wrong")
    assert plane.candidates.reject(ADMIN, dropped.candidate_id, reason="worse") == rejected
    assert (rejected.decided_by, rejected.decision_reason) == ("alice", "wrong")
    assert refused(Conflict, lambda: plane.publish(dropped)) == "candidate_rejected"
    code = refused(Conflict, lambda: plane.candidates.reject(ALICE, kept.candidate_id))
    assert code == "candidate_published"
    assert plane.all_learnings() == [learning]


def test_a_candidate_that_says_it_was_published_as_what_is_gone_is_not_published_again(
    plane: LearningHarness, units: Units
) -> None:
    candidate = plane.propose("X is blue")
    gone = replace(
        candidate, state=CandidateState.PUBLISHED, published_learning_id="lrn_gone", version=2
    )
    with units.write() as unit:
        unit.candidates.update(gone, expected_version=1)
    assert refused(Conflict, lambda: plane.publish(candidate)) == "candidate_published"


def test_a_publication_that_lost_its_links_is_repaired(
    plane: LearningHarness, units: Units
) -> None:
    target = plane.learn(ATLAS)
    candidate = plane.propose(BOREALIS)
    made = make_learning(
        BOREALIS, source_candidate_id=candidate.candidate_id, supersedes=target.learning_id
    )
    keep(units, made)
    published = plane.publish(candidate)
    assert published.learning == made
    assert plane.candidate(candidate).published_learning_id == made.learning_id
    assert plane.learning(target).superseded_by == made.learning_id


def test_an_unknown_candidate_is_not_found(plane: LearningHarness) -> None:
    for act in (
        lambda: plane.candidates.get("cand_none"),
        lambda: plane.candidates.item("cand_none"),
        lambda: plane.candidates.publish(ALICE, "cand_none"),
        lambda: plane.candidates.reject(ALICE, "cand_none"),
    ):
        assert refused(NotFound, act) == "candidate_not_found"


def test_a_reason_with_a_secret_in_it_is_refused(plane: LearningHarness) -> None:
    candidate = plane.propose("X is blue")
    refused(Invalid, lambda: plane.candidates.reject(ALICE, candidate.candidate_id, reason=SECRET))
    assert plane.candidate(candidate) == candidate


@pytest.mark.every_database
def test_a_candidate_past_its_time_is_not_published_and_soon_rejected(
    plane: LearningHarness,
) -> None:
    late = plane.propose("X is blue", expires_at_ms=NOW + 10)
    plane.propose("Y is red", expires_at_ms=NOW + 11)
    plane.propose("Z is green")
    plane.clock.advance(10)
    assert refused(Conflict, lambda: plane.publish(late)) == "candidate_expired"
    assert plane.candidates.item(late.candidate_id).expired
    assert expired(plane) == [1]
    rejected = plane.candidate(late)
    assert rejected.state is CandidateState.REJECTED
    assert (rejected.decided_by, rejected.decision_reason) == ("daemon", EXPIRED)
    assert expired(plane) == []
    left = plane.candidates.page(
        PageRequest(), narrowed=CandidateFilter(state=CandidateState.PENDING)
    )
    assert [it.content for it in left.items] == ["Y is red", "Z is green"]


def test_more_than_one_batch_of_candidates_expires(plane: LearningHarness) -> None:
    for number in range(5):
        plane.propose(f"Number {number} is odd", expires_at_ms=NOW + 1)
    plane.clock.advance(1)
    assert expired(plane, batch=2) == [2, 2, 1]


def test_a_look_ends_after_so_many_and_the_next_one_goes_on(plane: LearningHarness) -> None:
    for number in range(5):
        plane.propose(f"Number {number} is odd", expires_at_ms=NOW + 1)
    plane.clock.advance(1)
    assert expired(plane, batch=2, most=3) == [2, 2]
    assert expired(plane, batch=2, most=3) == [1]


@pytest.mark.every_database
def test_candidates_that_cannot_be_read_do_not_keep_others_from_expiring(
    plane: LearningHarness, database: UnitsOnDatabase
) -> None:
    torn = [plane.propose(f"Torn {number} is odd", expires_at_ms=NOW + 1) for number in range(2)]
    fine = plane.propose("X is blue", expires_at_ms=NOW + 2)
    with database.engine.begin() as connection:
        connection.execute(
            sa.update(learning_candidates)
            .where(learning_candidates.c.candidate_id.in_([it.candidate_id for it in torn]))
            .values(body="torn")
        )
    plane.clock.advance(2)
    assert expired(plane, batch=1) == [0, 0, 1]
    assert plane.candidate(fine).state is CandidateState.REJECTED


def test_where_nothing_has_expired_nobody_is_kept_from_writing(plane: LearningHarness) -> None:
    plane.propose("X is blue", expires_at_ms=NOW + 10)
    with plane.units.write(), ThreadPoolExecutor(1) as other:
        assert other.submit(expired, plane).result(timeout=10) == []


async def test_others_write_between_two_batches(plane: LearningHarness) -> None:
    late = [plane.propose(f"Number {it} is odd", expires_at_ms=NOW + 1) for it in range(BATCH + 1)]
    plane.clock.advance(1)

    def rejected() -> int:
        return [plane.candidate(it).state for it in late].count(CandidateState.REJECTED)

    expiring = asyncio.create_task(keep_expiring(plane.units, plane.clock, every_s=0, pause_s=3600))
    await until(lambda: rejected() > 0)
    plane.propose("X is blue")
    assert rejected() == BATCH
    expiring.cancel()
    await asyncio.gather(expiring, return_exceptions=True)


def test_a_published_candidate_keeps_answering_after_its_time(plane: LearningHarness) -> None:
    candidate = plane.propose("X is blue", expires_at_ms=NOW + 10)
    learning = plane.publish(candidate).learning
    plane.clock.advance(10)
    assert plane.publish(candidate).learning == learning
    assert expired(plane) == []


@pytest.mark.every_database
def test_what_names_a_run_that_read_elsewhere_is_marked_whoever_proposes_it(
    plane: LearningHarness,
) -> None:
    clean = make_run(accepted_offset=1)
    tools = make_run(accepted_offset=2)
    passed = make_run("s2", accepted_offset=1, request=RunRequest(actor_id="stranger"))
    later = make_run("s2", accepted_offset=2)
    with plane.units.write() as unit:
        for run in (clean, tools, passed, later):
            unit.runs.add(run)
        unit.runs.taint(tools.run_id, {"tool_result": ["fetch_url"]})
    named: dict[str, dict[str, Any]] = {
        "nothing": {},
        "gone": {"source": LearningSource(run_id="run_gone")},
        "clean": {"source": LearningSource(run_id=clean.run_id)},
        "tools": {"source": LearningSource(run_id=tools.run_id)},
        "evidence": {"evidence_refs": (EvidenceRef(note="n"), EvidenceRef(run_id=tools.run_id))},
        "artifact": {"evidence_refs": (EvidenceRef(artifact_id="art_1"),)},
        "passed": {"source": LearningSource(run_id=passed.run_id)},
        "later": {"source": LearningSource(run_id=later.run_id)},
    }
    marked = {
        name
        for name, fields in named.items()
        if plane.candidate(plane.propose(f"{name} is blue", **fields)).derived_from_untrusted
    }
    assert marked == {"tools", "evidence", "artifact", "passed", "later"}


def test_what_a_person_took_back_is_told_to_whoever_decides_on_it_again(
    plane: LearningHarness,
) -> None:
    learning = plane.learn(ATLAS)
    plane.learnings.revoke(ALICE, learning.learning_id, reason="a joke")
    again = plane.propose(ATLAS)
    elsewhere = plane.propose(ATLAS, kind=Kind.DECISION)
    assert (again.declined_before, elsewhere.declined_before) == (True, False)
    (before,) = plane.candidates.item(again.candidate_id).revoked_before
    assert (before.learning_id, before.revoked_by) == (learning.learning_id, ALICE.user_id)
    # A person may still say yes.
    assert plane.publish(again).learning.status is LearningStatus.ACTIVE


def test_a_learning_is_replaced_by_a_wording_that_only_seems_the_same(
    plane: LearningHarness,
) -> None:
    first = plane.learn("Project codename is Atlas")
    better = plane.propose("The project codename: ATLAS")
    second = plane.publish(better, supersedes=first.learning_id).learning
    assert (second.supersedes, second.content) == (first.learning_id, "The project codename: ATLAS")
    assert plane.learning(first).status is LearningStatus.SUPERSEDED
    same = plane.propose("The project codename: ATLAS")
    again = plane.publish(same, supersedes=second.learning_id).learning
    assert again == replace(second, said_again=1)


def test_a_reviewer_is_shown_what_speaks_against_a_candidate(plane: LearningHarness) -> None:
    no = plane.propose(BOREALIS)
    plane.candidates.reject(ALICE, no.candidate_id)
    there = plane.learn(ATLAS)
    narrow = plane.learn("Project codename is Cygnus.", scope=SESSION)
    item = plane.candidates.item(plane.propose(BOREALIS).candidate_id)
    assert item.conflicts_with == reduced(RelatedLearning, there)
    assert item.contradicts == related([narrow])
    assert item.duplicate_of is None
    assert [it.candidate_id for it in item.rejected_before] == [no.candidate_id]
    same = plane.candidates.item(plane.propose("codename of the project: x").candidate_id)
    assert (same.conflicts_with, same.contradicts, same.rejected_before) == (None, (), ())
    duplicate = plane.candidates.item(plane.propose(ATLAS).candidate_id).duplicate_of
    assert duplicate == reduced(RelatedLearning, there)


def test_of_a_decided_candidate_only_the_decision_is_shown(plane: LearningHarness) -> None:
    candidate = plane.propose(ATLAS)
    plane.publish(candidate)
    item = plane.candidates.item(candidate.candidate_id)
    assert item.duplicate_of is None
    assert item.state is CandidateState.PUBLISHED


@pytest.mark.every_database
def test_every_change_is_in_the_audit_with_the_person(plane: LearningHarness) -> None:
    first = plane.propose(ATLAS)
    learning = plane.publish(first).learning
    second = plane.propose("Y is red")
    plane.candidates.reject(ADMIN, second.candidate_id)
    third = plane.propose(BOREALIS)
    newer = plane.publish(third, supersedes=learning.learning_id).learning
    entries = [(it.actor, it.action, it.resource_id, it.reason) for it in plane.audit()]
    assert entries == [
        ("alice", "learning_candidates.create", first.candidate_id, None),
        ("alice", "learning_candidates.publish", first.candidate_id, learning.learning_id),
        ("alice", "learning_candidates.create", second.candidate_id, None),
        ("root", "learning_candidates.reject", second.candidate_id, None),
        ("alice", "learning_candidates.create", third.candidate_id, None),
        ("alice", "learnings.supersede", learning.learning_id, newer.learning_id),
        ("alice", "learning_candidates.publish", third.candidate_id, newer.learning_id),
    ]


@pytest.mark.every_database
def test_the_sessions_concerned_are_told_by_ids_alone(plane: LearningHarness) -> None:
    source = LearningSource(session_id="s2", run_id="run_1")
    candidate = plane.propose(ATLAS, scope=SESSION, source=source)
    learning = plane.publish(candidate, scope=SESSION).learning
    newer = plane.publish(
        plane.propose(BOREALIS, scope=SESSION), supersedes=learning.learning_id
    ).learning
    told = [dict(it.data) for it in plane.events("s1")]
    about = {"candidate_id": candidate.candidate_id, "learning_id": learning.learning_id}
    assert told[0] == {
        "what": "candidate_created",
        "candidate_id": candidate.candidate_id,
        "state": "pending",
    }
    assert told[1] == {"what": "learning_published", **about, "status": "active"}
    assert told[2] == {"what": "candidate_decided", **about, "state": "published"}
    assert [it["what"] for it in told[3:]] == [
        "candidate_created",
        "learning_published",
        "learning_superseded",
        "candidate_decided",
    ]
    assert told[4]["learning_id"] == newer.learning_id
    # The session that it was heard in is told of its own, and not of what others propose.
    assert [it.data["what"] for it in plane.events("s2")] == [
        "candidate_created",
        "learning_published",
        "candidate_decided",
        "learning_superseded",
    ]
    assert "Atlas" not in str([it.data for it in plane.events("s1")])


@pytest.mark.every_database
def test_a_session_that_is_not_there_keeps_nothing_from_being_learned(
    plane: LearningHarness,
) -> None:
    nowhere = LearningScope(kind=ScopeKind.SESSION, id="gone")
    learning = plane.learn(ATLAS, scope=nowhere, source=LearningSource(session_id="never"))
    assert learning.scope == nowhere
    assert plane.events("s1") == []


def test_nothing_is_told_of_what_changed_nothing(plane: LearningHarness) -> None:
    candidate = plane.propose(ATLAS, scope=SESSION)
    plane.publish(candidate)
    before = (plane.events("s1"), plane.audit())
    plane.publish(candidate)
    with pytest.raises(Conflict):
        plane.candidates.reject(ALICE, candidate.candidate_id)
    assert (plane.events("s1"), plane.audit()) == before


def test_a_workspace_learning_belongs_to_no_session(plane: LearningHarness) -> None:
    plane.learn(ATLAS, scope=WORKSPACE)
    assert plane.events("s1") == []
