"""Who may use a skill over HTTP: grants, visibility, and the answer to who may and why."""

from typing import Any

import pytest

from tests.api.skill_users import ALL, ONE, Person, SkillUsers
from tests.support.skill_service_harness import OK_MD, SLUG, skill_md

AGENTS, USERS = f"{ONE}/grants/agent", f"{ONE}/grants/user"
GRANTS: dict[str, tuple[str, dict[str, str]]] = {
    "agent": (AGENTS, {"agent_id": "default"}),
    "user": (USERS, {"user_id": "bob"}),
}


def visibility(person: Person) -> str:
    shown: str = person.ok("GET", ONE)["visibility"]
    return shown


@pytest.mark.parametrize("kind", GRANTS)
def test_the_first_grant_makes_a_skill_internal_and_the_last_one_private(
    users: SkillUsers, kind: str
) -> None:
    users.ann.create()
    path, whom = GRANTS[kind]
    granted = users.ann.call("POST", path, whom)
    assert granted.status_code == 201
    assert (granted.json()["ok"], granted.json()["visibility"]) == ("true", "internal")
    again = users.ann.call("POST", path, whom)
    assert again.status_code == 201
    assert len(users.ann.ok("GET", f"{ONE}/grants")["items"]) == 1
    revoked = users.ann.call("DELETE", f"{path}/{next(iter(whom.values()))}")
    assert revoked.status_code == 200
    assert (revoked.json()["ok"], revoked.json()["visibility"]) == ("true", "private")


def test_grants_of_both_kinds_count(users: SkillUsers) -> None:
    users.ann.create()
    for path, whom in GRANTS.values():
        users.ann.ok("POST", path, whom)
    listed = users.ann.ok("GET", f"{ONE}/grants")["items"]
    assert [(each["kind"], each["granted_by"]) for each in listed] == [
        ("agent", "ann"),
        ("user", "ann"),
    ]
    assert (listed[0]["agent_id"], listed[1]["user_id"]) == ("default", "bob")
    users.ann.ok("DELETE", f"{AGENTS}/default")
    assert visibility(users.ann) == "internal"
    users.ann.ok("DELETE", f"{USERS}/bob")
    assert visibility(users.ann) == "private"


def test_a_public_skill_stays_public(users: SkillUsers) -> None:
    users.ann.create()
    users.root.ok("PUT", ONE, {"visibility": "public"})
    users.ann.ok("POST", USERS, {"user_id": "bob"})
    assert visibility(users.ann) == "public"
    users.ann.ok("DELETE", f"{USERS}/bob")
    assert visibility(users.ann) == "public"


def test_a_grant_that_is_not_there_is_revoked_all_the_same(users: SkillUsers) -> None:
    users.ann.create()
    before = users.ann.ok("GET", ONE)
    users.ann.ok("DELETE", f"{AGENTS}/default")
    users.ann.ok("DELETE", f"{USERS}/bob")
    assert users.ann.ok("GET", ONE) == before


@pytest.mark.parametrize("kind", GRANTS)
@pytest.mark.parametrize("form", ["path", "query", "body", "query and body"])
def test_the_grantee_is_named_in_the_path_the_query_or_the_body(
    users: SkillUsers, kind: str, form: str
) -> None:
    users.ann.create()
    path, whom = GRANTS[kind]
    users.ann.ok("POST", path, whom)
    field, value = next(iter(whom.items()))
    address = {"path": f"{path}/{value}", "body": path}.get(form, f"{path}?{field}={value}")
    body = whom if "body" in form else None
    assert users.ann.ok("DELETE", address, body)["visibility"] == "private"


@pytest.mark.parametrize("kind", GRANTS)
def test_a_grantee_who_is_not_named_or_named_twice_is_a_mistake(
    users: SkillUsers, kind: str
) -> None:
    users.ann.create()
    path, whom = GRANTS[kind]
    field = next(iter(whom))
    assert users.ann.refused("DELETE", path) == (400, "grantee_missing")
    assert users.ann.refused("DELETE", f"{path}?{field}=") == (400, "grantee_missing")
    both = users.ann.refused("DELETE", f"{path}?{field}=other", whom)
    assert both == (400, "grantee_ambiguous")
    assert users.ann.refused("POST", path, {}) == (400, "bad_request")


@pytest.mark.parametrize(
    ("path", "body", "answer"),
    [
        (AGENTS, {"agent_id": "no-such-agent"}, (404, "agent_not_found")),
        (AGENTS, {"agent_id": "default", "version": 9}, (404, "skill_version_not_found")),
        (AGENTS, {"agent_id": "default", "version": "1"}, (400, "bad_request")),
        (USERS, {"user_id": ""}, (400, "bad_request")),
        (USERS, {"user_id": "x" * 256}, (400, "bad_request")),
        (USERS, {"user_id": "bob", "version": 1}, (400, "bad_request")),
    ],
)
def test_a_grant_to_nobody_or_of_nothing_is_refused(
    users: SkillUsers, path: str, body: dict[str, Any], answer: tuple[int, str]
) -> None:
    users.ann.create()
    assert users.ann.refused("POST", path, body) == answer
    assert visibility(users.ann) == "private"


@pytest.mark.parametrize("version", [None, 0, -1])
def test_a_grant_without_a_version_means_the_current_one(
    users: SkillUsers, version: int | None
) -> None:
    users.ann.create()
    body = {"agent_id": "default", **({} if version is None else {"version": version})}
    users.ann.ok("POST", AGENTS, body)
    (grant,) = users.ann.ok("GET", f"{ONE}/grants")["items"]
    assert "pinned_version" not in grant
    users.ann.create(OK_MD + "More.\n")
    assert users.bob.ok("GET", f"{ONE}/access?agent_id=default")["version"] == 2


def test_a_pinned_version_is_what_the_agent_gets(users: SkillUsers) -> None:
    users.ann.create()
    users.ann.ok("POST", AGENTS, {"agent_id": "default", "version": 1})
    users.ann.create(OK_MD + "More.\n")
    assert users.bob.ok("GET", f"{ONE}/access?agent_id=default")["version"] == 1
    (held,) = users.bob.ok("GET", "/v1/agents/default/skills")["items"]
    assert (held["slug"], held["granted"], held["pinned_version"]) == (SLUG, True, 1)
    assert (held["allowed"], held["reason"]) == (True, "agent_grant")
    users.bob.ok("POST", "/v1/sessions", {"session_id": "pinned"})
    (offered,) = users.bob.ok("GET", "/v1/sessions/pinned/skills")["items"]
    assert (offered["slug"], offered["version"], offered["reason"]) == (SLUG, 1, "agent_grant")


@pytest.mark.parametrize(
    ("steps", "allowed", "reason"),
    [
        ((), True, "owner"),
        ((("POST", AGENTS, {"agent_id": "default"}),), True, "owner"),
        ((("POST", f"{ONE}/toggle", {"enabled": False}),), False, "disabled"),
    ],
)
def test_the_answer_to_who_may_gives_its_reason(
    users: SkillUsers, steps: tuple[tuple[str, str, object], ...], allowed: bool, reason: str
) -> None:
    made = users.ann.create()
    for method, path, body in steps:
        users.ann.ok(method, path, body)
    answer = users.ann.ok("GET", f"{ONE}/access?agent_id=default&user_id=ann")
    expected = {
        "skill_id": made["id"],
        "slug": SLUG,
        "allowed": allowed,
        "reason": reason,
        "agent_id": "default",
        "user_id": "ann",
    }
    assert answer == (expected | {"version": 1} if allowed else expected)


def test_an_owner_asks_for_others_and_others_for_themselves(users: SkillUsers) -> None:
    users.ann.create()
    about_bob = f"{ONE}/access?user_id=bob"
    assert users.ann.ok("GET", about_bob)["reason"] == "none"
    assert users.bob.refused("GET", about_bob) == (404, "skill_not_found")
    users.ann.ok("POST", USERS, {"user_id": "bob"})
    assert users.ann.ok("GET", about_bob)["reason"] == "user_grant"
    assert users.bob.ok("GET", about_bob)["allowed"] is True
    about_ann = users.bob.refused("GET", f"{ONE}/access?user_id=ann")
    assert about_ann == (403, "skill_not_yours")
    assert users.bob.refused("GET", f"{ONE}/grants") == (403, "skill_not_yours")


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("agent_id=", "invalid_id"),
        ("agent_id=a%20b", "invalid_id"),
        ("agent_id=" + "a" * 256, "invalid_id"),
        ("user_id=", "invalid_user_id"),
        ("user_id=%20", "invalid_user_id"),
        ("user_id=a%0Ab", "invalid_user_id"),
        ("user_id=" + "a" * 256, "invalid_user_id"),
    ],
)
def test_what_nobody_can_be_called_is_no_question(users: SkillUsers, query: str, code: str) -> None:
    users.ann.create()
    assert users.ann.refused("GET", f"{ONE}/access?{query}") == (400, code)
    unknown = users.ann.ok("GET", f"{ONE}/access?agent_id=no-such-agent&user_id=nobody")
    assert (unknown["allowed"], unknown["reason"]) == (False, "none")


def test_what_is_granted_and_revoked_shows_in_sessions_at_once(users: SkillUsers) -> None:
    users.ann.create()
    users.bob.ok("POST", "/v1/sessions", {"session_id": "at-once"})

    def offered() -> list[str]:
        found = users.bob.ok("GET", "/v1/sessions/at-once/skills")
        return [skill["slug"] for skill in found["items"]]

    assert offered() == []
    users.ann.ok("POST", AGENTS, {"agent_id": "default"})
    assert offered() == [SLUG]
    users.ann.ok("POST", f"{ONE}/toggle", {"enabled": False})
    assert offered() == []
    users.ann.ok("POST", f"{ONE}/toggle", {"enabled": True})
    assert offered() == [SLUG]
    users.ann.ok("DELETE", f"{AGENTS}/default")
    assert offered() == []


def test_a_scope_of_the_session_narrows_what_it_is_offered(users: SkillUsers) -> None:
    users.ann.create()
    users.ann.create(skill_md("Bills"))
    scope = {"skill_allow": ["bills"]}
    users.ann.ok("POST", "/v1/sessions", {"session_id": "scoped", "capability_scope": scope})
    found = users.ann.ok("GET", "/v1/sessions/scoped/skills")
    assert [skill["slug"] for skill in found["items"]] == ["bills"]


def test_a_session_or_agent_that_is_not_there_has_no_skills(users: SkillUsers) -> None:
    assert users.ann.refused("GET", "/v1/sessions/none/skills")[0] == 404
    assert users.ann.refused("GET", "/v1/agents/none/skills")[0] == 404


def test_deleting_a_skill_takes_its_grants_for_good(users: SkillUsers) -> None:
    users.ann.create()
    users.ann.ok("POST", USERS, {"user_id": "bob"})
    users.ann.ok("DELETE", ONE)
    users.ann.create()
    assert users.ann.ok("GET", ONE)["visibility"] == "private"
    assert users.ann.ok("GET", ONE)["version"] == 2
    assert users.bob.refused("GET", ONE) == (404, "skill_not_found")
    assert users.ann.ok("GET", f"{ALL}?visibility=internal")["items"] == []
