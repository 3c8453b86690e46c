"""Names that scopes and personas give: what answers to none of them is refused, and what is near is told."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api.skill_users import Person, SkillUsers
from tests.api.test_mcp import FAR, OWN, api
from tests.api.test_resources import ok
from tests.support.skill_service_harness import skill_md

__all__ = ["api"]
SCOPES = "/v1/sessions/s1/capability-scope"
CREDENTIALS = "/v1/sessions/s1/credential-scope"


def problem(answer: Any, status: int = 400) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


def allowing(api: TestClient, **lists: list[str]) -> Any:
    scope = {f"{kind}_allow": names for kind, names in lists.items()}
    is_credential = bool(lists.keys() & {"route", "connector", "connector_credential"})
    field = "credential_scope" if is_credential else "capability_scope"
    return api.put(CREDENTIALS if is_credential else SCOPES, json={field: scope})


@pytest.mark.parametrize(
    ("kind", "name", "near"),
    [
        ("mcp_server", "naer", "near"),
        ("mcp_tool", "nowhere/echo", None),
        ("route", "scriptd", "scripted"),
        ("connector", "slak", "slack"),
        ("connector_credential", "brg_none", None),
        # Only `*` stands for several names.
        ("mcp_server", "ne*", "near"),
    ],
)
def test_an_allow_list_names_what_there_is(
    api: TestClient, kind: str, name: str, near: str | None
) -> None:
    told = problem(allowing(api, **{kind: [name]}))

    assert (told["domain"], told["code"]) == ("sessions", "invalid_scope")
    assert repr(name) in told["detail"]
    assert f"{kind}_allow" in told["detail"]
    assert [each["code"] for each in told["errors"]] == ["unknown_name"]
    if near is not None:
        assert told["params"]["similar"][0] == near
        assert near in told["detail"]


@pytest.mark.parametrize(
    "lists",
    [
        {"mcp_server": ["near", "broken"]},
        # Nobody knows the tools of a server that is not up.
        {"mcp_tool": ["near/whatever", "whatever"]},
        {"route": ["scripted"]},
        {"connector": ["slack", "email"], "connector_credential": ["*"]},
        {"skill": ["*"]},
    ],
)
def test_what_is_there_or_may_be_is_accepted(api: TestClient, lists: dict[str, list[str]]) -> None:
    answer = allowing(api, **lists)
    assert answer.status_code == 200, answer.text


def test_a_server_that_is_up_is_asked_for_its_tools(api: TestClient) -> None:
    assert api.post("/v1/mcp-servers/near/restart").json()["state"] == "ready"
    listed = [it["name"] for it in api.get("/v1/tools").json()["items"] if "/" in it["name"]]

    assert allowing(api, mcp_tool=[listed[0]]).status_code == 200
    assert listed[0] in problem(allowing(api, mcp_tool=["near/no-such"]))["params"]["similar"]


def test_the_own_server_of_a_session_is_known(api: TestClient) -> None:
    problem(allowing(api, mcp_server=["mine"]))
    ok(api, "PUT", OWN, {"mcp_servers": {"mine": FAR}})

    assert allowing(api, mcp_server=["mine"], mcp_tool=["mine/look"]).status_code == 200


def test_a_deny_of_what_is_not_there_yet_is_a_precaution(api: TestClient) -> None:
    scope = {"skill_deny": ["none"], "mcp_server_deny": ["none"], "mcp_tool_deny": ["a/b"]}
    assert ok(api, "PUT", SCOPES, {"capability_scope": scope})["capability_scope"] == scope


def test_an_unknown_list_is_told_with_those_there_are(api: TestClient) -> None:
    told = problem(api.put(SCOPES, json={"capability_scope": {"skil_allow": ["x"]}}))
    assert "skill_allow, skill_deny, mcp_server_allow" in told["detail"]


NAMED = {
    "capability_scope": ["Month End", "month-end"],
    "default_skills": ["month-end", "Month End"],
}


def persona(who: Person, **fields: Any) -> Any:
    return who.call("POST", "/v1/personas", fields)


def test_a_persona_names_skills_that_its_author_may_know(users: SkillUsers) -> None:
    users.ann.create(skill_md("Month End"), slug="month-end")
    given: dict[str, Any] = {
        "capability_scope": {"skill_allow": ["month-end", "Month End"]},
        "default_skills": [{"name": "month-end"}, {"name": "Month End"}],
    }
    assert persona(users.ann, persona_id="anns", **given).status_code == 201

    # To others it looks like one that is not there yet, so no list betrays it.
    for field, value in given.items():
        made = persona(users.bob, **{field: value})
        assert made.status_code == 201
        assert [it["detail"] for it in made.json()["warnings"]] == [
            f"no skill is named {name!r} yet" for name in NAMED[field]
        ]


def test_a_persona_and_a_scope_may_name_a_skill_before_it_is_there(users: SkillUsers) -> None:
    users.ann.create(skill_md("Month End"), slug="month-end")
    made = users.ann.ok(
        "POST", "/v1/personas", {"persona_id": "early", "default_skills": [{"name": "month-ends"}]}
    )

    [warning] = made["warnings"]
    assert warning["pointer"] == "/default_skills/0/name"
    assert warning["detail"] == "no skill is named 'month-ends' yet; there are month-end"
    # What the answer says may be sent back, and is gone once the skill is there.
    assert "warnings" not in users.ann.ok("GET", "/v1/personas/early")
    users.ann.create(skill_md("Month Ends"), slug="month-ends")
    assert "warnings" not in users.ann.ok("PUT", "/v1/personas/early", {**made, "soul": "Be kind."})
    bound = users.ann.ok("POST", "/v1/sessions", {"persona_id": "early"})
    assert bound["active_skills"][0]["slug"] == "month-ends"
    scope = {"capability_scope": {"skill_allow": ["not-yet"]}}
    path = f"/v1/sessions/{bound['session_id']}/capability-scope"
    assert [it["code"] for it in users.ann.ok("PUT", path, scope)["warnings"]] == ["unknown_name"]


def test_what_is_granted_to_an_agent_may_be_named_by_whoever_works_with_it(
    users: SkillUsers,
) -> None:
    users.ann.create(skill_md("Ledger"), slug="ledger")
    unknown = persona(users.bob, capability_scope={"skill_allow": ["ledger"]})
    assert "'ledger'" in str(unknown.json()["warnings"])
    users.ann.ok("POST", "/v1/skills/ledger/grants/agent", {"agent_id": "default"})

    made = persona(
        users.bob,
        capability_scope={"skill_allow": ["ledger"]},
        default_skills=[{"name": "ledger"}],
    )
    assert made.status_code == 201, made.text


def test_what_a_persona_has_stays_when_the_skill_goes(users: SkillUsers) -> None:
    users.ann.create(skill_md("Payroll"), slug="payroll")
    given = {
        "capability_scope": {"skill_allow": ["payroll"]},
        "default_skills": [{"name": "payroll"}],
    }
    assert persona(users.ann, persona_id="clerk", **given).status_code == 201
    users.ann.ok("DELETE", "/v1/skills/payroll")

    shown = users.ann.ok("GET", "/v1/personas/clerk")
    changed = users.ann.ok("PUT", "/v1/personas/clerk", {**shown, "soul": "Be kind."})
    assert changed["default_skills"] == given["default_skills"]
    bound = users.ann.call("POST", "/v1/sessions", {"persona_id": "clerk"})
    assert (bound.status_code, bound.json()["code"]) == (404, "active_skill_not_found")
    assert "'clerk'" in bound.json()["detail"]
    assert "'payroll'" in bound.json()["detail"]


def test_a_session_is_created_only_with_names_that_are_known(users: SkillUsers) -> None:
    body = {"session_id": "odd", "capability_scope": {"mcp_server_allow": ["no-such"]}}
    assert problem(users.ann.call("POST", "/v1/sessions", body))["code"] == "invalid_scope"
    assert users.ann.call("GET", "/v1/sessions/odd").status_code == 404


def test_a_skill_is_shown_by_its_display_name(users: SkillUsers) -> None:
    made = users.ann.create(skill_md("Quarter End"))
    assert users.ann.ok("GET", "/v1/skills/Quarter%20End")["id"] == made["id"]
    # Somebody else's private skill is answered like a name that nothing has.
    unknown = users.bob.refused("GET", "/v1/skills/No%20Such%20Name")
    assert users.bob.refused("GET", "/v1/skills/Quarter%20End") == unknown
