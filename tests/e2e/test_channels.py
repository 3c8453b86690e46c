"""Channels with a real daemon that is killed in the middle of a turn: one message, not two."""

import pytest

from tests.e2e.conftest import DaemonWithModel
from tests.support.daemon import DaemonProcess, wait_for
from understudy.testing.answers import Answer, SeenRequest, call

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
PATH = "/v1/channels/room"


def speak(request: SeenRequest) -> Answer | None:
    if "It is your turn" not in request.last_user:
        return None
    if request.turns[-1].role == "tool":
        return Answer(text="said it")
    return call("emit_output", {"content": "Here I am."})


def said(daemon: DaemonProcess) -> list[str]:
    return [item["sender"]["id"] for item in daemon.get(PATH + "/messages")["items"]]


def test_a_daemon_that_is_killed_during_a_turn_publishes_one_message(
    live: DaemonWithModel,
) -> None:
    daemon, model = live.daemon, live.model
    model.rule = speak
    for name in ("ann", "bob"):
        daemon.post("/v1/sessions", {"session_id": name})
    members = [{"member_id": "local", "member_kind": "human_actor"}]
    members += [{"member_id": name} for name in ("ann", "bob")]
    daemon.post("/v1/channels", {"channel_id": "room", "title": "Room", "members": members})
    model.hold()
    sent = daemon.post(PATH + "/messages", {"content": "Where are you?"})
    daemon.post(f"{PATH}/messages/{sent['message_id']}/reactions", {"emoji": "👍"})
    model.wait_for_requests(1, timeout_s=60)
    daemon.kill()
    model.release()
    daemon.start()
    wait_for(lambda: len(said(daemon)) >= 2 or None, 90, what="the first answer")
    # Once more, while the first turn is settled or the second one runs.
    daemon.kill()
    daemon.start()
    wait_for(lambda: len(said(daemon)) >= 3 or None, 90, what="the second answer")
    wait_for(lambda: not daemon.get(PATH + "/leases")["items"] or None, 90, what="the end")

    assert said(daemon) == ["local", "ann", "bob"]
    first = daemon.get(PATH + "/messages")["items"][0]
    assert first["reactions"] == [{"emoji": "👍", "actor_ids": ["local"], "count": 1}]
    for name in ("ann", "bob"):
        assert len(daemon.get(f"/v1/runs?session_id={name}")["items"]) == 1
