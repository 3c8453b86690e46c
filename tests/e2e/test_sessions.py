"""Sessions over HTTP: reuse, personas, scopes, and what an idle session is."""

import pytest

from tests.e2e.conftest import DaemonWithModel
from tests.support.daemon import DaemonProcess, wait_for
from tests.support.skill_service_harness import skill_md

pytestmark = pytest.mark.e2e


def test_a_session_is_reused_unless_something_asked_for_differs(
    shared_live: DaemonWithModel,
) -> None:
    daemon = shared_live.daemon
    for persona in ("reuse-p1", "reuse-p2"):
        daemon.post("/v1/personas", {"persona_id": persona, "display_name": persona, "soul": "A"})
    created = daemon.post("/v1/sessions", {"session_id": "reuse", "persona_id": "reuse-p1"})
    again = daemon.request("POST", "/v1/sessions", json={"session_id": "reuse"})
    assert again.status_code == 201
    assert again.json()["agent_id"] == created["agent_id"]
    before = daemon.get("/v1/sessions/reuse")
    for change in ({"persona_id": "reuse-p2"}, {"capability_scope": {"skill_allow": ["x"]}}):
        answer = daemon.request("POST", "/v1/sessions", json={"session_id": "reuse", **change})
        assert answer.status_code == 409
        assert answer.headers["content-type"].startswith("application/problem+json")
    assert daemon.get("/v1/sessions/reuse") == before


@pytest.mark.parametrize("session_id", ["", ".", "..", "a/b", "a b", "x\u0000y", "n" * 500])
def test_a_bad_session_id_is_refused(shared_live: DaemonWithModel, session_id: str) -> None:
    answer = shared_live.daemon.request("POST", "/v1/sessions", json={"session_id": session_id})
    assert answer.status_code == 400
    problem = answer.json()
    assert {"type", "title", "status", "detail", "code"} <= set(problem)


def test_a_failed_create_leaves_nothing_behind(shared_live: DaemonWithModel) -> None:
    daemon = shared_live.daemon
    body = {"session_id": "never", "persona_id": "nobody"}
    assert daemon.request("POST", "/v1/sessions", json=body).status_code == 404
    assert daemon.request("GET", "/v1/sessions/never").status_code == 404


def test_a_session_keeps_the_persona_it_bound(live: DaemonWithModel) -> None:
    daemon, model = live.daemon, live.model
    daemon.post("/v1/personas", {"persona_id": "p", "display_name": "P", "soul": "SOUL-A"})
    daemon.post("/v1/sessions", {"session_id": "s1", "persona_id": "p"})
    updated = daemon.request("PUT", "/v1/personas/p", json={"soul": "SOUL-B"}).json()
    assert updated["version"] == 2
    assert daemon.request("PUT", "/v1/personas/p", json={"soul": "SOUL-B"}).json()["version"] == 2
    daemon.post("/v1/sessions", {"session_id": "s2", "persona_id": "p"})

    def check() -> None:
        assert daemon.get("/v1/sessions/s1")["persona"]["persona_version"] == 1
        daemon.run("s1", "who are you?")
        assert "SOUL-A" in model.requests[-1].system
        assert "SOUL-B" not in model.requests[-1].system
        daemon.run("s2", "who are you?")
        assert "SOUL-B" in model.requests[-1].system

    check()
    daemon.stop()
    daemon.start()
    check()
    assert daemon.request("DELETE", "/v1/personas/p").json() == {"deleted": True}
    daemon.run("s1", "and now?")
    assert "SOUL-A" in model.requests[-1].system


def test_topology_changes_need_an_idle_session(live: DaemonWithModel) -> None:
    daemon, model = live.daemon, live.model
    daemon.post("/v1/personas", {"persona_id": "p", "display_name": "P", "soul": "A"})
    daemon.post("/v1/sessions", {"session_id": "s1"})
    model.hold()
    first, second = daemon.submit("s1", "one"), daemon.submit("s1", "two")
    before = daemon.get("/v1/sessions/s1")
    changes = [
        ("POST", "persona", {"persona_id": "p"}),
        ("PUT", "capability-scope", {"capability_scope": {"skill_deny": ["a"]}}),
        ("PUT", "credential-scope", {"credential_scope": {"route_deny": ["a"]}}),
    ]
    for method, path, body in changes:
        answer = daemon.request(method, f"/v1/sessions/s1/{path}", json=body)
        assert answer.status_code == 409
        assert (answer.json()["domain"], answer.json()["code"]) == ("sessions", "session_not_idle")
    assert daemon.get("/v1/sessions/s1").get("persona") == before.get("persona")
    model.release()
    daemon.wait_for_run(first)
    daemon.wait_for_run(second)
    for method, path, body in changes:
        answer = daemon.request(method, f"/v1/sessions/s1/{path}", json=body)
        assert answer.status_code == 200, answer.text


def put_skills(daemon: DaemonProcess, *slugs: str) -> None:
    for slug in slugs:
        daemon.post("/v1/skills", {"content": skill_md(f"Skill {slug}"), "slug": slug})


def test_the_effective_scope_is_what_persona_and_session_share(
    shared_live: DaemonWithModel,
) -> None:
    daemon = shared_live.daemon
    put_skills(daemon, "alpha", "beta", "gamma")
    scope = {"skill_allow": ["alpha", "beta"], "skill_deny": ["x"]}
    persona = {"persona_id": "scoped", "display_name": "S", "capability_scope": scope}
    daemon.post("/v1/personas", persona)
    own = {"skill_allow": ["beta", "gamma"], "skill_deny": ["y"]}
    session = daemon.post(
        "/v1/sessions",
        {"session_id": "scoped", "persona_id": "scoped", "capability_scope": own},
    )
    effective = session["effective_capability_scope"]
    assert effective["skill_allow"] == ["beta"]
    assert effective["skill_deny"] == ["x", "y"]


def test_scopes_with_nothing_in_common_permit_nothing(shared_live: DaemonWithModel) -> None:
    daemon = shared_live.daemon
    put_skills(daemon, "delta", "epsilon")
    scope = {"skill_allow": ["delta"]}
    daemon.post(
        "/v1/personas", {"persona_id": "alone", "display_name": "A", "capability_scope": scope}
    )
    session = daemon.post(
        "/v1/sessions",
        {
            "session_id": "alone",
            "persona_id": "alone",
            "capability_scope": {"skill_allow": ["epsilon"]},
        },
    )
    assert session["effective_capability_scope"] == {"skill_allow": [], "skill_deny": ["*"]}


def test_an_ended_session_takes_no_more_runs(shared_live: DaemonWithModel) -> None:
    daemon = shared_live.daemon
    daemon.post("/v1/sessions", {"session_id": "over"})
    daemon.post("/v1/sessions/over/end", {"reason": "done"})
    answer = daemon.request("POST", "/v1/sessions/over/runs", json={"content": "hello?"})
    assert (answer.status_code, answer.json()["code"]) == (409, "session_ended")


def test_reply_targets_are_those_of_the_moment_of_submission(live: DaemonWithModel) -> None:
    daemon, model = live.daemon, live.model
    daemon.post("/v1/sessions", {"session_id": "s1"})

    def set_target(address: str) -> None:
        body = {"reply_targets": [{"plugin": "local", "address": address}]}
        daemon.request("PUT", "/v1/sessions/s1/reply-targets", json=body).raise_for_status()

    set_target("t1")
    model.hold()
    first = daemon.submit("s1", "one")
    set_target("t2")
    second = daemon.submit("s1", "two")
    model.release()
    wait_for(lambda: daemon.wait_for_run(second))
    targets = [daemon.get(f"/v1/runs/{run}")["deliveries"] for run in (first, second)]
    assert [[target["address"] for target in each] for each in targets] == [["t1"], ["t2"]]
