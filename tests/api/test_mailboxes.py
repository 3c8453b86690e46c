"""Mailboxes over HTTP."""

from typing import Any
from uuid import uuid4

import pytest
from starlette.testclient import TestClient

from tests.api.live import Live
from tests.support.daemon import wait_for


@pytest.fixture
def message(api: TestClient) -> dict[str, Any]:
    api.post("/v1/sessions", json={"session_id": "s1"})
    posted = api.post(
        "/v1/mailboxes", json={"session_id": "s1", "content": "hello", "subject": "Hi"}
    )
    assert posted.status_code == 202, posted.text
    view: dict[str, Any] = posted.json()
    return view


def test_a_message_waits_in_the_mailbox(api: TestClient, message: dict[str, Any]) -> None:
    assert message["message_id"].startswith("msg_")
    assert (message["status"], message["attempts"], message["run_ids"]) == ("pending", 0, [])
    assert message["sender"] == {"type": "user", "user_id": "local"}
    assert (message["to_session_id"], message["subject"]) == ("s1", "Hi")
    for _ in range(2):  # looking changes nothing
        assert api.get("/v1/mailboxes/s1").json()["items"] == [message]
    assert api.get("/v1/mailboxes/s1?status=acked&status=dead").json()["items"] == []
    assert api.get("/v1/mailboxes/s1/dead-letter").json()["items"] == []


def test_a_message_can_be_taken_out(api: TestClient, message: dict[str, Any]) -> None:
    path = f"/v1/mailboxes/s1/messages/{message['message_id']}"
    assert api.post(f"{path}/ack").json()["status"] == "acked"
    assert api.post(f"{path}/ack").json()["status"] == "acked"
    refused = api.post(f"{path}/retry")
    assert (refused.status_code, refused.json()["code"]) == (409, "message_not_dead")


def test_mail_keeps_a_session_from_ending(api: TestClient, message: dict[str, Any]) -> None:
    refused = api.post("/v1/sessions/s1/end", json={})
    assert (refused.status_code, refused.json()["code"]) == (409, "session_not_idle")
    assert refused.json()["params"] == {"blockers": ["pending_mail"]}
    api.post(f"/v1/mailboxes/s1/messages/{message['message_id']}/ack")
    assert api.post("/v1/sessions/s1/end", json={}).status_code == 200
    late = api.post("/v1/mailboxes", json={"session_id": "s1", "content": "hello"})
    assert (late.status_code, late.json()["code"]) == (409, "session_ended")


def test_an_agent_has_a_mailbox(api: TestClient) -> None:
    posted = api.post("/v1/mailboxes", json={"agent_id": "default", "content": "hello"}).json()
    assert (posted["to_agent_id"], posted["session_id"]) == ("default", "mail-default")
    assert "to_session_id" not in posted
    assert api.get("/v1/agents/default/mailbox").json()["items"] == [posted]
    assert api.get("/v1/agents/default/mailbox/dead-letter").json()["items"] == []
    acked = api.post(f"/v1/agents/default/mailbox/{posted['message_id']}/ack").json()
    assert acked["status"] == "acked"
    retry = api.post(f"/v1/agents/default/mailbox/{posted['message_id']}/retry")
    assert (retry.status_code, retry.json()["code"]) == (409, "message_not_dead")


def test_a_repeat_under_the_same_key_posts_once(api: TestClient) -> None:
    api.post("/v1/sessions", json={"session_id": "s1"})
    sent = {"session_id": "s1", "content": "hello"}
    keyed = {"Idempotency-Key": "once"}
    first, again = (api.post("/v1/mailboxes", json=sent, headers=keyed) for _ in range(2))
    assert first.json() == again.json()
    assert len(api.get("/v1/mailboxes/s1").json()["items"]) == 1


@pytest.mark.parametrize(
    ("body", "status", "where"),
    [
        ({"content": "x"}, 400, "/session_id"),
        ({"session_id": "s1", "agent_id": "default", "content": "x"}, 400, "/session_id"),
        ({"session_id": "s1"}, 400, "/content"),
        ({"session_id": "s1", "content": "  "}, 400, "/content"),
        ({"session_id": "s1", "content": 7}, 400, "/content"),
        ({"session_id": "s1", "content": "x", "subject": ""}, 400, "/subject"),
        ({"session_id": "s1", "content": "x", "subject": "a\nb"}, 400, "/subject"),
        ({"session_id": "s1", "content": "x", "subject": "x" * 201}, 400, "/subject"),
        ({"session_id": "s1", "content": "x", "metadata": []}, 400, "/metadata"),
        ({"session_id": "s1", "content": "x", "metadata": {"a": "x" * 20_000}}, 400, "/metadata"),
        ({"session_id": "s1", "content": "x", "extra": 1}, 400, "/extra"),
        ({"session_id": "s1", "content": "x\x00"}, 400, "/content"),
        ({"session_id": "s1", "content": "x" * 65_537}, 413, None),
        ({"session_id": "nowhere", "content": "x"}, 404, None),
        ({"agent_id": "nobody", "content": "x"}, 404, None),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_wrong_message_is_refused(
    api: TestClient, body: dict[str, Any], status: int, where: str | None
) -> None:
    api.post("/v1/sessions", json={"session_id": "s1"})
    refused = api.post("/v1/mailboxes", json=body)

    assert refused.status_code == status, refused.text
    if where is not None:
        assert where in [error["pointer"] for error in refused.json()["errors"]]
    assert api.get("/v1/mailboxes/s1").json()["items"] == []


def test_what_is_not_there_is_404(api: TestClient, message: dict[str, Any]) -> None:
    for path in ("/v1/mailboxes/nowhere", "/v1/agents/nobody/mailbox"):
        assert api.get(path).status_code == 404
        assert api.get(f"{path}/dead-letter").status_code == 404
    for path in (
        "/v1/mailboxes/s1/messages/msg_none",
        f"/v1/mailboxes/s2/messages/{message['message_id']}",
        f"/v1/agents/default/mailbox/{message['message_id']}",
    ):
        for verb in ("ack", "retry"):
            missing = api.post(f"{path}/{verb}")
            assert (missing.status_code, missing.json()["code"]) == (404, "message_not_found")


def test_a_viewer_may_look_and_not_send(guarded: TestClient) -> None:
    admin = {"Authorization": "Bearer admin-secret"}
    guarded.post("/v1/sessions", json={"session_id": "s1"}, headers=admin)
    made = guarded.post(
        "/v1/tokens", json={"user_id": "eve", "role": "viewer"}, headers=admin
    ).json()
    viewer = {"Authorization": f"Bearer {made['token']}"}
    sent = {"session_id": "s1", "content": "hello"}

    assert guarded.get("/v1/mailboxes/s1", headers=viewer).status_code == 200
    assert guarded.post("/v1/mailboxes", json=sent, headers=viewer).status_code == 403


def test_a_running_daemon_delivers_and_acks(live: Live) -> None:
    session_id = f"s-{uuid4().hex}"
    live.session(session_id)
    live.model.queue("noted")
    live.ok("POST", "/v1/mailboxes", {"session_id": session_id, "content": "the roof leaks"})

    def acked() -> dict[str, Any] | None:
        [message] = live.ok("GET", f"/v1/mailboxes/{session_id}")["items"]
        return message if message["status"] == "acked" else None

    message = wait_for(acked, 20, what="the message to be read")
    [run_id] = message["run_ids"]
    run = live.finished(run_id)
    assert run["kind"] == "mailbox_delivery"
    assert run["request"]["source_plugin"] == "mailboxes"
    assert run["input_metadata"]["mailbox"]["message_id"] == message["message_id"]
    assert [output["text"] for output in run["outputs"]] == ["noted"]
    assert "> the roof leaks" in live.model.requests[-1].last_user
