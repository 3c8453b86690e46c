"""Rules, checks and a session's tools over HTTP."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api.conftest import ADMIN
from tests.api.test_resources import ok, refused
from understudy.daemon.wiring import Daemon
from understudy.permissions.decide import GUARDED

GIT = {"tool": "write_file", "arguments": {"path": "docs/*"}, "decision": "allow"}
DENY = {"tool": "write_*", "decision": "deny", "reason": "read only"}
ASK = {"tool": "read_file", "decision": "ask"}
SESSION = "/v1/sessions/s1/permissions"


@pytest.fixture
def session(api: TestClient) -> str:
    ok(api, "POST", "/v1/sessions", {"session_id": "s1"})
    return "s1"


def check(api: TestClient, tool: str, /, **body: Any) -> Any:
    return ok(api, "POST", "/v1/tools/check", {"tool": tool, **body})


def test_the_rules_of_the_daemon_are_replaced_as_a_revision(api: TestClient) -> None:
    assert ok(api, "GET", "/v1/permissions") == {"rules": [], "revision": 1, "updated_at_ms": 0}

    put = ok(api, "PUT", "/v1/permissions", {"rules": [GIT, DENY], "expected_revision": 1})

    assert (put["rules"], put["revision"]) == ([GIT, DENY], 2)
    assert ok(api, "GET", "/v1/permissions") == put
    stale = {"rules": [], "expected_revision": 1}
    assert refused(api, "PUT", "/v1/permissions", stale) == (
        409,
        "runtime/runtime_revision_conflict",
    )
    assert ok(api, "GET", "/v1/runtime")["setting"] == "permissions"


def test_a_session_has_rules_of_its_own(api: TestClient, session: str) -> None:
    assert ok(api, "GET", SESSION) == {"session_id": "s1", "rules": [], "inherited": []}

    put = ok(api, "PUT", SESSION, {"rules": [ASK]})

    assert put == ok(api, "GET", SESSION) == ok(api, "POST", SESSION, {"rules": [ASK]})
    assert put["rules"] == [ASK]
    assert ok(api, "DELETE", SESSION)["rules"] == []


def test_a_sidechain_keeps_what_it_inherited_and_only_narrows(
    api: TestClient, session: str
) -> None:
    ok(api, "PUT", SESSION, {"rules": [DENY, GIT]})
    ok(api, "POST", "/v1/sessions", {"session_id": "child", "parent_session_id": "s1"})
    path = "/v1/sessions/child/permissions"

    assert ok(api, "GET", path) == {"session_id": "child", "rules": [], "inherited": [DENY, GIT]}
    widening = {"rules": [{"tool": "*", "decision": "allow"}]}
    assert refused(api, "PUT", path, widening) == (403, "permissions/sidechain_only_narrows")
    assert ok(api, "PUT", path, {"rules": [GIT, ASK]})["rules"] == [ASK]
    assert ok(api, "DELETE", path)["inherited"] == [DENY, GIT]


@pytest.mark.parametrize(
    ("rules", "pointer"),
    [
        ([{"tool": "", "decision": "ask"}], "/rules/0/tool"),
        ([{"tool": "x", "decision": "perhaps"}], "/rules/0/decision"),
        ([{"tool": "x"}], "/rules/0/decision"),
        ([{"tool": 1, "decision": "ask"}], "/rules/0/tool"),
        ([{"tool": "x", "decision": "ask", "more": 1}], "/rules/0/more"),
        ([ASK, {**ASK, "arguments": {"a": 1}}], "/rules/1/arguments/a"),
        ([{**ASK, "arguments": {"a": "x" * 501}}], "/rules/0/arguments/a"),
        ([{**ASK, "arguments": {"a..b": "x"}}], "/rules/0/arguments/a..b"),
        ([ASK] * 201, "/rules"),
        ({}, "/rules"),
        (None, "/rules"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/permissions", SESSION])
def test_wrong_rules_are_refused_with_the_place(
    api: TestClient, session: str, path: str, rules: object, pointer: str
) -> None:
    answer = api.put(path, json={"rules": rules})

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert ok(api, "GET", path)["rules"] == []


def test_wrong_rules_of_an_agent_are_refused_with_the_place(api: TestClient) -> None:
    body = {"agent_id": "scout", "agent_type": "open", "permissions": {"rules": [{"tool": "x"}]}}
    answer = api.post("/v1/agents", json=body)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "/permissions/rules/0/decision"
    wrong: list[dict] = [{"allow": []}, {"rules": [{**ASK, "tool": "x" * 300}]}]
    for permissions in wrong:
        answer = api.put("/v1/agents/default", json={"permissions": permissions})
        assert answer.status_code == 400
        assert answer.json()["code"] == "invalid_rule"
    put = ok(api, "PUT", "/v1/agents/default", {"permissions": {"rules": [ASK]}})
    assert put["permissions"] == {"rules": [ASK]}


def test_a_check_explains_the_decision(api: TestClient, session: str) -> None:
    ok(api, "PUT", "/v1/permissions", {"rules": [DENY]})
    ok(api, "PUT", "/v1/agents/default", {"permissions": {"rules": [ASK]}})
    ok(api, "PUT", SESSION, {"rules": [GIT]})
    call = {"path": "docs/a.md", "content": "x"}

    denied = check(api, "write_file", arguments=call, session_id="s1")

    assert (denied["decision"], denied["level"], denied["rule"]) == ("deny", "daemon", DENY)
    assert denied["reason"] == "rule 1 of the daemon (deny write_*): read only"
    assert [(line["level"], line["matched"]) for line in denied["trace"]] == [
        ("daemon", True),
        ("agent", False),
        ("session", True),
    ]
    assert denied["trace"][1] == {
        "level": "agent",
        "index": 0,
        "rule": ASK,
        "matched": False,
        "why": "another tool",
    }
    ok(api, "PUT", "/v1/permissions", {"rules": []})
    assert check(api, "write_file", arguments=call, session_id="s1")["rule"] == GIT
    elsewhere = check(api, "write_file", arguments={**call, "path": "a"}, session_id="s1")
    assert (elsewhere["decision"], elsewhere["level"], elsewhere["rule"]) == ("allow", "tool", None)
    assert check(api, "read_file")["decision"] == "ask"


def test_a_check_names_the_session_above_that_decides(api: TestClient, session: str) -> None:
    free = {"permissions": {"rules": [{"tool": "read_file", "decision": "allow"}]}}
    ok(api, "POST", "/v1/agents", {"agent_id": "free", "agent_type": "open", **free})
    ask = {"tool": "read_*", "decision": "ask"}
    ok(api, "PUT", SESSION, {"rules": [ask]})
    child = {"session_id": "child", "parent_session_id": "s1", "agent_id": "free"}
    ok(api, "POST", "/v1/sessions", child)

    asked = check(api, "read_file", arguments={"path": "a"}, session_id="child")

    assert (asked["decision"], asked["level"], asked["above"]) == ("ask", "session", "s1")
    owners = [(line["level"], line.get("owner")) for line in asked["trace"]]
    assert owners == [("agent", None), ("session", None), ("session", "s1")]
    assert "above" not in check(api, "read_file", session_id="s1")
    listed = ok(api, "GET", "/v1/sessions/child/tools?limit=200")["items"]
    assert [tool["decision"] for tool in listed if tool["name"] == "read_file"] == ["ask"]


def test_a_check_tells_of_what_is_switched_off_or_missing(api: TestClient, session: str) -> None:
    ok(api, "PUT", "/v1/tools/read_file", {"enabled": False})

    off = check(api, "read_file", session_id="s1")

    assert (off["decision"], off["level"], off["trace"]) == ("deny", "daemon", [])
    assert "switched off" in off["reason"]
    for body, problem in (
        ({"tool": "nothing"}, "tools/tool_not_found"),
        ({"tool": "read_file", "session_id": "nobody"}, "sessions/session_not_found"),
        ({"tool": "read_file", "agent_id": "nobody"}, "agents/agent_not_found"),
    ):
        assert refused(api, "POST", "/v1/tools/check", body) == (404, problem)
    wrong: tuple[dict, ...] = (
        {},
        {"tool": 1},
        {"tool": "read_file", "arguments": []},
        {"tool": "x", "y": 1},
    )
    for each in wrong:
        assert api.post("/v1/tools/check", json=each).status_code == 400


def test_a_session_lists_its_tools_with_what_gates_them(api: TestClient, session: str) -> None:
    ok(api, "PUT", SESSION, {"rules": [GIT, ASK]})

    listed = ok(api, "GET", "/v1/sessions/s1/tools?limit=200")
    tools = {tool["name"]: tool for tool in listed["items"]}

    assert set(tools) == {tool["name"] for tool in ok(api, "GET", "/v1/tools?limit=200")["items"]}
    read = tools["read_file"]
    assert (read["decision"], read["level"], read["depends_on_arguments"]) == (
        "ask",
        "session",
        False,
    )
    assert read["reason"] == "rule 2 of the session (ask read_file)"
    assert tools["write_file"]["depends_on_arguments"] is True
    assert tools["write_file"]["enabled"] is True
    assert refused(api, "GET", "/v1/sessions/nobody/tools") == (404, "sessions/session_not_found")
    page = ok(api, "GET", "/v1/sessions/s1/tools?limit=1")
    assert len(page["items"]) == 1
    assert page["next_cursor"]


def test_who_may_look_and_who_may_change(guarded: TestClient) -> None:
    tokens = {"admin": ADMIN}
    for role in ("viewer", "operator"):
        body = {"user_id": role, "role": role}
        answer = guarded.post("/v1/tokens", json=body, headers=bearer(ADMIN))
        tokens[role] = answer.json()["token"]
    guarded.post("/v1/sessions", json={"session_id": "s1"}, headers=bearer(ADMIN))

    def status(role: str, method: str, path: str, body: object = None) -> int:
        return guarded.request(method, path, json=body, headers=bearer(tokens[role])).status_code

    assert status("viewer", "POST", "/v1/tools/check", {"tool": "read_file"}) == 200
    assert status("viewer", "GET", "/v1/sessions/s1/tools") == 200
    assert status("viewer", "GET", "/v1/permissions") == 200
    assert status("viewer", "GET", SESSION) == 200
    assert status("viewer", "PUT", SESSION, {"rules": []}) == 403
    assert status("viewer", "DELETE", SESSION) == 403
    assert status("operator", "PUT", SESSION, {"rules": [ASK]}) == 200
    assert status("operator", "DELETE", SESSION) == 200
    assert status("operator", "PUT", "/v1/permissions", {"rules": []}) == 403
    assert status("admin", "PUT", "/v1/permissions", {"rules": [ASK]}) == 200
    entries = guarded.get("/v1/audit", headers=bearer(ADMIN)).json()["items"]
    said = [(entry["action"], entry["outcome"]) for entry in entries]
    assert ("sessions.set_permissions", "refused") in said
    assert ("runtime.change", "done") in said


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_stored_rules_that_cannot_be_read_are_no_fault_of_ours(
    api: TestClient, daemon: Daemon, session: str
) -> None:
    with daemon.resources.database.begin() as connection:
        connection.exec_driver_sql("UPDATE sessions SET permissions = '{\"rules\": 3}'")

    assert refused(api, "GET", SESSION) == (503, "storage/record_damaged")
    denied = check(api, "read_file", session_id="s1")
    assert (denied["decision"], denied["level"]) == ("deny", "session")
    assert ok(api, "PUT", SESSION, {"rules": []})["rules"] == []


@pytest.mark.parametrize("tool", GUARDED)
def test_what_is_guarded_are_arguments_that_the_tool_has(daemon: Daemon, tool: str) -> None:
    taken = daemon.services.tools.get(tool).parameters.model_fields

    assert set(GUARDED[tool]) <= set(taken)
