"""Playbooks and flows over HTTP."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api.conftest import ADMIN
from tests.api.live import Live
from tests.support.daemon import wait_for
from tests.support.playbook_factories import ENFORCED, manifest
from tests.support.skill_service_harness import skill_md

EVIDENCE = [{"kind": "manual", "id": "dry-run"}]


def publish(api: Any, **fields: Any) -> dict[str, Any]:
    made = api.post("/v1/playbooks", json={"manifest": manifest(**fields)})
    assert made.status_code == 201, made.text
    ref = {"version": "1", "digest": made.json()["selected_version"]["digest"]}
    body = {**ref, "evidence_refs": EVIDENCE}
    assert api.post("/v1/playbooks/release/publish", json=body).status_code == 200
    return {"playbook_id": "release", **ref}


def test_a_playbook_over_http(api: TestClient) -> None:
    body = {"manifest": manifest(tools=ENFORCED)}
    checked = api.post("/v1/playbooks/validate", json=body).json()
    assert (checked["valid"], checked["errors"], checked["warnings"]) == (True, [], [])
    assert api.get("/v1/playbooks").json()["items"] == []
    made = api.post("/v1/playbooks", json=body)
    assert (made.status_code, made.json()["selected_version"]["digest"]) == (201, checked["digest"])
    assert api.post("/v1/playbooks", json=body).status_code == 200
    shown = api.get("/v1/playbooks/release?version=1").json()
    assert shown["selected_version"]["manifest"]["tools"]["deny"] == ["shell"]
    assert shown["versions"][0]["status"] == "draft"
    edited = api.post("/v1/playbooks", json={"manifest": manifest(title="Other")})
    assert (edited.status_code, edited.json()["code"]) == (409, "playbook_version_exists")
    wrong = api.post("/v1/playbooks", json={"manifest": manifest(title="", objective="")})
    assert (wrong.status_code, wrong.json()["code"]) == (400, "manifest_invalid")
    assert [each["pointer"] for each in wrong.json()["errors"]] == [
        "/manifest/title",
        "/manifest/objective",
    ]
    bad = api.post("/v1/playbooks/validate", json={"manifest": {"title": 1}}).json()
    assert bad["valid"] is False
    assert "digest" not in bad


def test_a_required_scope_names_what_there_is(api: TestClient) -> None:
    scopes = {"required_credential_scope": {"route_allow": ["scriptd"], "route_deny": ["none"]}}
    body = {"manifest": manifest(scopes=scopes)}
    refused = api.post("/v1/playbooks", json=body)
    assert (refused.status_code, refused.json()["code"]) == (400, "manifest_invalid")
    [wrong] = refused.json()["errors"]
    where = "/manifest/scopes/required_credential_scope/route_allow"
    assert (wrong["pointer"], wrong["code"]) == (where, "unknown_name")
    assert "'scriptd'" in wrong["detail"]
    assert "scripted" in wrong["detail"]
    [told] = api.post("/v1/playbooks/validate", json=body).json()["errors"]
    assert told["pointer"] == where

    skills = {"required_capability_scope": {"skill_allow": ["spoons"]}}
    body = {"manifest": manifest(scopes=skills)}
    assert api.post("/v1/playbooks", json=body).status_code == 400
    content = {"content": skill_md("Spoons"), "slug": "spoons"}
    assert api.post("/v1/skills", json=content).status_code == 201
    assert api.post("/v1/playbooks", json=body).status_code == 201
    # What is stored may stay when the skill goes.
    assert api.delete("/v1/skills/spoons").status_code == 200
    assert api.post("/v1/playbooks", json=body).status_code == 200


def test_viewers_look_operators_start_and_admins_publish(guarded: TestClient) -> None:
    root = {"Authorization": f"Bearer {ADMIN}"}

    def person(role: str) -> dict[str, str]:
        body = {"user_id": role, "role": role}
        made = guarded.post("/v1/tokens", json=body, headers=root).json()
        return {"Authorization": f"Bearer {made['token']}"}

    viewer, operator = person("viewer"), person("operator")
    body = {"manifest": manifest()}
    assert guarded.post("/v1/playbooks", json=body, headers=viewer).status_code == 403
    made = guarded.post("/v1/playbooks", json=body, headers=operator).json()
    digest = made["selected_version"]["digest"]
    guarded.post("/v1/sessions", json={"session_id": "s1"}, headers=operator)
    start = {
        "playbook_ref": {"playbook_id": "release", "version": "1", "digest": digest},
        "session_id": "s1",
        "request": {"content": "go"},
    }
    assert guarded.post("/v1/flows", json=start, headers=viewer).status_code == 403
    assert guarded.post("/v1/flows", json=start).status_code == 401
    draft = guarded.post("/v1/flows", json=start, headers=operator)
    assert (draft.status_code, draft.json()["code"]) == (409, "playbook_not_startable")
    release = {"version": "1", "digest": digest, "evidence_refs": EVIDENCE}
    path = "/v1/playbooks/release/publish"
    assert guarded.post(path, json=release, headers=operator).status_code == 403
    assert guarded.post(path, json=release, headers=root).status_code == 200
    assert guarded.get("/v1/playbooks/release", headers=viewer).status_code == 200
    assert guarded.get("/v1/flows").status_code == 401


REFUSED = (
    ({"request": {"content": "go", "metadata": {"understudy_flow": {}}}}, 400, "metadata_reserved"),
    ({"request": {"content": "go", "metadata": "x"}}, 400, "metadata_not_an_object"),
    ({"request": {"content": ""}}, 400, "input_empty"),
    ({"session_id": "nowhere"}, 404, "session_not_found"),
    ({"evidence_refs": [{"kind": "run", "id": "x"}]}, 400, "evidence_not_attestable"),
    ({"evidence_refs": [{"kind": " ", "id": "x"}]}, 400, "evidence_blank"),
    ({"flow_id": "a/b"}, 400, "invalid_id"),
    (
        {"request": {"content": "go", "input_items": [{"type": "text", "text": "x"}]}},
        400,
        "input_mixed",
    ),
    ({"surprise": 1}, 400, "bad_request"),
)


@pytest.mark.parametrize(("more", "status", "code"), REFUSED)
def test_a_wrong_start_is_named(
    api: TestClient, more: dict[str, Any], status: int, code: str
) -> None:
    ref = publish(api)
    api.post("/v1/sessions", json={"session_id": "s1"})
    start = {"playbook_ref": ref, "session_id": "s1", "request": {"content": "go"}, **more}
    refused = api.post("/v1/flows", json=start)
    assert (refused.status_code, refused.json()["code"]) == (status, code), refused.text
    assert api.get("/v1/flows").json()["items"] == []


def test_a_flow_over_http(live: Live) -> None:
    ref = publish(live.client)
    live.session("s1")
    live.model.queue("shipped")
    start = {"playbook_ref": ref, "session_id": "s1", "request": {"content": "go"}}
    key = {"Idempotency-Key": "flow"}
    flow = live.ok("POST", "/v1/flows", start, headers=key)
    assert live.ok("POST", "/v1/flows", start, headers=key)["flow_id"] == flow["flow_id"]
    path = f"/v1/flows/{flow['flow_id']}"
    wait_for(lambda: live.ok("GET", path)["status"] == "failed", what="the end of the flow")
    done = live.ok("GET", path)
    assert done["run"]["status"] == "completed"
    assert done["run"]["input_metadata"]["understudy_flow"]["flow_id"] == flow["flow_id"]
    assert [(each["phase_id"], each["status"]) for each in done["phase_states"]] == [
        ("build", "satisfied"),
        ("review", "blocked"),
    ]
    assert done["phase_states"][1]["missing_evidence"] == [
        {"kind": "manual", "id": "review", "description": None}
    ]
    refs = {"evidence_refs": [{"kind": "manual", "id": "review", "description": "looked"}]}
    assert live.ok("POST", f"{path}/evidence", refs)["status"] == "succeeded"
    again = live.ok("POST", f"{path}/evidence", refs)
    assert [each["given_by"] for each in again["evidence_refs"]] == ["local"]
    assert live.ok("POST", f"{path}/cancel")["status"] == "succeeded"
    events = live.client.get(f"{path}/stream").text
    assert flow["run_id"] in events
    plain = live.ok(
        "POST",
        "/v1/sessions/s1/runs",
        {"content": "hi", "metadata": {"understudy_flow": 1, "a": 2}},
    )
    assert plain["input_metadata"] == {"a": 2}
    listed = live.ok("GET", "/v1/flows?playbook_id=release&status=succeeded")["items"]
    assert [each["flow_id"] for each in listed] == [flow["flow_id"]]
