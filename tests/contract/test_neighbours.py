"""Neighbours of statements, and what publication makes of the relations a model names, on both databases."""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ALICE, make_session
from tests.support.learning_harness import LearningHarness
from tests.support.run_harness import make_settings
from understudy.core.errors import Conflict, UnderstudyError
from understudy.learnings.capture_settings import ConflictSettings
from understudy.learnings.model import Candidate, Kind, Learning, Relation, Sensitivity
from understudy.learnings.neighbours import INSTRUCTIONS, Neighbourhood
from understudy.learnings.proposal import NewCandidate
from understudy.learnings.publication import PublishChanges, Published
from understudy.providers.registry import Routes
from understudy.providers.structured import StructuredModel
from understudy.retrieval.neighbours import nearest
from understudy.sessions.learning_scopes import WORKSPACE, session_scope
from understudy.settings import RouteConfig
from understudy.storage.unit import Unit
from understudy.testing.answers import Answer
from understudy.testing.fake_model import FakeModel

pytestmark = pytest.mark.every_database
KNOWN, CONTRARY, SAME = "My manager is Priya", "I report to Tom now", "Priya is who I report to"


@pytest.fixture
def fake() -> Iterator[FakeModel]:
    with FakeModel() as fake:
        fake.script_captures = True
        yield fake


@dataclass
class Plane:
    """The learning plane with a model that compares statements."""

    harness: LearningHarness
    neighbourhood: Neighbourhood
    fake: FakeModel
    timeout_ms: int = 2_000
    default_route: str = "a"

    def settings(self, _: Unit) -> ConflictSettings:
        return ConflictSettings(timeout_ms=self.timeout_ms)

    def answer(self, learning: Learning, relation: str) -> None:
        said = {"relations": [{"id": learning.learning_id, "is": relation}]}
        self.fake.queue(json.dumps(said))

    async def publish(self, candidate: Candidate, **wanted: Any) -> Published:
        """Publish as the route does."""
        service, changes = self.harness.candidates, PublishChanges(**wanted)
        changes = await service.compared_again(candidate.candidate_id, changes)
        return service.publish(ALICE, candidate.candidate_id, changes)

    async def learn(self, content: str, **wanted: Any) -> Published:
        """Learn as the route does."""
        service, changes = self.harness.candidates, PublishChanges(**wanted)
        new = NewCandidate(scope=WORKSPACE, kind=Kind.FACT, content=content)
        return service.learn(ALICE, new, await service.compared(new, changes))


@pytest.fixture
async def plane(database: UnitsOnDatabase, tmp_path: Any, fake: FakeModel) -> AsyncIterator[Plane]:
    known = make_settings(tmp_path, fake.url, "a", "b").routes
    offline = {"offline": RouteConfig(provider="scripted")}
    routes = Routes(make_settings(tmp_path, routes={**known, **offline}))
    harness = LearningHarness(database.units)
    plane: Plane
    neighbourhood = Neighbourhood(
        units=database.units,
        clock=harness.clock,
        nearest=nearest,
        model=StructuredModel(routes, lambda: plane.default_route),
        settings=lambda unit: plane.settings(unit),
    )
    harness.candidates = replace(harness.candidates, neighbourhood=neighbourhood)
    plane = Plane(harness, neighbourhood, fake)
    yield plane
    await routes.close()


async def test_a_contradiction_that_a_model_names_is_refused_with_the_neighbours(
    plane: Plane,
) -> None:
    known = plane.harness.learn(KNOWN)
    candidate = plane.harness.propose("The person I report to as manager is Tom")
    plane.answer(known, "contradicts")

    with pytest.raises(Conflict) as refused:
        await plane.publish(candidate)

    assert refused.value.code == "learning_conflict"
    assert refused.value.params["learning_id"] == known.learning_id
    near = refused.value.params["neighbours"]
    assert [(it["learning_id"], it["content"]) for it in near] == [(known.learning_id, KNOWN)]  # type: ignore[attr-defined]
    (asked,) = plane.fake.requests
    assert asked.system == INSTRUCTIONS
    assert json.loads(asked.last_user) == {
        "statement": candidate.content,
        "known": [{"id": known.learning_id, "kind": "fact", "content": KNOWN}],
    }
    assert plane.harness.all_learnings() == [known]


@pytest.mark.parametrize("way", ["supersedes", "beside"])
async def test_a_person_replaces_the_neighbour_or_keeps_both_without_a_question(
    plane: Plane, way: str
) -> None:
    known = plane.harness.learn(KNOWN)
    candidate = plane.harness.propose("My manager is Tom")
    wanted: dict[str, Any] = {"supersedes": known.learning_id, "beside": True}

    published = await plane.publish(candidate, **{way: wanted[way]})

    live = {it.content for it in plane.harness.all_learnings() if it.status == "active"}
    assert live == ({published.learning.content} | ({KNOWN} if way == "beside" else set()))
    assert plane.fake.requests == []


async def test_supersedes_and_beside_exclude_each_other(plane: Plane) -> None:
    known = plane.harness.learn(KNOWN)
    with pytest.raises(UnderstudyError, match="send one of the two"):
        await plane.learn("My manager is Tom", supersedes=known.learning_id, beside=True)


async def test_what_says_the_same_is_answered_and_counted(plane: Plane) -> None:
    known = plane.harness.learn(KNOWN)
    plane.answer(known, "same")
    again = await plane.learn("Priya is the manager that I report to")
    assert again.learning == replace(known, said_again=1)
    assert (again.already, again.is_new) == (True, False)

    plane.answer(known, "same")
    candidate = plane.harness.propose("My manager is still Priya")
    published = await plane.publish(candidate)
    assert published.learning == replace(known, said_again=2)
    assert plane.harness.candidate(candidate).published_learning_id == known.learning_id

    beside = await plane.learn("The manager is Priya", beside=True)
    assert (beside.is_new, len(plane.harness.all_learnings())) == (True, 2)


async def test_what_says_the_same_in_a_narrower_scope_is_published_for_the_wider_one(
    plane: Plane,
) -> None:
    with plane.harness.units.write() as unit:
        unit.sessions.add(make_session("s1"))
    known = plane.harness.learn(KNOWN, scope=session_scope("s1"))
    plane.answer(known, "same")
    assert (await plane.learn("Priya is the manager that I report to")).is_new


async def test_relations_are_kept_and_asked_again_only_for_other_neighbours(plane: Plane) -> None:
    known = plane.harness.learn(KNOWN)
    candidate = plane.harness.propose("The person I report to as manager is Tom")
    plane.answer(known, "contradicts")
    for _ in range(2):
        await plane.neighbourhood.refresh(candidate.candidate_id)
    (near,) = plane.harness.candidates.item(candidate.candidate_id).neighbours
    assert (near.learning_id, near.relation) == (known.learning_id, Relation.CONTRADICTS)
    assert near.score > 0
    assert plane.harness.candidate(candidate).version == candidate.version

    other = plane.harness.learn("The manager of the canteen is Jo", kind=Kind.DECISION)
    plane.fake.queue("{}")
    await plane.neighbourhood.refresh(candidate.candidate_id)
    first, second = (json.loads(it.last_user)["known"] for it in plane.fake.requests)
    assert [it["id"] for it in first] == [known.learning_id]
    assert [it["id"] for it in second] == [other.learning_id]
    relations = plane.harness.candidate(candidate).relations
    assert [(it.learning_id, it.relation) for it in relations] == [
        (known.learning_id, Relation.CONTRADICTS)
    ]


async def test_another_content_is_compared_anew(plane: Plane) -> None:
    known = plane.harness.learn(KNOWN)
    candidate = plane.harness.propose("The person I report to as manager is Tom")
    plane.answer(known, "contradicts")
    await plane.neighbourhood.refresh(candidate.candidate_id)
    plane.fake.queue("{}")
    published = await plane.publish(candidate, content="The manager sits on the third floor")
    assert published.is_new


@pytest.mark.parametrize("failure", ["No.", Answer(status=400, error="boom"), "slow"])
async def test_a_model_that_fails_or_is_late_leaves_relations_unknown(
    plane: Plane, failure: Any
) -> None:
    known = plane.harness.learn(KNOWN)
    candidate = plane.harness.propose("The person I report to as manager is Tom")
    if failure == "slow":
        plane.timeout_ms = 1
        plane.fake.hold()
    else:
        plane.fake.queue(failure, failure)
    published = await plane.publish(candidate)
    plane.fake.release()
    assert published.is_new
    assert [(it.learning_id, it.relation) for it in published.neighbours] == [
        (known.learning_id, Relation.UNKNOWN)
    ]


async def test_offline_the_neighbours_are_shown_and_obvious_relations_told(plane: Plane) -> None:
    plane.default_route = "offline"
    known = plane.harness.learn(KNOWN)
    near = plane.harness.propose("My manager is Tom")
    far = plane.harness.propose("I report to Tom, my manager")
    for candidate, relation in ((near, Relation.CONTRADICTS), (far, Relation.UNKNOWN)):
        (shown,) = plane.harness.candidates.item(candidate.candidate_id).neighbours
        assert (shown.learning_id, shown.relation) == (known.learning_id, relation)
    assert (await plane.publish(far)).is_new
    assert plane.fake.requests == []


async def test_a_sensitive_statement_is_shown_to_no_model(plane: Plane) -> None:
    plane.harness.learn(KNOWN)
    secret = plane.harness.propose("My manager is on leave", sensitivity=Sensitivity.SENSITIVE)
    await plane.neighbourhood.refresh(secret.candidate_id)
    assert plane.fake.requests == []


async def test_at_most_eight_neighbours_are_shown_the_nearest_first(plane: Plane) -> None:
    for part in [
        "door",
        "roof",
        "lamp",
        "bell",
        "well",
        "shed",
        "gate",
        "yard",
        "path",
        "barn",
        "pond",
        "dock",
    ]:
        plane.harness.learn(f"The mill has a {part}")
    best = plane.harness.learn("The old mill has a broken wheel")
    plane.harness.learn("Parking costs two euros")
    candidate = plane.harness.propose("The old mill has a repaired wheel")
    near = plane.harness.candidates.item(candidate.candidate_id).neighbours
    assert len(near) == 8
    assert near[0].learning_id == best.learning_id
    assert all("mill" in it.content for it in near)
