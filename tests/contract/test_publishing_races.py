"""Several who decide at the same time, as on several daemons."""

from functools import partial

import pytest

from tests.support.factories import ALICE
from tests.support.learning_factories import SESSION
from tests.support.learning_harness import LearningHarness
from tests.support.threads_at_once import together
from understudy.core.errors import Conflict
from understudy.learnings.bulk import BulkAction, BulkChoice, BulkRequest
from understudy.learnings.model import CandidateState, LearningFilter, LearningStatus
from understudy.storage.unit import Units

MANY = 6


@pytest.fixture
def plane(units: Units) -> LearningHarness:
    return LearningHarness(units)


def test_one_candidate_published_by_many_at_once_becomes_one_learning(
    plane: LearningHarness,
) -> None:
    candidate = plane.propose("Project codename is Atlas", scope=SESSION)
    answers = together([partial(plane.publish, candidate)] * MANY)
    (learning_id,) = {it.learning.learning_id for it in answers}
    assert [it.learning_id for it in plane.all_learnings()] == [learning_id]
    assert plane.candidate(candidate).published_learning_id == learning_id
    assert plane.published() == 1


def test_of_candidates_that_contradict_each_other_only_one_is_published(
    plane: LearningHarness,
) -> None:
    proposed = [plane.propose(f"Project codename is Name{number}") for number in range(MANY)]
    answers = together([partial(plane.publish, it) for it in proposed])
    refused = [it for it in answers if isinstance(it, Conflict)]
    assert len(refused) == MANY - 1
    assert {it.code for it in refused} == {"learning_conflict"}
    assert len(plane.all_learnings()) == 1
    states = sorted(plane.candidate(it).state for it in proposed)
    assert states == [CandidateState.PENDING] * (MANY - 1) + [CandidateState.PUBLISHED]


def test_candidates_that_say_the_same_become_one_learning(plane: LearningHarness) -> None:
    proposed = [plane.propose("Project codename is Atlas") for _ in range(MANY)]
    answers = together([partial(plane.publish, it) for it in proposed])
    assert len({it.learning.learning_id for it in answers}) == 1
    assert len(plane.all_learnings()) == 1


def test_a_learning_superseded_by_many_at_once_has_one_replacement(plane: LearningHarness) -> None:
    first = plane.learn("Project codename is Atlas")
    said = [f"Project codename is Name{number}" for number in range(MANY)]
    answers = together([partial(plane.supersede, first, it) for it in said])
    assert len({it.learning.learning_id for it in answers}) == 1
    assert len(plane.all_learnings()) == 2


def test_publishing_and_rejecting_at_once_ends_in_one_of_both(plane: LearningHarness) -> None:
    candidate = plane.propose("Project codename is Atlas", scope=SESSION)
    together(
        [
            lambda: plane.publish(candidate),
            lambda: plane.candidates.reject(ALICE, candidate.candidate_id),
        ]
    )
    is_published = plane.candidate(candidate).state is CandidateState.PUBLISHED
    assert len(plane.all_learnings()) == int(is_published)


def test_those_who_hold_many_records_do_not_lock_each_other_out(plane: LearningHarness) -> None:
    scopes = [SESSION, plane.learn("The moon is far").scope]
    proposed = [
        plane.propose(f"Number {number} is odd", scope=scopes[number % 2]) for number in range(12)
    ]
    chosen = tuple(BulkChoice(candidate_id=it.candidate_id) for it in proposed)
    preview = BulkRequest(action=BulkAction.PUBLISH, candidates=chosen, dry_run=True)
    backwards = BulkRequest(action=BulkAction.PUBLISH, candidates=chosen[::-1])
    answers = together(
        [
            lambda: plane.bulk.decide(ALICE, preview),
            lambda: plane.bulk.decide(ALICE, backwards),
            lambda: plane.bulk.decide(ALICE, preview),
            lambda: plane.learnings.revoke_matching(ALICE, LearningFilter(), everything=True),
        ]
    )
    assert not any(isinstance(it, Exception) for it in answers), answers
    assert all(plane.candidate(it).state is CandidateState.PUBLISHED for it in proposed)
    plane.learnings.revoke_matching(ALICE, LearningFilter(), everything=True)
    assert {it.status for it in plane.all_learnings()} == {LearningStatus.REVOKED}
