"""Sessions, personas, projects, agents, runtime, tools and the audit over HTTP."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.support.skill_service_harness import skill_md

LISTS = (
    "/v1/sessions",
    "/v1/runs",
    "/v1/personas",
    "/v1/projects",
    "/v1/agents",
    "/v1/agents/default/files",
    "/v1/assets",
    "/v1/routes",
    "/v1/tools",
    "/v1/tokens",
    "/v1/audit",
    "/v1/runtime/revisions",
    "/v1/learning-candidates",
    "/v1/learnings",
    "/v1/learning-skills",
    "/v1/runtime/learning-policy/revisions",
    "/v1/skills",
    "/v1/skills/trash",
    "/v1/agents/default/skills",
)


def ok(api: TestClient, method: str, path: str, body: object = None) -> Any:
    answer = api.request(method, path, json=body)
    assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
    return answer.json()


def refused(api: TestClient, method: str, path: str, body: object = None) -> tuple[int, str]:
    answer = api.request(method, path, json=body)
    return answer.status_code, f"{answer.json()['domain']}/{answer.json()['code']}"


@pytest.mark.parametrize("path", LISTS)
def test_every_list_has_the_same_shape(api: TestClient, path: str) -> None:
    body = ok(api, "GET", path)
    assert set(body) == {"items", "next_cursor"}


def test_a_session_shows_only_what_it_has(api: TestClient) -> None:
    view = ok(api, "POST", "/v1/sessions", {"session_id": "s1"})
    assert set(view) == {
        "session_id",
        "agent_id",
        "snapshot",
        "created_at_ms",
        "updated_at_ms",
        "version",
        "outputs",
        "actions",
    }
    assert view["snapshot"] == {"status": "active", "journal_length": 1, "queued_runs": 0}
    assert (view["agent_id"], view["outputs"]) == ("default", [])


def test_a_session_shows_the_persona_snapshot_that_it_carries(api: TestClient) -> None:
    ok(api, "POST", "/v1/personas", {"persona_id": "p1", "soul": "be brief"})
    for session, persona in (("with", {"persona_id": "p1"}), ("without", {})):
        ok(api, "POST", "/v1/sessions", {"session_id": session, **persona})

    assert ok(api, "GET", "/v1/sessions/with/persona")["persona"]["soul"] == "be brief"
    assert ok(api, "GET", "/v1/sessions/without/persona") == {"session_id": "without"}


def test_the_journal_is_narrowed_by_kind(api: TestClient) -> None:
    ok(api, "POST", "/v1/sessions", {"session_id": "s1"})

    def kinds(query: str) -> list[str]:
        found = ok(api, "GET", f"/v1/sessions/s1/events?{query}")["items"]
        return [event["kind"] for event in found]

    assert kinds("kind=session&kind=run") == ["session"]
    assert kinds("kind=run") == []


def test_runs_are_counted_by_status(api: TestClient) -> None:
    counts = ok(api, "GET", "/v1/runs/counts")

    assert counts["total"] == 0
    assert counts["statuses"]["waiting_for_approval"] == 0


def test_a_session_is_reused_unless_something_differs(api: TestClient) -> None:
    for persona in ("p1", "p2"):
        ok(api, "POST", "/v1/personas", {"persona_id": persona})
    first = ok(api, "POST", "/v1/sessions", {"session_id": "s1", "persona_id": "p1"})
    assert api.post("/v1/sessions", json={"session_id": "s1"}).status_code == 201
    for other in ({"persona_id": "p2"}, {"capability_scope": {"skill_allow": ["a"]}}):
        status, _ = refused(api, "POST", "/v1/sessions", {"session_id": "s1", **other})
        assert status == 409
    assert ok(api, "GET", "/v1/sessions/s1") == first


@pytest.mark.parametrize("session_id", ["", ".", "..", "a/b", "a b", "x" * 201, "a\x01"])
def test_an_odd_session_id_is_refused(api: TestClient, session_id: str) -> None:
    status, code = refused(api, "POST", "/v1/sessions", {"session_id": session_id})
    assert (status, code) == (400, "sessions/invalid_id")


def test_a_session_keeps_the_persona_it_bound(api: TestClient) -> None:
    ok(api, "POST", "/v1/personas", {"persona_id": "p", "soul": "A", "display_name": "P"})
    ok(api, "POST", "/v1/sessions", {"session_id": "s1"})
    bound = ok(api, "POST", "/v1/sessions/s1/persona", {"persona_id": "p"})
    assert set(bound["persona"]) == {"persona_id", "persona_version", "display_name", "bound_at_ms"}
    changed = ok(api, "PUT", "/v1/personas/p", {"soul": "B"})
    assert (changed["version"], changed["display_name"]) == (2, "P")
    assert ok(api, "PUT", "/v1/personas/p", {"soul": "B"})["version"] == 2
    assert ok(api, "DELETE", "/v1/personas/p") == {"deleted": True}
    assert ok(api, "GET", "/v1/sessions/s1")["persona"]["persona_version"] == 1
    assert ok(api, "GET", "/v1/sessions?persona_id=p")["items"][0]["session_id"] == "s1"
    assert "persona" not in ok(api, "DELETE", "/v1/sessions/s1/persona")


def put_skills(api: TestClient, *slugs: str) -> None:
    """Create skills for scopes and personas to name."""
    for slug in slugs:
        ok(api, "POST", "/v1/skills", {"content": skill_md(f"Skill {slug}"), "slug": slug})


def test_scopes_narrow_each_other(api: TestClient) -> None:
    put_skills(api, "alpha", "beta", "gamma")
    scope = {"skill_allow": ["alpha", "beta"], "skill_deny": ["x"]}
    ok(api, "POST", "/v1/personas", {"persona_id": "p", "capability_scope": scope})
    ok(api, "POST", "/v1/sessions", {"session_id": "s1", "persona_id": "p"})
    path = "/v1/sessions/s1/capability-scope"
    own = {"skill_allow": ["beta", "gamma"], "skill_deny": ["y"]}
    view = ok(api, "PUT", path, {"capability_scope": own})
    assert view["capability_scope"] == own
    effective = view["effective_capability_scope"]
    assert effective == {"skill_allow": ["beta"], "skill_deny": ["x", "y"]}
    apart = ok(api, "PUT", path, {"capability_scope": {"skill_allow": ["gamma"]}})
    assert apart["effective_capability_scope"]["skill_deny"] == ["*"]
    assert ok(api, "DELETE", path)["effective_capability_scope"] == scope
    wrong = {"capability_scope": {"skill_alow": ["a"]}}
    assert refused(api, "PUT", path, wrong) == (400, "sessions/invalid_scope")


def test_reply_targets_are_set_shown_and_cleared(api: TestClient) -> None:
    ok(api, "POST", "/v1/sessions", {"session_id": "s1"})
    path = "/v1/sessions/s1/reply-targets"
    assert ok(api, "GET", path) == {"session_id": "s1", "reply_targets": []}
    targets = [{"plugin": "http", "address": "https://hook.example/x"}]
    assert ok(api, "PUT", path, {"reply_targets": targets})["reply_targets"] == targets
    assert ok(api, "GET", path)["reply_targets"] == targets
    odd = {"reply_targets": [{"plugin": "pigeon", "address": "roof"}]}
    assert refused(api, "PUT", path, odd)[0] == 400
    assert "reply_targets" not in ok(api, "DELETE", path)


def test_a_sidechain_names_its_parent(api: TestClient) -> None:
    ok(api, "POST", "/v1/sessions", {"session_id": "s1"})
    child = ok(api, "POST", "/v1/sessions", {"session_id": "c1", "parent_session_id": "s1"})
    assert child["parent_session_id"] == "s1"


def test_a_taken_persona_id_is_a_conflict(api: TestClient) -> None:
    put_skills(api, "alpha")
    ok(api, "POST", "/v1/personas", {"persona_id": "p", "default_skills": [{"name": "alpha"}]})
    taken = refused(api, "POST", "/v1/personas", {"persona_id": "p"})
    assert taken == (409, "personas/persona_already_exists")
    assert ok(api, "GET", "/v1/personas/p")["default_skills"] == [{"name": "alpha"}]
    assert ok(api, "GET", "/v1/personas?query=zzz")["items"] == []


def test_a_project_has_members(api: TestClient) -> None:
    ok(api, "POST", "/v1/sessions", {"session_id": "s1"})
    body = {"project_id": "x", "display_name": "X", "members": [{"member_id": "s1"}]}
    project = ok(api, "POST", "/v1/projects", body)
    assert project["members"][0]["session_id"] == "s1"
    again = refused(api, "POST", "/v1/projects/x/members", {"member_id": "s1"})
    assert again == (409, "projects/project_member_exists")
    person = {"member_id": "ann", "member_kind": "human_actor", "expertise_tags": ["sql"]}
    ok(api, "POST", "/v1/projects/x/members", person)
    assert [m["member_id"] for m in ok(api, "GET", "/v1/projects/x/members")["items"]] == [
        "s1",
        "ann",
    ]
    assert refused(api, "POST", "/v1/sessions/s1/end") == (409, "sessions/session_in_project")
    paused = ok(api, "PUT", "/v1/projects/x", {"status": "paused"})
    assert (paused["status"], paused["display_name"]) == ("paused", "X")
    assert len(ok(api, "DELETE", "/v1/projects/x/members/s1")["members"]) == 1
    assert refused(api, "DELETE", "/v1/projects/x/members/s1")[0] == 404
    assert ok(api, "DELETE", "/v1/projects/x") == {"deleted": True}
    assert refused(api, "POST", "/v1/projects", {})[0] == 400


def test_an_agent_is_merged_and_deleted(api: TestClient) -> None:
    assert ok(api, "GET", "/v1/agents/default")["agent_type"] == "predefined"
    body = {"agent_id": "a1", "agent_type": "predefined", "other_config": {"self_evolve": True}}
    ok(api, "POST", "/v1/agents", body)
    assert refused(api, "POST", "/v1/agents", body) == (409, "agents/agent_already_exists")
    merged = ok(api, "PUT", "/v1/agents/a1", {"other_config": {"skill_evolve": True}})
    assert merged["other_config"] == {"self_evolve": True, "skill_evolve": True}
    wrong = {"other_config": {"self_evolve": "yes"}}
    assert refused(api, "PUT", "/v1/agents/a1", wrong) == (400, "agents/invalid_other_config")
    assert refused(api, "POST", "/v1/agents", {"agent_id": "a2"})[0] == 400
    assert ok(api, "DELETE", "/v1/agents/a1") == {"deleted": True}
    assert refused(api, "DELETE", "/v1/agents/default") == (409, "agents/agent_in_use")


def test_a_context_file_has_versions(api: TestClient) -> None:
    path = "/v1/agents/default/files/SOUL.md"
    assert refused(api, "GET", path) == (404, "agents/agent_file_not_found")
    for content in ("one", "two"):
        ok(api, "PUT", path, {"content": content})
    assert ok(api, "GET", path)["content"] == "two"
    versions = ok(api, "GET", path + "/versions")["items"]
    assert [version["version"] for version in versions] == [2, 1]
    taint = {"derived_from_untrusted": False, "untrusted_sources": []}
    known = {"version", "actor", "run_id", "created_at_ms", "size", "deleted", *taint}
    assert set(versions[0]) == known
    assert {name: versions[0][name] for name in taint} == taint
    restored = ok(api, "POST", path + "/restore", {"version": 1})
    assert (restored["content"], restored["version"]) == ("one", 3)
    assert refused(api, "POST", path + "/restore", {"version": 9})[0] == 404
    assert refused(api, "PUT", "/v1/agents/default/files/EVIL.md", {"content": "x"})[0] == 400
    assert refused(api, "PUT", path, {"content": "x" * 70_000})[0] == 413
    assert ok(api, "GET", "/v1/agents/default/files")["items"][0]["name"] == "SOUL.md"
    assert ok(api, "DELETE", path) == {"deleted": True}
    assert refused(api, "GET", path)[0] == refused(api, "DELETE", path)[0] == 404


def test_runtime_settings_change_in_revisions(api: TestClient) -> None:
    before = ok(api, "GET", "/v1/runtime")
    assert (before["revision"], before["debug_level"]) == (1, "off")
    assert before["default_route"] == "scripted"
    changed = ok(api, "POST", "/v1/runtime", {"debug_level": "full", "expected_revision": 1})
    assert (changed["revision"], changed["debug_level"]) == (2, "full")
    stale = refused(api, "POST", "/v1/runtime", {"debug_level": "off", "expected_revision": 1})
    assert stale == (409, "runtime/runtime_revision_conflict")
    unknown = refused(api, "POST", "/v1/runtime", {"default_route": "none"})
    assert unknown == (400, "routes/route_not_found")
    assert refused(api, "POST", "/v1/runtime", {})[0] == 400
    back = ok(api, "POST", "/v1/runtime/rollback")
    assert (back["revision"], back["debug_level"], back["rollback_of_revision"]) == (3, "off", 1)
    missing = refused(api, "POST", "/v1/runtime/rollback", {"target_revision": 99})
    assert missing == (404, "runtime/runtime_revision_not_found")
    revisions = ok(api, "GET", "/v1/runtime/revisions")["items"]
    assert [revision["revision"] for revision in revisions][:2] == [3, 2]


def test_routes_are_shown_without_keys(api: TestClient) -> None:
    (route,) = ok(api, "GET", "/v1/routes")["items"]
    assert (route["route_id"], route["default"], route["ready"]) == ("scripted", True, True)
    assert (route["context_window"], route["context_window_source"]) == (1_000_000, "known")
    assert not [name for name in route if "key" in name]
    assert ok(api, "GET", "/v1/routes/scripted") == route
    assert refused(api, "GET", "/v1/routes/none") == (404, "routes/route_not_found")


def test_a_tool_is_switched_off_and_on(api: TestClient) -> None:
    tools = {tool["name"]: tool for tool in ok(api, "GET", "/v1/tools")["items"]}
    assert tools["read_file"]["enabled"] is True
    assert tools["read_file"]["effect"] == "read"
    assert tools["read_file"]["approval"] == "never"
    assert ok(api, "PUT", "/v1/tools/read_file", {"enabled": False})["enabled"] is False
    off = [t["name"] for t in ok(api, "GET", "/v1/tools")["items"] if not t["enabled"]]
    assert off == ["read_file"]
    assert ok(api, "PUT", "/v1/tools/read_file", {"enabled": True})["enabled"] is True
    assert refused(api, "PUT", "/v1/tools/none", {"enabled": True}) == (404, "tools/tool_not_found")


def test_the_status_says_that_the_daemon_is_ready(api: TestClient) -> None:
    status = ok(api, "GET", "/v1/status")
    assert (status["status"], status["ready"]) == ("ready", True)
    assert status["sessions"] == {"total": 0}


def test_the_audit_tells_what_was_done_and_what_was_refused(api: TestClient) -> None:
    ok(api, "POST", "/v1/sessions", {"session_id": "s1", "persona_id": None})
    ok(api, "POST", "/v1/personas", {"persona_id": "p"})
    api.post("/v1/personas", json={"persona_id": "p"}, headers={"X-Request-Id": "my-request"})
    newest, before, *_ = ok(api, "GET", "/v1/audit")["items"]
    assert newest == {
        "at_ms": newest["at_ms"],
        "actor": "local",
        "action": "personas.create",
        "resource": "personas",
        "resource_id": "p",
        "outcome": "refused",
        "reason": "personas/persona_already_exists",
        "request_id": "my-request",
    }
    assert (before["action"], before["outcome"]) == ("personas.create", "done")
    assert "reason" not in before
    sessions = ok(api, "GET", "/v1/audit?resource=sessions")["items"]
    assert {entry["resource"] for entry in sessions} == {"sessions"}
    assert ok(api, "GET", "/v1/audit?actor=nobody")["items"] == []


def test_refused_callers_are_in_the_audit(guarded: TestClient) -> None:
    admin = {"Authorization": "Bearer admin-secret"}
    body = {"user_id": "eve", "role": "viewer"}
    made = guarded.post("/v1/tokens", json=body, headers=admin).json()
    eve = {"Authorization": f"Bearer {made['token']}"}
    guarded.post("/v1/sessions", json={"session_id": "s1"})
    guarded.put("/v1/agents/default/files/SOUL.md", json={"content": "x"}, headers=eve)
    entries = guarded.get("/v1/audit", headers=admin).json()["items"]
    shown = [(e["actor"], e["action"], e["resource_id"], e.get("reason")) for e in entries]
    assert ("anonymous", "sessions.create", "", "auth/unauthorized from testclient") in shown
    assert ("eve", "agents.write_file", "default/SOUL.md", "auth/forbidden") in shown


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/v1/sessions", {}, 401),
        ("/v1/sessions", {"Host": "evil.example"}, 403),
        ("/v1/bridges/no-such-bridge/messages", {}, 403),
    ],
    ids=["no token", "another host", "no signature"],
)
def test_refusals_of_strangers_are_counted_at_every_door(
    guarded: TestClient, path: str, headers: dict[str, str], status: int
) -> None:
    answers = {guarded.post(path, json={}, headers=headers).status_code for _ in range(30)}
    entries = guarded.get("/v1/audit", headers={"Authorization": "Bearer admin-secret"}).json()

    assert answers == {status}
    refused = [each for each in entries["items"] if each["actor"] == "anonymous"]
    # One for each minute, of which two may have been under way.
    assert 1 <= len(refused) <= 2
    assert "from testclient" in refused[-1]["reason"]


def test_reads_and_typing_mistakes_leave_no_trace_in_the_audit(api: TestClient) -> None:
    before = ok(api, "GET", "/v1/audit")["items"]
    api.get("/v1/sessions/none")
    api.post("/v1/sessions", json={"session_id": 5})
    api.post("/v1/sessions/none/end")
    assert ok(api, "GET", "/v1/audit")["items"] == before


def test_operations_are_named_as_the_services_name_them(api: TestClient) -> None:
    ok(api, "POST", "/v1/sessions", {"session_id": "s1"})
    ok(api, "POST", "/v1/sessions/s1/capability-scope", {"capability_scope": {}})
    ok(api, "DELETE", "/v1/sessions/s1/capability-scope")
    ok(api, "PUT", "/v1/agents/default/files/SOUL.md", {"content": "x"})
    ok(api, "DELETE", "/v1/agents/default/files/SOUL.md")
    ok(api, "POST", "/v1/runtime", {"debug_level": "full"})
    ok(api, "POST", "/v1/runtime/rollback")
    ok(api, "PUT", "/v1/tools/read_file", {"enabled": False})
    actions = [entry["action"] for entry in ok(api, "GET", "/v1/audit?actor=local")["items"]]
    assert actions[::-1] == [
        "sessions.create",
        *["sessions.set_capability_scope"] * 2,
        *["agents.write_file"] * 2,
        "runtime.change",
        "runtime.rollback",
        "tools.set",
    ]


def test_the_audit_is_verified_by_admins(api: TestClient) -> None:
    api.post("/v1/projects", json={"project_id": "launch", "name": "Launch"})

    found = api.get("/v1/audit/verify")

    assert found.status_code == 200, found.json()
    assert found.json()["ok"] is True
    assert "first_bad" not in found.json()
    assert found.json()["audit"]["checked"] >= 1
    noted = found.json()["audit"]["head"]
    assert api.get("/v1/audit/verify", params={"head": noted}).json()["ok"] is True
    wrong = api.get("/v1/audit/verify", params={"head": "f" * 64}).json()
    assert (wrong["ok"], wrong["first_bad"]["problem"]) == (False, "head_unknown")
