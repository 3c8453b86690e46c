"""Two people: the first approval waits, and only somebody else makes the change."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api.conftest import ADMIN
from tests.api.furniture import MAKERS
from tests.api.skill_users import Person
from tests.api.test_isolation import person


@pytest.fixture
def root(guarded: TestClient) -> Person:
    return Person(guarded, {"Authorization": f"Bearer {ADMIN}"})


@pytest.fixture
def ann(guarded: TestClient, root: Person) -> Person:
    root.ok(
        "POST",
        "/v1/runtime",
        {"require_two_approvers": ["policy_change", "skill_activation", "bulk_publication"]},
    )
    return person(guarded, "ann", "admin")


@pytest.fixture
def bob(guarded: TestClient, ann: Person) -> Person:
    return person(guarded, "bob", "admin")


def change(caller: Person, mode: str = "shadow") -> Any:
    return caller.call("POST", "/v1/runtime/learning-policy", {"mode": mode})


def mode(caller: Person) -> str:
    return str(caller.ok("GET", "/v1/runtime")["learning_policy"]["mode"])


def test_the_first_waits_and_the_second_does_it(ann: Person, bob: Person) -> None:
    before = mode(ann)
    first = change(ann)

    assert first.status_code == 202
    assert first.json()["state"] == "waiting_for_second"
    assert change(ann).json()["approval_id"] == first.json()["approval_id"]
    assert mode(ann) == before

    assert change(bob).status_code == 200
    assert mode(ann) == "shadow"
    told = [entry.get("reason", "") for entry in bob.ok("GET", "/v1/audit")["items"]]
    assert any("first ann, second bob" in each for each in told)


def test_the_inbox_shows_it_and_approving_there_does_it(ann: Person, bob: Person) -> None:
    approval_id = change(ann).json()["approval_id"]

    [item] = bob.ok("GET", "/v1/inbox?kind=second_approval")["items"]
    assert (item["id"], item["actions"]) == (approval_id, ["approve"])
    [own] = ann.ok("GET", "/v1/inbox?kind=second_approval")["items"]
    assert own["actions"] == ["withdraw"]
    path = f"/v1/second-approvals/{approval_id}/approve"
    assert ann.refused("POST", path) == (403, "second_is_first")

    done = bob.ok("POST", path)
    assert (done["operation"], done["answer"]["policy"]["mode"]) == (
        "learning_policy.set",
        "shadow",
    )

    assert mode(bob) == "shadow"
    assert bob.refused("POST", path) == (404, "approval_not_found")


def test_one_person_cannot_switch_it_off(root: Person, ann: Person, bob: Person) -> None:
    off: dict[str, list[str]] = {"require_two_approvers": []}
    waiting = root.call("POST", "/v1/runtime", off)

    assert waiting.status_code == 202
    assert root.call("POST", "/v1/runtime/rollback", {}).status_code == 202
    # Neither as somebody else.
    again = {"X-Understudy-User-Id": "bob"}
    assert root.call("POST", "/v1/runtime", off, headers=again).status_code == 202
    assert len(root.ok("GET", "/v1/runtime")["require_two_approvers"]) == 3

    assert bob.ok("POST", "/v1/runtime", off)["require_two_approvers"] == []


def test_a_change_can_be_withdrawn(ann: Person, bob: Person) -> None:
    approval_id = change(ann).json()["approval_id"]
    ann.ok("POST", f"/v1/second-approvals/{approval_id}/withdraw")

    assert change(bob).status_code == 202


def test_a_change_that_meets_a_conflict_waits_again(ann: Person, bob: Person) -> None:
    late = {"mode": "shadow", "expected_revision": 77}
    path = "/v1/runtime/learning-policy"
    assert ann.call("POST", path, late).status_code == 202
    assert bob.call("POST", path, late).status_code in (409, 412)
    assert len(bob.ok("GET", "/v1/second-approvals")["items"]) == 1


def test_what_is_invalid_does_not_wait_for_a_third(ann: Person, bob: Person) -> None:
    assert change(ann, "sideways").status_code == 202
    assert change(bob, "sideways").status_code == 400
    assert bob.ok("GET", "/v1/second-approvals")["items"] == []


def test_the_role_of_the_second_counts(guarded: TestClient, ann: Person) -> None:
    approval_id = change(ann).json()["approval_id"]
    operator = person(guarded, "olga", "operator")

    path = f"/v1/second-approvals/{approval_id}/approve"
    assert operator.refused("POST", path)[0] == 403


def test_who_made_a_skill_does_not_count(root: Person, ann: Person, bob: Person) -> None:
    skill = MAKERS["skill_id"](ann, {})
    public = {"visibility": "public"}

    assert ann.refused("PUT", f"/v1/skills/{skill}", public) == (403, "proposer_does_not_count")
    assert bob.call("PUT", f"/v1/skills/{skill}", public).status_code == 202
    assert root.ok("PUT", f"/v1/skills/{skill}", public)["visibility"] == "public"


def test_many_candidates_are_published_by_two(ann: Person, bob: Person) -> None:
    candidate = MAKERS["candidate_id"](ann, {})
    wanted = {"action": "publish", "candidate_ids": [candidate]}
    path = "/v1/learning-candidates/bulk"

    assert ann.ok("POST", path, {**wanted, "dry_run": True})["dry_run"]
    assert ann.call("POST", path, wanted).status_code == 202
    assert bob.ok("POST", path, wanted)["done_count"] == 1
