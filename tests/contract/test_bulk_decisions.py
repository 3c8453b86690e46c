"""Many candidates decided at once, and the preview of it."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.support.factories import ALICE, NOW
from tests.support.learning_factories import SESSION
from tests.support.learning_harness import LearningHarness
from understudy.core.errors import Invalid
from understudy.learnings.bulk import (
    MAX_AT_ONCE,
    BulkAction,
    BulkChoice,
    BulkRequest,
    BulkResult,
    BulkService,
)
from understudy.learnings.guard import SecretGuard
from understudy.learnings.model import (
    Candidate,
    CandidateFilter,
    CandidateState,
    Kind,
    LearningStatus,
    Tier,
)
from understudy.learnings.proposal import NewCandidate
from understudy.sessions.learning_scopes import WORKSPACE
from understudy.storage.unit import Units

PUBLISH, REJECT = BulkAction.PUBLISH, BulkAction.REJECT


@pytest.fixture
def plane(units: Units) -> LearningHarness:
    return LearningHarness(units)


def ids(*candidates: Candidate) -> tuple[str, ...]:
    return tuple(it.candidate_id for it in candidates)


def named(*candidate_ids: str) -> tuple[BulkChoice, ...]:
    return tuple(BulkChoice(candidate_id=it) for it in candidate_ids)


def told(result: BulkResult) -> list[tuple[str, str | None]]:
    return [(it.candidate_id, it.code) for it in result.items]


def one_of_each(plane: LearningHarness) -> tuple[str, ...]:
    """Candidates that fare differently when they are published."""
    plane.learn("Project codename is Atlas")
    fine = plane.propose("The sky is blue")
    conflicting = plane.propose("Project codename is Borealis")
    rejected = plane.propose("Water is dry")
    plane.candidates.reject(ALICE, rejected.candidate_id)
    late = plane.propose("Ice is hot", expires_at_ms=NOW + 1)
    first, second = plane.propose("The lunch is at noon"), plane.propose("The lunch is at dawn")
    plane.clock.advance(1)
    return (*ids(fine, conflicting, rejected, late, first, second), "cand_none")


EXPECTED = [
    None,
    "learning_conflict",
    "candidate_rejected",
    "candidate_expired",
    None,
    # Of two that contradict each other the first is published.
    "learning_conflict",
    "candidate_not_found",
]


def test_a_preview_tells_what_would_be_refused_and_changes_nothing(plane: LearningHarness) -> None:
    chosen = one_of_each(plane)
    before = (plane.all_learnings(), plane.audit(), plane.published())
    request = BulkRequest(action=PUBLISH, candidates=named(*chosen), dry_run=True)
    result = plane.bulk.decide(ALICE, request)
    assert told(result) == list(zip(chosen, EXPECTED, strict=True))
    assert result.dry_run
    assert (plane.all_learnings(), plane.audit(), plane.published()) == before
    # And so it comes to pass.
    done = plane.bulk.decide(ALICE, BulkRequest(action=PUBLISH, candidates=named(*chosen)))
    assert told(done) == told(result)
    assert [it.detail for it in done.items[:4]] == [it.detail for it in result.items[:4]]
    assert [it.done for it in done.items] == [code is None for code in EXPECTED]


def test_a_refusal_keeps_no_other_from_being_published(plane: LearningHarness) -> None:
    chosen = one_of_each(plane)
    result = plane.bulk.decide(ALICE, BulkRequest(action=PUBLISH, candidates=named(*chosen)))
    made = {it.learning_id for it in result.items if it.done}
    kept = {
        it.learning_id for it in plane.all_learnings() if it.content != "Project codename is Atlas"
    }
    assert made == kept
    assert len(made) == 2


def test_a_preview_names_only_learnings_that_are_there(plane: LearningHarness) -> None:
    there = plane.learn("The sky is blue")
    chosen = ids(
        plane.propose("sky: blue"),
        plane.propose("Lunch is at noon"),
        plane.propose("lunch: at noon"),
    )
    request = BulkRequest(action=PUBLISH, candidates=named(*chosen), dry_run=True)
    outcomes = plane.bulk.decide(ALICE, request).items
    assert [it.learning_id for it in outcomes] == [there.learning_id, None, None]
    assert all(it.done for it in outcomes)


def test_many_are_rejected_with_one_reason(plane: LearningHarness) -> None:
    first, second = plane.propose("The sky is blue"), plane.propose("Water is dry")
    published = plane.propose("Ice is cold")
    plane.publish(published)
    request = BulkRequest(
        action=REJECT, candidates=named(*ids(first, published, second)), reason="noise"
    )
    preview = plane.bulk.decide(ALICE, replace(request, dry_run=True))
    assert plane.candidate(first) == first
    result = plane.bulk.decide(ALICE, request)
    assert told(result) == told(preview)
    assert [code for _, code in told(result)] == [None, "candidate_published", None]
    for candidate in (first, second):
        decided = plane.candidate(candidate)
        assert (decided.state, decided.decision_reason) == (CandidateState.REJECTED, "noise")


def test_a_filter_finds_open_candidates_alone(plane: LearningHarness) -> None:
    ours = plane.propose("The sky is blue", scope=SESSION)
    decided = plane.propose("Water is dry", scope=SESSION)
    plane.candidates.reject(ALICE, decided.candidate_id)
    other = plane.propose("Ice is cold")
    request = BulkRequest(action=REJECT, narrowed=CandidateFilter(scope=SESSION))
    assert told(plane.bulk.decide(ALICE, request)) == [(ours.candidate_id, None)]
    assert plane.candidate(other) == other


def test_everything_has_to_be_asked_for_by_name(plane: LearningHarness) -> None:
    candidate = plane.propose("The sky is blue")
    with pytest.raises(Invalid) as refused:
        plane.bulk.decide(ALICE, BulkRequest(action=REJECT))
    assert refused.value.code == "filter_required"
    assert plane.candidate(candidate) == candidate
    result = plane.bulk.decide(ALICE, BulkRequest(action=REJECT, everything=True))
    assert told(result) == [(candidate.candidate_id, None)]


def test_only_so_many_are_named_at_once(plane: LearningHarness) -> None:
    many = tuple(f"cand_{number}" for number in range(MAX_AT_ONCE + 1))
    with pytest.raises(Invalid) as refused:
        plane.bulk.decide(ALICE, BulkRequest(action=REJECT, candidates=named(*many)))
    assert refused.value.code == "too_many_candidates"


def test_a_filter_that_finds_more_says_so(plane: LearningHarness) -> None:
    for number in range(3):
        plane.propose(f"Number {number} is odd", kind=Kind.DECISION)
    request = BulkRequest(action=REJECT, narrowed=CandidateFilter(kind=Kind.DECISION))
    few = replace(plane.bulk, most_at_once=2)
    first, second = few.decide(ALICE, request), few.decide(ALICE, request)
    assert (len(first.items), first.has_more) == (2, True)
    assert (len(second.items), second.has_more) == (1, False)


def test_many_are_published_as_provisional(plane: LearningHarness) -> None:
    candidate = plane.propose("The sky is blue")
    plane.bulk.decide(
        ALICE,
        BulkRequest(
            action=PUBLISH, candidates=named(*ids(candidate)), publish_tier=Tier.PROVISIONAL
        ),
    )
    assert [it.status for it in plane.all_learnings()] == [LearningStatus.PROVISIONAL]


def test_one_that_is_named_twice_is_decided_once(plane: LearningHarness) -> None:
    candidate = plane.propose("The sky is blue")
    request = BulkRequest(action=PUBLISH, candidates=named(*ids(candidate, candidate)))
    assert len(plane.bulk.decide(ALICE, request).items) == 1


def test_a_reason_with_a_secret_in_it_decides_nothing(plane: LearningHarness) -> None:
    candidate = plane.propose("The sky is blue")
    secret = "api-key: abc" + "123456789"
    with pytest.raises(Invalid):
        plane.bulk.decide(
            ALICE, BulkRequest(action=REJECT, candidates=named(*ids(candidate)), reason=secret)
        )
    assert plane.candidate(candidate) == candidate


def test_a_preview_waits_for_nobody_who_writes(plane: LearningHarness) -> None:
    candidate = plane.propose("The sky is blue")
    request = BulkRequest(action=PUBLISH, candidates=named(*ids(candidate)), dry_run=True)

    with plane.units.write() as unit, ThreadPoolExecutor(1) as other:
        unit.candidates.get(candidate.candidate_id, lock=True)
        unit.learnings.hold(candidate.scope)
        unit.review_queue.put(["cand_other"], due_at_ms=1)
        result = other.submit(plane.bulk.decide, ALICE, request).result(timeout=10)

    assert told(result) == [(candidate.candidate_id, None)]


def test_what_holds_a_secret_that_the_operator_named_is_not_published(
    plane: LearningHarness,
) -> None:
    first, second = plane.propose("The bird is a blue heron"), plane.propose("Water is wet")
    guarded = replace(plane.candidates, guard=SecretGuard(("heron",)))
    request = BulkRequest(action=PUBLISH, candidates=named(*ids(first, second)))

    for dry_run in (True, False):
        result = BulkService(guarded).decide(ALICE, replace(request, dry_run=dry_run))
        assert [code for _, code in told(result)] == ["secret_content", None]
    assert [it.content for it in plane.all_learnings()] == ["Water is wet"]
    with pytest.raises(Invalid) as refused:
        guarded.create(ALICE, NewCandidate(scope=SESSION, kind=Kind.FACT, content="A heron flew"))
    assert refused.value.code == "secret_content"
    with pytest.raises(Invalid) as refused:
        guarded.reject(ALICE, first.candidate_id, reason="no heron")
    assert refused.value.code == "secret_reason"


def test_a_wish_is_published_for_the_scope_that_review_suggests(plane: LearningHarness) -> None:
    wish = plane.propose("I prefer short answers", kind=Kind.PREFERENCE, scope=SESSION)
    fact = plane.propose("The sky is blue", scope=SESSION)
    request = BulkRequest(action=PUBLISH, candidates=named(*ids(wish, fact)))

    preview = plane.bulk.decide(ALICE, replace(request, dry_run=True))
    done = plane.bulk.decide(ALICE, request)

    for result in (preview, done):
        reaches = [it.reach for it in result.items]
        assert [it and it.scope for it in reaches] == [WORKSPACE, SESSION]
        assert [it and it.words for it in reaches] == [
            "injected in every session of this daemon",
            "injected in this session only",
        ]
    assert {it.scope for it in plane.all_learnings()} == {WORKSPACE, SESSION}


def test_the_scope_that_was_shown_is_the_one_that_is_published_for(plane: LearningHarness) -> None:
    wish = plane.propose("I prefer short answers", kind=Kind.PREFERENCE, scope=SESSION)
    chosen = BulkChoice(candidate_id=wish.candidate_id, scope=SESSION)
    plane.bulk.decide(ALICE, BulkRequest(action=PUBLISH, candidates=(chosen,)))
    assert [it.scope for it in plane.all_learnings()] == [SESSION]


@pytest.mark.parametrize("action", BulkAction)
@pytest.mark.parametrize("dry_run", [True, False])
def test_what_somebody_decided_since_it_was_shown_is_refused(
    plane: LearningHarness, action: BulkAction, *, dry_run: bool
) -> None:
    candidate = plane.propose("The sky is blue")
    shown = BulkRequest(action=action, candidates=named(*ids(candidate)), dry_run=True)
    version = plane.bulk.decide(ALICE, shown).items[0].version
    assert version == candidate.version
    plane.candidates.reject(ALICE, candidate.candidate_id)

    chosen = BulkChoice(candidate_id=candidate.candidate_id, version=version)
    request = BulkRequest(action=action, candidates=(chosen,), dry_run=dry_run)

    assert told(plane.bulk.decide(ALICE, request)) == [
        (candidate.candidate_id, "candidate_rejected")
    ]
