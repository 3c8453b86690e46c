"""The queue of review: its order, what a reviewer is told, and what is put off or taken back."""

from typing import Any

import pytest

from tests.support.factories import (
    NOW,
    bound,
    make_member,
    make_persona,
    make_project,
    make_run,
    make_session,
)
from tests.support.learning_harness import LearningHarness
from tests.support.run_memory_harness import make_record
from understudy.core.clock import DAY_MS
from understudy.core.records import extended
from understudy.learnings.candidates import ReviewItem
from understudy.learnings.model import LearningSource
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
    everywhere = (Reach(scope=WORKSPACE, words="told in every session of this daemon"),)
    found = plane.candidates.next_for_review()
    assert found.item == extended(ReviewItem, first, reaches=everywhere)
    assert found.following == 1
    found = plane.candidates.next_for_review(after=first.candidate_id)
    assert found.item == extended(ReviewItem, second, reaches=everywhere)
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
        ("session:s9", "told in this session only", None),
        ("persona:helper", "told in every session of persona helper", None),
        ("project:garden", "told in every session of project garden", None),
        ("workspace:default", "told in every session of this daemon", None),
    ]


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
    assert (reach.words, reach.unused) == ("told in this session only", unused)


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

    item = plane.candidates.item(candidate.candidate_id)

    assert item.quotes == ("Please remember: I want metric units in reports.",)
