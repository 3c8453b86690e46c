"""Two people: the first approval waits, and only somebody else makes the change."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from tests.api.conftest import ADMIN
from tests.api.furniture import MAKERS
from tests.api.skill_users import Person
from tests.api.test_isolation import person
from understudy.core.errors import Conflict
from understudy.core.principal import Principal, Role
from understudy.inbox.second_approvals import GatedChange
from understudy.runtime.two_people import TwoApprovers
from understudy.skills.access import Author
from understudy.skills.model import Visibility
from understudy.skills.revisions import SkillFieldChanges


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


@pytest.fixture
def cid(guarded: TestClient, ann: Person) -> Person:
    return person(guarded, "cid", "admin")


def test_who_proposes_a_policy_does_not_count(ann: Person, bob: Person, cid: Person) -> None:
    before = mode(ann)
    proposed = change(ann)

    assert proposed.status_code == 202
    assert proposed.json()["state"] == "waiting_for_two"
    assert change(ann).json()["approval_id"] == proposed.json()["approval_id"]
    first = change(bob)
    assert (first.status_code, first.json()["state"]) == (202, "waiting_for_second")
    assert first.json()["approval_id"] == proposed.json()["approval_id"]
    # Neither does more than their part.
    assert change(ann).status_code == change(bob).status_code == 202
    assert mode(ann) == before

    assert change(cid).status_code == 200
    assert mode(ann) == "shadow"
    told = [entry.get("reason", "") for entry in bob.ok("GET", "/v1/audit")["items"]]
    assert any("proposed by ann, first bob, second cid" in each for each in told)


def test_the_inbox_shows_it_and_approving_there_does_it(
    ann: Person, bob: Person, cid: Person
) -> None:
    approval_id = change(ann).json()["approval_id"]

    [item] = bob.ok("GET", "/v1/inbox?kind=second_approval")["items"]
    assert (item["id"], item["actions"]) == (approval_id, ["approve"])
    [own] = ann.ok("GET", "/v1/inbox?kind=second_approval")["items"]
    assert own["actions"] == ["withdraw"]
    path = f"/v1/second-approvals/{approval_id}/approve"
    assert ann.refused("POST", path) == (403, "proposer_does_not_count")
    first = bob.ok("POST", path)
    assert (first["done"], first["answer"]["state"]) == (False, "waiting_for_second")
    assert bob.refused("POST", path) == (403, "second_is_first")

    done = cid.ok("POST", path)
    assert (done["done"], done["operation"]) == (True, "learning_policy.set")
    assert done["answer"]["policy"]["mode"] == "shadow"

    assert mode(bob) == "shadow"
    assert cid.refused("POST", path) == (404, "approval_not_found")


def test_one_person_cannot_switch_it_off(
    root: Person, ann: Person, bob: Person, cid: Person
) -> None:
    off: dict[str, list[str]] = {"require_two_approvers": []}
    waiting = root.call("POST", "/v1/runtime", off)

    assert waiting.status_code == 202
    # Neither as somebody else.
    again = {"X-Understudy-User-Id": "bob"}
    assert root.call("POST", "/v1/runtime", off, headers=again).status_code == 202
    assert ann.call("POST", "/v1/runtime", off).status_code == 202
    assert root.call("POST", "/v1/runtime/rollback", {}).status_code == 202
    assert len(root.ok("GET", "/v1/runtime")["require_two_approvers"]) == 3

    assert bob.ok("POST", "/v1/runtime", off)["require_two_approvers"] == []


def test_a_tool_is_switched_by_two(ann: Person, bob: Person, cid: Person) -> None:
    off = {"enabled": False}
    for each in (ann, bob):
        assert each.call("PUT", "/v1/tools/fetch_url", off).status_code == 202
    assert cid.ok("PUT", "/v1/tools/fetch_url", off)["enabled"] is False


def test_a_change_can_be_withdrawn(ann: Person, bob: Person) -> None:
    approval_id = change(ann).json()["approval_id"]
    ann.ok("POST", f"/v1/second-approvals/{approval_id}/withdraw")

    assert change(bob).json()["state"] == "waiting_for_two"


WRONG = {
    "an unknown word": ("POST", "/v1/runtime/learning-policy", {"mode": "sideways"}, 400),
    "an unknown field": ("POST", "/v1/runtime", {"no_such": 1}, 400),
    "an old revision": (
        "POST",
        "/v1/runtime/learning-policy",
        {"mode": "shadow", "expected_revision": 77},
        409,
    ),
    "no such tool": ("PUT", "/v1/tools/none", {"enabled": False}, 404),
    "no such skill": ("POST", "/v1/skills/none/versions/1/accept", {}, 404),
    "no such agent": ("POST", "/v1/skills/none/grants/agent", {"agent_id": "x"}, 404),
    "no such rollout": ("POST", "/v1/learning-skills/none/advance", {}, 404),
    "a filter that finds all": (
        "POST",
        "/v1/learning-candidates/bulk",
        {"action": "publish"},
        400,
    ),
}


@pytest.mark.parametrize(("method", "path", "body", "status"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_done_is_refused_at_once(
    ann: Person, method: str, path: str, body: dict[str, Any], status: int
) -> None:
    assert ann.call(method, path, body).status_code == status
    assert ann.ok("GET", "/v1/second-approvals")["items"] == []


def test_a_change_that_meets_a_conflict_goes_on_waiting(
    root: Person, ann: Person, bob: Person, cid: Person
) -> None:
    path = "/v1/runtime/learning-policy"
    now = root.ok("GET", "/v1/runtime")["revision"]
    wish = {"mode": "shadow", "expected_revision": now}
    for each in (ann, bob):
        assert each.call("POST", path, wish).status_code == 202
    for each in (ann, bob, cid):
        change(each, "enabled")
    assert root.ok("GET", "/v1/runtime")["revision"] == now + 1

    assert cid.call("POST", path, wish).status_code == 409
    assert len(cid.ok("GET", "/v1/second-approvals")["items"]) == 1


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


def test_many_candidates_are_published_by_two_who_proposed_none_of_them(
    ann: Person, bob: Person, cid: Person
) -> None:
    candidate = MAKERS["candidate_id"](ann, {})
    named = {"action": "publish", "candidate_ids": [candidate]}
    found = {"action": "publish", "filter": {"state": "pending"}}
    path = "/v1/learning-candidates/bulk"

    assert ann.ok("POST", path, {**named, "dry_run": True})["dry_run"]
    for wanted in (named, found):
        assert ann.refused("POST", path, wanted) == (403, "proposer_does_not_count")
        assert bob.call("POST", path, wanted).status_code == 202
    # What has come since was not approved by the first.
    MAKERS["candidate_id"](ann, {})
    assert cid.call("POST", path, found).status_code == 202
    assert cid.ok("POST", path, named)["done_count"] == 1


def test_a_grant_is_given_by_two_who_did_not_write_the_skill(
    root: Person, ann: Person, bob: Person
) -> None:
    skill = MAKERS["skill_id"](ann, {})
    agent = MAKERS["agent_id"](root, {})
    for kind, named in (("agent", {"agent_id": agent}), ("user", {"user_id": "bob"})):
        path = f"/v1/skills/{skill}/grants/{kind}"
        assert ann.refused("POST", path, named) == (403, "proposer_does_not_count")
        assert bob.call("POST", path, named).status_code == 202
        assert root.call("POST", path, named).status_code == 201


def test_what_waits_does_not_reveal_a_private_skill(
    guarded: TestClient, root: Person, ann: Person, bob: Person
) -> None:
    """Its slug is as unknown to others as the skill itself."""
    skill = MAKERS["skill_id"](ann, {})
    granted = bob.call("POST", f"/v1/skills/{skill}/grants/user", {"user_id": "eve"})
    path = f"/v1/second-approvals/{granted.json()['approval_id']}"
    for name, role, status in (("eve", "operator", 404), ("vic", "viewer", 403)):
        stranger = person(guarded, name, role)
        assert stranger.ok("GET", "/v1/second-approvals")["items"] == []
        assert stranger.refused("GET", path) == (404, "approval_not_found")
        assert '"second_approval":0' in stranger.call("GET", "/v1/inbox").text
        assert stranger.refused("POST", f"{path}/approve", {})[0] == status
    assert len(root.ok("GET", "/v1/second-approvals")["items"]) == 1


def test_a_new_version_for_others_is_a_draft_that_two_accept(
    root: Person, ann: Person, bob: Person
) -> None:
    skill = MAKERS["skill_id"](ann, {})
    mine = ann.ok("POST", f"/v1/skills/{skill}/patch", {"find": "report", "replace": "review"})
    assert mine.get("state", "served") == "served"
    public = {"visibility": "public"}
    bob.call("PUT", f"/v1/skills/{skill}", public)
    root.ok("PUT", f"/v1/skills/{skill}", public)
    served = ann.ok("GET", f"/v1/skills/{skill}")["version"]

    ann.ok("POST", f"/v1/skills/{skill}/patch", {"find": "review", "replace": "digest"})
    ann.ok("POST", f"/v1/skills/{skill}/restore", {"version": 1})

    assert ann.ok("GET", f"/v1/skills/{skill}")["version"] == served
    states = [it["state"] for it in ann.ok("GET", f"/v1/skills/{skill}/versions")["items"]]
    assert states[:2] == ["draft", "draft"]
    accept = f"/v1/skills/{skill}/versions/{served + 1}/accept"
    assert ann.refused("POST", accept) == (403, "proposer_does_not_count")
    assert bob.call("POST", accept).status_code == 202
    assert root.ok("POST", accept)["version"] == served + 1


def test_the_description_of_a_skill_for_others_waits_like_its_instructions(
    root: Person, ann: Person, bob: Person
) -> None:
    skill = MAKERS["skill_id"](ann, {})
    path, public = f"/v1/skills/{skill}", {"visibility": "public"}
    before = ann.ok("PUT", path, {"tags": ["plain"]})
    assert before["version"] == 2
    bob.call("PUT", path, public)
    root.ok("PUT", path, public)

    told = ann.ok("PUT", path, {"name": "Other", "description": "Obey.", "tags": ["new"]})

    assert (told["version"], told["draft_version"]) == (2, 3)
    for reader in (ann, bob):
        shown = reader.ok("GET", path)
        assert {name: shown[name] for name in ("name", "description", "tags")} == {
            name: before[name] for name in ("name", "description", "tags")
        }
    [draft] = [it for it in bob.ok("GET", "/v1/inbox")["items"] if it["kind"] == "skill_draft"]
    assert draft["version"] == 3
    [file] = ann.ok("GET", f"{path}/diff?from=2&to=3")["files"]
    assert "+description: Obey." in file["diff"]
    assert bob.call("POST", f"{path}/versions/3/accept").status_code == 202
    now = root.ok("POST", f"{path}/versions/3/accept")
    assert (now["name"], now["description"], now["tags"]) == ("Other", "Obey.", ["new"])


def test_who_approved_one_text_of_a_skill_has_approved_no_other(
    root: Person, ann: Person, bob: Person, cid: Person
) -> None:
    skill = MAKERS["skill_id"](ann, {})
    path, public = f"/v1/skills/{skill}", {"visibility": "public"}
    assert bob.call("PUT", path, public).status_code == 202

    ann.ok("POST", f"{path}/patch", {"find": "report", "replace": "payload"})

    # Bob saw another text, so Cid is the first for this one.
    assert cid.call("PUT", path, public).status_code == 202
    assert ann.ok("GET", path)["visibility"] == "private"
    assert root.ok("PUT", path, public)["visibility"] == "public"


def test_who_wrote_a_text_does_not_count_after_somebody_restored_it(
    ann: Person, bob: Person
) -> None:
    skill = MAKERS["skill_id"](ann, {})
    path = f"/v1/skills/{skill}"
    ann.ok("POST", f"{path}/patch", {"find": "report", "replace": "review"})
    bob.ok("POST", f"{path}/restore", {"version": 1})

    for each in (ann, bob):
        made = each.refused("PUT", path, {"visibility": "public"})
        assert made == (403, "proposer_does_not_count")


@pytest.mark.parametrize("query", ["version=99", "version=abc", "skill_id=none", "skill_name=none"])
def test_no_query_hides_who_made_a_skill(query: str, ann: Person) -> None:
    path = f"/v1/skills/{MAKERS['skill_id'](ann, {})}"

    for method, below, body in (
        ("PUT", "", {"visibility": "public"}),
        ("POST", "/grants/user", {"user_id": "bob"}),
    ):
        refused = ann.refused(method, f"{path}{below}?{query}", body)
        assert refused == (403, "proposer_does_not_count")


def test_operations_for_two_take_nothing_from_the_query(guarded: TestClient) -> None:
    taken = {
        operation["operationId"]: [it["name"] for it in operation.get("parameters", ())]
        for path in guarded.get("/openapi.json").json()["paths"].values()
        for operation in path.values()
        if "WaitingForSecond" in str(operation.get("responses", {}).get("202"))
        and any(it["in"] == "query" for it in operation.get("parameters", ()))
    }

    assert taken == {}


def test_all_who_wrote_a_part_of_a_text_are_its_authors(
    root: Person, ann: Person, bob: Person, cid: Person
) -> None:
    skill = MAKERS["skill_id"](ann, {})
    path, public = f"/v1/skills/{skill}", {"visibility": "public"}
    bob.ok("POST", f"{path}/patch", {"find": "report", "replace": "review"})
    cid.ok("POST", f"{path}/patch", {"find": "review", "replace": "digest"})

    for each in (ann, bob, cid):
        assert each.refused("PUT", path, public) == (403, "proposer_does_not_count")
    assert root.call("PUT", path, public).status_code == 202


def test_who_wrote_what_was_accepted_since_may_approve_what_comes_after(
    guarded: TestClient, root: Person, ann: Person, bob: Person, cid: Person
) -> None:
    skill = MAKERS["skill_id"](ann, {})
    path = f"/v1/skills/{skill}"
    for each in (bob, root):
        each.call("PUT", path, {"visibility": "public"})
    ann.ok("POST", f"{path}/patch", {"find": "report", "replace": "review"})
    for each in (bob, root):
        each.call("POST", f"{path}/versions/2/accept")
    assert root.ok("GET", path)["version"] == 2
    cid.ok("POST", f"{path}/patch", {"find": "review", "replace": "digest"})
    dan = person(guarded, "dan", "admin")
    dan.ok("POST", f"{path}/patch", {"find": "digest", "replace": "essay"})

    accept = f"{path}/versions/4/accept"
    for each in (cid, dan):
        assert each.refused("POST", accept) == (403, "proposer_does_not_count")
    assert ann.call("POST", accept).status_code == 202
    assert root.ok("POST", accept)["version"] == 4


def test_a_first_approval_of_another_text_does_not_wait(ann: Person, bob: Person) -> None:
    path = f"/v1/skills/{MAKERS['skill_id'](ann, {})}"
    approval_id = bob.call("PUT", path, {"visibility": "public"}).json()["approval_id"]
    assert bob.ok("GET", "/v1/inbox")["counts"]["second_approval"] == 1

    ann.ok("POST", f"{path}/patch", {"find": "report", "replace": "payload"})

    assert bob.ok("GET", "/v1/second-approvals")["items"] == []
    inbox = bob.ok("GET", "/v1/inbox?kind=second_approval")
    assert (inbox["items"], inbox["counts"]["second_approval"]) == ([], 0)
    one = f"/v1/second-approvals/{approval_id}"
    assert bob.refused("GET", one) == (404, "approval_not_found")
    assert bob.refused("POST", f"{one}/approve") == (404, "approval_not_found")


def test_a_rollback_is_approved_for_the_revision_it_was_asked_at(
    guarded: TestClient, ann: Person, bob: Person, cid: Person
) -> None:
    dan = person(guarded, "dan", "admin")
    for each in (ann, bob):
        assert each.call("POST", "/v1/runtime/rollback", {}).status_code == 202
    for each in (ann, bob, cid):
        change(each)

    # It would go back to another revision now.
    assert dan.call("POST", "/v1/runtime/rollback", {}).json()["state"] == "waiting_for_two"


@pytest.mark.parametrize("is_patched", [False, True])
def test_the_text_is_looked_at_where_it_is_activated(
    guarded: TestClient, root: Person, ann: Person, bob: Person, is_patched: bool
) -> None:
    """A patch that is committed between the second approval and the act of it is not activated."""
    skill = MAKERS["skill_id"](ann, {})
    path, public = f"/v1/skills/{skill}", {"visibility": "public"}
    bob.call("PUT", path, public)
    services = cast("FastAPI", guarded.app).state.services
    cid = Principal(user_id="cid", role=Role.ADMIN)
    calls: list[int] = []

    def patch() -> None:
        ann.ok("POST", f"{path}/patch", {"find": "report", "replace": "payload"})

    def act() -> None:
        calls.append(1)
        if is_patched and len(calls) == 2:
            # The first call is the rehearsal.
            with ThreadPoolExecutor(1) as pool:
                pool.submit(patch).result()
        changes = SkillFieldChanges(visibility=Visibility.PUBLIC)
        services.skills.service.update(Author(principal=cid), skill, changes)

    second = GatedChange(
        units=services.resources.units,
        clock=services.resources.clock,
        principal=cid,
        subject=TwoApprovers.SKILL_ACTIVATION,
        operation="skills.update",
        values={"skill_id": skill},
        body=public,
    )
    told = [it["action"] for it in root.ok("GET", "/v1/audit")["items"]]
    assert told.count("second_approvals.approve") == 0
    if is_patched:
        with pytest.raises(Conflict) as refused:
            second.carry_out(act)
        assert refused.value.code == "subject_changed"
    else:
        assert second.carry_out(act) is None

    assert ann.ok("GET", path)["visibility"] == ("private" if is_patched else "public")
    told = [it["action"] for it in root.ok("GET", "/v1/audit")["items"]]
    assert told.count("second_approvals.approve") == (0 if is_patched else 1)
