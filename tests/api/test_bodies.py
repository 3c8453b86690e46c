"""What a body may say: the right types, what a GET showed, or nothing at all."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api.test_resources import ok, put_skills, refused


def pointers(api: TestClient, method: str, path: str, body: object) -> list[str]:
    answer = api.request(method, path, json=body)
    assert answer.status_code == 400, answer.text
    return [error["pointer"] for error in answer.json()["errors"]]


@pytest.mark.parametrize(
    ("method", "path", "body", "pointer"),
    [
        ("PUT", "/v1/tools/read_file", {"enabled": "no"}, "/enabled"),
        ("PUT", "/v1/tools/read_file", {"enabled": 0}, "/enabled"),
        ("POST", "/v1/sessions/s1/runs", {"content": 5}, "/content"),
        (
            "POST",
            "/v1/sessions/s1/runs",
            {"content": "a", "max_tool_iterations": True},
            "/max_tool_iterations",
        ),
        (
            "POST",
            "/v1/sessions/s1/runs",
            {"content": "a", "max_tool_iterations": "3"},
            "/max_tool_iterations",
        ),
        ("POST", "/v1/sessions/s1/runs", {"content": "a", "debug_level": 1}, "/debug_level"),
        ("POST", "/v1/agents/default/files/SOUL.md/restore", {"version": "1"}, "/version"),
        ("POST", "/v1/agents/default/files/SOUL.md/restore", {"version": 0}, "/version"),
        ("POST", "/v1/agents/default/files/SOUL.md/restore", {"version": -1}, "/version"),
        ("POST", "/v1/agents/default/users/ann/files/SOUL.md/restore", {"version": 0}, "/version"),
        ("POST", "/v1/skills/skill-creator/restore", {"version": 0}, "/version"),
        ("POST", "/v1/skills/skill-creator/restore", {"version": -1}, "/version"),
        (
            "POST",
            "/v1/runtime",
            {"debug_level": "off", "expected_revision": 1.0},
            "/expected_revision",
        ),
    ],
)
def test_a_value_of_another_type_or_range_is_refused(
    api: TestClient, method: str, path: str, body: object, pointer: str
) -> None:
    assert pointers(api, method, path, body) == [pointer]


@pytest.mark.parametrize(
    ("generation", "place"),
    [
        ({"temperature": "hot"}, "/temperature"),
        ({"temperature": 2.5}, "/temperature"),
        ({"temperature": True}, "/temperature"),
        ({"top_p": -0.1}, "/top_p"),
        ({"max_tokens": 0}, "/max_tokens"),
        ({"max_tokens": 1.5}, "/max_tokens"),
        ({"seed": "1"}, "/seed"),
        ({"stop": 5}, "/stop"),
        ({"stop": {"str": "x"}}, "/stop"),
        ({"model": "  "}, "/model"),
        ({"model": 5}, "/model"),
        ({"tempersture": 1}, "/tempersture"),
    ],
)
def test_a_generation_setting_that_makes_no_sense_is_refused(
    api: TestClient, generation: dict[str, Any], place: str
) -> None:
    ok(api, "POST", "/v1/sessions", {"session_id": "s1"})
    run = {"content": "a", "generation": generation}
    assert pointers(api, "POST", "/v1/sessions/s1/runs", run) == [f"/generation{place}"]
    policy = {"route_policy": {"generation": generation}}
    found = pointers(api, "PUT", "/v1/sessions/s1/route-policy", policy)
    assert found == [f"/route_policy/generation{place}"]


def test_generation_settings_are_kept_as_they_were_given(api: TestClient) -> None:
    ok(api, "POST", "/v1/sessions", {"session_id": "s1"})
    settings = {"temperature": 1, "top_p": 0.5, "max_tokens": 9, "seed": -3, "stop": ["a", "b"]}
    path = "/v1/sessions/s1/route-policy"
    view = ok(api, "PUT", path, {"route_policy": {"generation": {**settings, "model": None}}})
    assert view["route_policy"] == {"generation": settings}
    words = ok(api, "PUT", path, {"route_policy": {"generation": {"stop": "END"}}})
    assert words["route_policy"]["generation"] == {"stop": "END"}


def test_a_wrong_word_among_the_stop_words_is_located(api: TestClient) -> None:
    body = {"content": "a", "generation": {"stop": ["a", 5]}}
    assert "/generation/stop/1" in pointers(api, "POST", "/v1/sessions/s1/runs", body)


RECORDS: dict[str, dict[str, Any]] = {
    "personas": {
        "persona_id": "x",
        "soul": "A",
        "default_skills": [{"name": "alpha"}],
        "capability_scope": {"skill_allow": ["alpha"]},
    },
    "agents": {"agent_id": "x", "agent_type": "open", "route": "scripted"},
    "projects": {
        "project_id": "x",
        "display_name": "X",
        "members": [{"member_id": "s1"}, {"member_id": "ann", "member_kind": "human_actor"}],
    },
}


@pytest.mark.parametrize("kind", RECORDS)
def test_what_get_shows_can_be_put_back(api: TestClient, kind: str) -> None:
    put_skills(api, "alpha")
    ok(api, "POST", "/v1/sessions", {"session_id": "s1"})
    ok(api, "POST", f"/v1/{kind}", RECORDS[kind])
    shown = ok(api, "GET", f"/v1/{kind}/x")
    assert ok(api, "PUT", f"/v1/{kind}/x", {**shown, "actions": []}) == shown
    stale = {**shown, "version": 99, "display_name": "Y"}
    changed = ok(api, "PUT", f"/v1/{kind}/x", stale)
    assert (changed["version"], changed["display_name"]) == (2, "Y")
    other = {**shown, f"{kind.removesuffix('s')}_id": "other"}
    assert refused(api, "PUT", f"/v1/{kind}/x", other) == (400, "api/id_mismatch")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/personas", {}),
        ("/v1/projects", {"display_name": "Y"}),
        ("/v1/projects/x/members", {"member_id": "ann", "member_kind": "human_actor"}),
        ("/v1/projects/x/tasks", {"title": "T"}),
    ],
)
def test_metadata_has_at_most_16_kilobytes(
    api: TestClient, path: str, body: dict[str, Any]
) -> None:
    ok(api, "POST", "/v1/projects", {"project_id": "x", "display_name": "X"})
    large = {**body, "metadata": {"a": "b" * 16_384}}
    assert pointers(api, "POST", path, large) == ["/metadata"]
    ok(api, "POST", path, {**body, "metadata": {"a": "b" * 16_000}})


def test_members_in_a_change_replace_those_there_are(api: TestClient) -> None:
    for session_id in ("s1", "s2"):
        ok(api, "POST", "/v1/sessions", {"session_id": session_id})
    ok(api, "POST", "/v1/projects", RECORDS["projects"])
    changed = ok(api, "PUT", "/v1/projects/x", {"members": [{"member_id": "s2"}]})
    assert [member["session_id"] for member in changed["members"]] == ["s2"]
    twice = {"members": [{"member_id": "s1"}, {"member_id": "other", "session_id": "s1"}]}
    assert refused(api, "PUT", "/v1/projects/x", twice) == (409, "projects/project_member_exists")
    unknown = {"members": [{"member_id": "none"}]}
    assert refused(api, "PUT", "/v1/projects/x", unknown)[0] == 404
    assert ok(api, "GET", "/v1/projects/x") == changed
    assert ok(api, "PUT", "/v1/projects/x", {"members": []})["members"] == []


def test_a_body_may_be_left_out_where_nothing_in_it_is_needed(api: TestClient) -> None:
    made = api.post("/v1/sessions")
    assert made.status_code == 201, made.text
    session = f"/v1/sessions/{made.json()['session_id']}"
    assert api.post("/v1/personas").status_code == 201
    assert api.post(session + "/interrupt").status_code == 200
    assert api.post(session + "/end").status_code == 200
    headers = {"Content-Type": "application/json"}
    assert api.post("/v1/sessions", content=b"", headers=headers).status_code == 201


def test_a_route_has_two_names_in_the_runtime(api: TestClient) -> None:
    assert ok(api, "GET", "/v1/runtime")["route_id"] == "scripted"
    changed = ok(api, "POST", "/v1/runtime", {"route_id": "scripted"})
    assert (changed["route_id"], changed["default_route"]) == ("scripted", "scripted")
    unknown = {"route_id": "none"}
    assert pointers(api, "POST", "/v1/runtime", unknown) == ["/route_id"]
    both = {"route_id": "scripted", "default_route": "other"}
    assert refused(api, "POST", "/v1/runtime", both) == (400, "runtime/route_ambiguous")
    ok(api, "POST", "/v1/runtime", {"route_id": "scripted", "default_route": "scripted"})


@pytest.mark.parametrize(
    "address",
    [
        "hook.example/x",
        "ftp://hook.example/x",
        "http://",
        "http:///x",
        "https://user:secret@hook.example/x",
        "https://user@hook.example/x",
        "http://[bad/x",
        "http://hook.example:99999/x",
        "http://hook.example:port/x",
        "http://hook.example/a b",
    ],
)
def test_a_webhook_needs_a_web_address(api: TestClient, address: str) -> None:
    ok(api, "POST", "/v1/sessions", {"session_id": "s1"})
    targets = {"reply_targets": [{"plugin": "http", "address": address}]}
    for path, body in (("reply-targets", targets), ("runs", {"content": "a", **targets})):
        answer = api.post(f"/v1/sessions/s1/{path}", json=body)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_reply_target")
        assert answer.json()["errors"][0]["pointer"] == "/reply_targets/0/address"
        assert "secret" not in answer.text


def test_a_parameter_that_is_there_twice_is_refused_unless_it_is_a_list(api: TestClient) -> None:
    assert api.get("/v1/runs?status=queued&status=running").status_code == 200
    for query in ("limit=1&limit=2", "session_id=a&session_id=a"):
        answer = api.get(f"/v1/runs?{query}")
        assert (answer.status_code, answer.json()["code"]) == (400, "repeated_parameter")
        assert answer.json()["errors"][0]["pointer"] == "/" + query.partition("=")[0]
