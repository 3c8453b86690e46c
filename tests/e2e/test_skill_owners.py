"""Whose skills are whose: owners, admins, what nobody may change, and what nobody may learn."""

import uuid
from typing import Any

import pytest

from tests.support.skill_daemon import Person, SkillUsers
from tests.support.skill_texts import ALL, MANIFEST, SHIPPED, manage, packed, skill_md

pytestmark = pytest.mark.e2e

# What a row has, and nobody may set.
FIXED = {
    "id": "skl_other",
    "owner_id": "bob",
    "is_system": True,
    "file_path": "/etc",
    "version": 7,
    "slug": "other-slug",
    "status": "deleted",
    "file_hash": "0" * 64,
}


def changes(users: SkillUsers, ref: str) -> list[tuple[str, str, object]]:
    """Every way to change a skill over HTTP, deleting it last."""
    one = f"{ALL}/{ref}"
    return [
        ("PUT", one, {"description": "Another"}),
        ("POST", f"{one}/toggle", {"enabled": True}),
        ("POST", f"{one}/grants/agent", {"agent_id": users.plain}),
        ("DELETE", f"{one}/grants/agent/{users.plain}", None),
        ("POST", f"{one}/grants/user", {"user_id": "carol"}),
        ("DELETE", f"{one}/grants/user/carol", None),
        ("DELETE", one, None),
    ]


def statuses(person: Person, calls: list[tuple[str, str, object]]) -> list[int]:
    return [person.status(*call) for call in calls]


def test_only_owner_and_admin_change_a_skill_over_http(users: SkillUsers) -> None:
    skill_id = users.ann.own()["id"]
    before = users.ann.get(skill_id)
    calls = changes(users, skill_id)

    assert statuses(users.nobody, calls) == [401] * 7
    assert statuses(users.vic, calls) == [403] * 7
    assert statuses(users.bob, calls) == [403] * 7
    assert users.ann.get(skill_id) == before
    assert users.ann.grants(skill_id) == set()
    for person in (users.ann, users.root):
        made = users.ann.own()["id"]
        assert statuses(person, changes(users, made)) == [200, 200, 201, 200, 201, 200, 200]
        assert users.ann.status("GET", f"{ALL}/{made}") == 404


def test_what_a_change_answers_is_what_the_protocol_says(file_users: SkillUsers) -> None:
    slug = file_users.ann.own()["slug"]
    put, off, on, grant, revoke, *_, gone = (
        file_users.ann.ok(*call)
        for call in [
            ("PUT", f"{ALL}/{slug}", {"tags": ["a", "b"]}),
            ("POST", f"{ALL}/{slug}/toggle", {"enabled": False}),
            ("POST", f"{ALL}/{slug}/toggle", {"enabled": True}),
            ("POST", f"{ALL}/{slug}/grants/user", {"user_id": "carol"}),
            ("DELETE", f"{ALL}/{slug}/grants/user/carol", None),
            ("DELETE", f"{ALL}/{slug}", None),
        ]
    )

    assert (put["ok"], put["tags"]) == ("true", ["a", "b"])
    assert (off["ok"], off["enabled"]) == (True, False)
    assert (on["ok"], on["enabled"], on["status"]) == (True, True, "active")
    assert (grant["ok"], grant["visibility"]) == ("true", "internal")
    assert revoke["ok"] == "true"
    assert gone["ok"] == "true"


def test_only_owner_and_admin_change_a_skill_over_the_socket(file_users: SkillUsers) -> None:
    made = file_users.ann.own()
    for ref in ({"id": made["id"]}, {"name": made["slug"]}):
        with file_users.bob.socket() as bob:
            answer = bob.ask("skills.update", {**ref, "updates": {"description": "Theirs"}})
            assert answer["ok"] is False
            assert answer["error"]["code"] in {"UNAUTHORIZED", "NOT_FOUND"}
        for person in (file_users.ann, file_users.root):
            words = f"By {person.user_id}"
            with person.socket() as theirs:
                update = {**ref, "updates": {"description": words}}
                assert theirs.ok("skills.update", update) == {"ok": "true"}
            assert file_users.ann.get(made["slug"])["description"] == words


def test_a_viewer_changes_nothing(file_users: SkillUsers) -> None:
    ref = file_users.ann.own()["id"]
    writes: list[tuple[str, str, Any]] = [
        ("POST", ALL, {"content": skill_md("Of a viewer")}),
        ("POST", f"{ALL}/{ref}/patch", {"find": "numbers", "replace": "x"}),
        ("POST", f"{ALL}/{ref}/restore", {"version": 1}),
        *changes(file_users, ref),
    ]

    assert statuses(file_users.vic, writes) == [403] * len(writes)
    archive = packed({MANIFEST: skill_md("Of a viewer")})
    assert file_users.vic.upload(archive).status_code == 403
    with file_users.vic.socket() as vic:
        update = {"id": ref, "updates": {"description": "x"}}
        assert vic.code("skills.update", update) == "UNAUTHORIZED"
    assert file_users.ann.listed(query="Of a viewer") == set()


def test_nobody_changes_what_comes_with_the_product(users: SkillUsers) -> None:
    root = users.root
    before = root.get(SHIPPED)
    content = skill_md("Mine now", slug=SHIPPED)
    folder = users.skill_daemon.folder({MANIFEST: content})
    told = root.run(
        manage("create", content=content),
        manage("create", content=skill_md("Mine now"), slug=SHIPPED),
        manage("patch", slug=SHIPPED, find="skill", replace="x"),
        manage("delete", slug=SHIPPED),
        ("publish_skill", {"path": folder}),
        agent=users.learner,
        words="Please save this as a skill.",
    )

    assert told.refusals
    one = f"{ALL}/{SHIPPED}"
    refused: list[tuple[str, str, object]] = [
        ("PUT", one, {"description": "x"}),
        ("PUT", one, {"visibility": "private"}),
        ("DELETE", one, None),
        ("POST", f"{one}/patch", {"find": "skill", "replace": "x"}),
        ("POST", f"{one}/grants/agent", {"agent_id": users.plain}),
        ("DELETE", f"{one}/grants/agent/{users.plain}", None),
        ("POST", f"{one}/grants/user", {"user_id": "carol"}),
        ("DELETE", f"{one}/grants/user/carol", None),
    ]
    assert statuses(root, refused) == [403] * len(refused)
    assert root.status("POST", ALL, {"content": content}) == 409
    assert root.upload(packed({MANIFEST: content})).status_code == 409
    with root.socket() as socket:
        for ref in ({"id": before["id"]}, {"name": SHIPPED}):
            answer = socket.ask("skills.update", {**ref, "updates": {"description": "x"}})
            assert answer["ok"] is False
    assert root.get(SHIPPED) == before
    assert (before["is_system"], before["owner_id"]) == (True, "system")
    assert (before["origin"], before["visibility"]) == ("system", "public")


def test_an_admin_may_still_switch_off_what_comes_with_the_product(file_users: SkillUsers) -> None:
    toggle = f"{ALL}/review-assistant/toggle"
    assert file_users.ann.status("POST", toggle, {"enabled": False}) == 403
    before = file_users.root.get("review-assistant")
    file_users.root.ok("POST", toggle, {"enabled": False})
    off = file_users.ann.run(agent=file_users.plain)
    file_users.root.ok("POST", toggle, {"enabled": True})
    on = file_users.ann.run(agent=file_users.plain)

    assert "review-assistant" not in off.offered
    assert "review-assistant" in on.offered
    after = file_users.root.get("review-assistant")
    assert (after["digest"], after["version"]) == (before["digest"], before["version"])


@pytest.mark.parametrize("name", FIXED)
def test_no_field_beside_the_allowed_ones_is_ever_changed(
    file_users: SkillUsers, name: str
) -> None:
    made = file_users.ann.own()
    before = file_users.ann.get(made["id"])
    updates = {name: FIXED[name]}

    for person in (file_users.ann, file_users.root):
        assert person.status("PUT", f"{ALL}/{made['id']}", updates) == 400
        with person.socket() as socket:
            asked = {"id": made["id"], "updates": updates}
            assert socket.code("skills.update", asked) == "INVALID_REQUEST"
    assert file_users.ann.get(made["id"]) == before


def test_only_an_admin_makes_a_skill_public(users: SkillUsers) -> None:
    slug = users.ann.own()["slug"]
    public = {"visibility": "public"}

    assert users.ann.status("PUT", f"{ALL}/{slug}", public) == 403
    assert users.ann.get(slug)["visibility"] == "private"
    assert users.bob.status("GET", f"{ALL}/{slug}") == 404
    assert users.root.ok("PUT", f"{ALL}/{slug}", public)["visibility"] == "public"
    assert users.bob.get(slug)["visibility"] == "public"
    assert users.root.ok("PUT", f"{ALL}/{slug}", {"visibility": "private"})["ok"] == "true"
    assert users.ann.get(slug)["visibility"] == "private"


def test_an_id_of_nothing_is_not_found_and_one_that_is_none_is_wrong(
    file_users: SkillUsers,
) -> None:
    for ref in (str(uuid.uuid4()), "skl_01a1e432b29f7741b36a02a35f07d1c6", "no-such-skill"):
        calls = [("GET", f"{ALL}/{ref}", None), *changes(file_users, ref)]
        assert statuses(file_users.ann, calls) == [404] * 8, ref
    for ref in ("Not_An_Id", "a", "%2e%2e", "a%20b", "x" * 300):
        calls = [("GET", f"{ALL}/{ref}", None), *changes(file_users, ref)]
        assert set(statuses(file_users.ann, calls)) == {400}, ref
    with file_users.ann.socket() as ann:
        update = {"updates": {"description": "x"}}
        assert ann.code("skills.update", {"id": "not an id", **update}) == "INVALID_REQUEST"
        assert ann.code("skills.update", {"id": str(uuid.uuid4()), **update}) == "NOT_FOUND"
        assert ann.code("skills.update", update) == "INVALID_REQUEST"
        assert ann.code("skills.update", {"name": "no-such-skill"}) == "INVALID_REQUEST"


def test_nobody_claims_to_be_somebody_else(users: SkillUsers) -> None:
    slug = users.ann.own()["slug"]
    claimed = {"X-Understudy-User-Id": users.ann.user_id}

    assert users.bob.status("DELETE", f"{ALL}/{slug}", headers=claimed) == 403
    assert users.bob.status("GET", f"{ALL}/{slug}", headers=claimed) == 403
    assert users.ann.get(slug)["version"] == 1
    archive = packed({MANIFEST: skill_md("x")})
    assert users.nobody.upload(archive).status_code == 401
    # An admin may, and what comes of it is that user's.
    made = users.root.ok("POST", ALL, {"content": skill_md("For ann")}, headers=claimed)
    assert made["owner_id"] == users.ann.user_id


def test_a_private_skill_of_somebody_looks_like_one_that_is_not_there(users: SkillUsers) -> None:
    made = users.ann.own(description="Holds a marvellous secret")
    slug, skill_id = made["slug"], made["id"]
    reads = ["", "/versions", "/files", "/files/SKILL.md", "/export", "/diff?from=1&to=1"]
    reads += ["/access", "/grants"]

    for person in (users.bob, users.vic):
        assert slug not in person.listed()
        assert slug not in person.listed(query="marvellous")
        assert slug not in person.listed(owner_id=users.ann.user_id)
        for read in reads:
            there = person.problem("GET", f"{ALL}/{slug}{read}")
            missing = person.problem("GET", f"{ALL}/no-such-skill{read}")
            assert _same(there, slug) == _same(missing, "no-such-skill"), read
            by_id = person.problem("GET", f"{ALL}/{skill_id}{read}")
            unknown = person.problem("GET", f"{ALL}/skl_{'0' * 32}{read}")
            assert _same(by_id, skill_id) == _same(unknown, f"skl_{'0' * 32}"), read
            assert there["status"] == by_id["status"] == 404
        with person.socket() as socket:
            listed = socket.ok("skills.list")["skills"]
            assert slug not in {it["slug"] for it in listed}
            there, missing = (
                socket.ask("skills.get", {"name": name})["error"]
                for name in (slug, "no-such-skill")
            )
            assert _same(there, slug) == _same(missing, "no-such-skill")
            assert there["code"] == "NOT_FOUND"
    assert slug in users.ann.listed()
    assert slug in users.root.listed()


def _same(problem: Any, ref: str) -> str:
    """What a problem says, whatever it is about."""
    told = {key: value for key, value in problem.items() if key not in {"instance", "request_id"}}
    return repr(told).replace(ref, "it")
