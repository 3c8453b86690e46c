"""Learnings that an operator proposes and publishes in one step, on both databases."""

from typing import Any

import pytest

from tests.support.factories import ALICE, NOW, make_session
from tests.support.learning_harness import LearningHarness
from understudy.core.errors import Conflict, Invalid
from understudy.core.page import PageRequest
from understudy.learnings.model import CandidateState, Kind, Learning, Origin, PolicyDecision
from understudy.learnings.proposal import NewCandidate
from understudy.learnings.publication import Published
from understudy.sessions.learning_scopes import WORKSPACE, session_scope
from understudy.storage.unit import Units

ATLAS = "Project codename is Atlas."
BOREALIS = "Project codename is Borealis."
SECRET = "api-key: abc" + "123456789"


@pytest.fixture
def plane(units: Units) -> LearningHarness:
    return LearningHarness(units)


def learn(plane: LearningHarness, content: str, **fields: Any) -> Published:
    wanted: dict[str, Any] = {"scope": WORKSPACE, "kind": Kind.FACT, "content": content} | fields
    return plane.candidates.learn(ALICE, NewCandidate(**wanted))


def candidate_count(plane: LearningHarness) -> int:
    return len(plane.candidates.page(PageRequest(limit=10)).items)


def test_it_has_the_lineage_and_audit_of_a_proposal_and_its_publication(
    plane: LearningHarness,
) -> None:
    with plane.units.write() as unit:
        unit.sessions.add(make_session("s1"))
    made = learn(plane, f"  {ATLAS} ", scope=session_scope("s1"), expires_at_ms=NOW + 1000)

    learning = made.learning
    assert made.is_new
    assert (learning.content, learning.expires_at_ms) == (ATLAS, NOW + 1000)
    assert (learning.policy_decision, learning.policy_actor) == (PolicyDecision.MANUAL, "operator")
    candidate = plane.candidates.get(learning.source_candidate_id or "")
    assert (candidate.origin, candidate.state) == (Origin.API, CandidateState.PUBLISHED)
    assert candidate.published_learning_id == learning.learning_id
    assert [entry.action for entry in plane.audit()] == [
        "learning_candidates.create",
        "learning_candidates.publish",
    ]
    assert [event.data["what"] for event in plane.events("s1")] == [
        "candidate_created",
        "learning_published",
        "candidate_decided",
    ]
    assert plane.queued() == 0


def test_what_is_known_already_is_answered_and_nothing_is_written(plane: LearningHarness) -> None:
    first = learn(plane, ATLAS).learning
    again = learn(plane, "the project codename is Atlas")

    assert (again.learning.learning_id, again.is_new) == (first.learning_id, False)
    assert candidate_count(plane) == 1
    assert len(plane.audit()) == 2


def test_a_contradiction_is_refused_and_leaves_no_candidate(plane: LearningHarness) -> None:
    first: Learning = learn(plane, ATLAS).learning

    with pytest.raises(Conflict) as refused:
        learn(plane, BOREALIS)

    assert (refused.value.code, refused.value.params["learning_id"]) == (
        "learning_conflict",
        first.learning_id,
    )
    assert candidate_count(plane) == 1


@pytest.mark.parametrize(
    ("content", "fields", "code", "pointer"),
    [
        (SECRET, {}, "secret_content", "/content"),
        (" ", {}, "invalid_content", "/content"),
        (ATLAS, {"kind": Kind.RUN_SUMMARY}, "invalid_kind", "/kind"),
        (ATLAS, {"expires_at_ms": NOW}, "expiry_is_past", "/expires_at_ms"),
    ],
)
def test_a_refusal_says_what_is_wrong_and_writes_nothing(
    plane: LearningHarness, content: str, fields: dict[str, Any], code: str, pointer: str
) -> None:
    with pytest.raises(Invalid) as refused:
        learn(plane, content, **fields)

    assert refused.value.code == code
    assert [each.pointer for each in refused.value.errors] == [pointer]
    assert candidate_count(plane) == 0


@pytest.mark.one_database
@pytest.mark.parametrize("content", ["???", "none.", "n/a", "待定", "123", "Where is it?"])
def test_what_states_nothing_is_refused(plane: LearningHarness, content: str) -> None:
    with pytest.raises(Invalid, match="states nothing"):
        learn(plane, content)
    assert candidate_count(plane) == 0
