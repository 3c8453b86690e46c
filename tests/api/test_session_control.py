"""What callers send beside a text: keys, files as objects, and what is not checked for a run."""

import base64
from typing import Any

import pytest

from tests.api.commands import answer, invoke
from tests.api.live import Live

NOTE = {"file_name": "../notes/a.txt", "content_base64": base64.b64encode(b"buy milk").decode()}


def refused(live: Live, path: str, body: object) -> tuple[int, dict[str, Any]]:
    answered = live.client.post(path, json=body)
    return answered.status_code, answered.json()


@pytest.fixture
def session(live: Live) -> str:
    return str(live.ok("POST", "/v1/sessions", {})["session_id"])


def test_an_attachment_is_an_id_an_object_or_a_file(live: Live, session: str) -> None:
    asset_id = live.ok("POST", "/v1/assets", {**NOTE, "file_name": "b.txt"})["asset_id"]
    other = base64.b64encode(b"and bread").decode()
    files = [asset_id, {"asset_id": asset_id}, {**NOTE, "content_base64": other}]

    run = live.ok("POST", f"/v1/sessions/{session}/runs", {"content": "read", "attachments": files})

    first, again, fresh = run["input_attachments"]
    assert first == again == asset_id != fresh
    stored = live.ok("GET", f"/v1/assets/{fresh}")
    assert (stored["file_name"], stored["size"]) == ("a.txt", 9)


@pytest.mark.parametrize(
    ("given", "pointer"),
    [
        ({"asset_id": 5}, "/attachments/0/asset_id"),
        ({"asset_id": "x", "file_name": "a"}, "/attachments/0/file_name"),
        ({"file_name": "a.txt"}, "/attachments/0/content_base64"),
        ({**NOTE, "content_base64": "%%"}, "/attachments/0/content_base64"),
        ({**NOTE, "file_name": ".."}, "/attachments/0/file_name"),
        (5, "/attachments/0"),
        ({"asset_id": "ast_none"}, "/attachments/0"),
    ],
)
def test_an_attachment_that_is_none_is_pointed_at(
    live: Live, session: str, given: Any, pointer: str
) -> None:
    body = {"content": "read", "attachments": [given]}
    answered = live.client.post(f"/v1/sessions/{session}/runs", json=body)
    assert answered.status_code in (400, 404), answered.text
    assert [each["pointer"] for each in answered.json()["errors"]] == [pointer]


def test_a_credential_in_a_file_name_is_not_kept(live: Live, session: str) -> None:
    secret = "ghp_" + "a1B2c3D4" * 5
    body = {"content": "read", "attachments": [{**NOTE, "file_name": f"{secret}.txt"}]}
    [asset_id] = live.ok("POST", f"/v1/sessions/{session}/runs", body)["input_attachments"]
    assert secret not in str(live.ok("GET", f"/v1/assets/{asset_id}"))


@pytest.mark.parametrize("given", [{"tests": "green"}, ["a"], "done", True, 1])
def test_completion_requirements_are_refused_rather_than_ignored(
    live: Live, session: str, given: Any
) -> None:
    body = {"content": "go", "completion_requirements": given}
    status, problem = refused(live, f"/v1/sessions/{session}/runs", body)
    assert (status, problem["code"]) == (400, "completion_requirements_unsupported")
    assert "playbook" in problem["detail"]
    assert problem["errors"][0]["pointer"] == "/completion_requirements"
    nothing: tuple[Any, ...] = (None, {}, [])
    for empty in nothing:
        live.ok("POST", f"/v1/sessions/{session}/runs", {**body, "completion_requirements": empty})


def test_a_key_of_another_session_is_a_conflict_also_for_a_schedule(
    live: Live, session: str
) -> None:
    other = live.ok("POST", "/v1/sessions", {})["session_id"]
    key = f"mail:{other}"
    body = {"content": "hello", "binding_keys": [key]}
    live.ok("POST", f"/v1/sessions/{session}/runs", body)

    status, problem = refused(live, f"/v1/sessions/{other}/runs", body)
    schedule = {
        "name": f"daily {other}",
        "target_session_id": other,
        "cadence": {"type": "interval", "every_seconds": 3600},
        "request": body,
    }
    again = refused(live, "/v1/schedules", schedule)[1]

    assert (status, problem["code"], again["code"]) == (409, *["binding_conflict"] * 2)
    assert problem["params"]["session_id"] == session
    [bound] = live.ok("GET", f"/v1/sessions/{session}/bindings")["items"]
    assert (bound["binding_key"], bound["session_id"]) == (key, session)
    [found] = live.ok("GET", f"/v1/sessions?binding_key={key}")["items"]
    assert found["session_id"] == session


def test_commands_bind_keys_and_find_sessions_by_them(live: Live, session: str) -> None:
    invoke(live, "runs", "submit", session, "hello", "--binding-key", f"k:{session}", "--wait")

    [bound] = answer(live, "sessions", "bindings", session)["items"]
    [found] = answer(live, "sessions", "list", "--binding-key", f"k:{session}")["items"]

    assert (bound["binding_key"], found["session_id"]) == (f"k:{session}", session)
    assert f"k:{session}" in invoke(live, "sessions", "bindings", session).stdout
    none = invoke(live, "sessions", "list", "--binding-key", "none-such")
    assert "Nothing matches --binding-key none-such." in none.stdout + none.stderr


def test_an_unknown_route_is_refused_before_a_session_is_made(live: Live) -> None:
    told = invoke(live, "chat", "--route", "nosuch", "--session", "never-made", "hi", exit_code=2)

    assert "there is no route 'nosuch'; the routes are: fake, other" in " ".join(
        told.stderr.replace("│", " ").split()
    )
    assert live.client.get("/v1/sessions/never-made").status_code == 404


def test_silence_is_neither_streamed_nor_shown_nor_printed(live: Live, session: str) -> None:
    # A plan, not the queue: runs of other tests may still ask the model.
    silent = 'plan: {"final": "NO_REPLY"}'
    run_id = live.submit(session, f"only if it matters {silent}")

    events = live.told(run_id)
    assert not {"delta", "output"} & {event.name for event in events}
    assert live.ok("GET", f"/v1/runs/{run_id}")["outputs"] == []
    shown = invoke(live, "chat", "--session", session, f"once more {silent}")
    assert "NO_REPLY" not in shown.stdout
