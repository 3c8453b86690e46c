"""Runs by the official client of OpenAI, in a daemon that is killed meanwhile or has no extra."""

from pathlib import Path
from typing import Any

import openai
import pytest

from tests.e2e.conftest import DaemonWithModel
from tests.support.daemon import DaemonProcess, wait_for
from understudy.testing.answers import Answer, SeenRequest, call

pytestmark = pytest.mark.e2e

WRITE = {"path": "note.txt", "content": "hello\n"}
ASK_FIRST = {"rules": [{"tool": "write_file", "decision": "ask"}]}


def client_of(daemon: DaemonProcess, key: str = "none") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{daemon.url}/openai/v1", api_key=key, max_retries=0)


def settled(client: openai.OpenAI, response_id: str, status: str) -> Any:
    def reached() -> Any:
        response = client.responses.retrieve(response_id)
        return response if response.status == status else None

    return wait_for(reached, what=f"{response_id} to be {status}")


def write_then_say(seen: SeenRequest) -> Answer | None:
    last = seen.turns[-1]
    if last.role == "tool":
        return Answer(text="It is written.")
    return call("write_file", WRITE) if "write the note" in last.text else None


def test_a_response_that_waits_survives_kills_and_is_approved(live: DaemonWithModel) -> None:
    daemon, model = live.daemon, live.model
    daemon.post("/v1/sessions", {"session_id": "desk"})
    rules = daemon.request("PUT", "/v1/sessions/desk/permissions", json=ASK_FIRST)
    assert rules.status_code == 200, rules.text
    # By rule: a request that a kill cuts off is made again.
    model.rule = write_then_say
    with client_of(daemon) as client:
        begun = client.responses.create(
            model="default", input="write the note", conversation="desk", background=True
        )
        run_id = f"run_{begun.id.removeprefix('resp_')}"

        def waiting() -> dict[str, Any] | None:
            (approval,) = daemon.get("/v1/approvals")["items"] or [None]
            return approval

        approval = wait_for(waiting, what="the approval")
        told = client.responses.retrieve(begun.id)
        assert told.status == "in_progress"
        assert f"{daemon.url}/runs/{run_id}" in told.output_text

        daemon.kill()
        daemon.start()
        assert client.responses.retrieve(begun.id) == told
        allow = {"resolutions": [{"request_id": approval["request_id"], "behavior": "allow"}]}
        approved = daemon.request("POST", f"/v1/runs/{run_id}/approvals", json=allow)
        assert approved.status_code == 202, approved.text
        daemon.kill()
        daemon.start()

        ended = settled(client, begun.id, "completed")
        assert ended.output_text == "It is written."
        results = [turn for turn in model.requests[-1].turns if turn.role == "tool"]
        assert len(results) == 1
        after = client.responses.create(
            model="default", input="thanks", previous_response_id=begun.id
        )
        assert after.conversation == ended.conversation
    assert (daemon.home / "workspace" / "note.txt").read_text() == "hello\n"


def test_a_daemon_without_the_extra_says_what_to_install(tmp_path: Path) -> None:
    # In front of the installed package, and as if it were not there.
    absent = tmp_path / "absent" / "openai"
    absent.mkdir(parents=True)
    (absent / "__init__.py").write_text("raise ModuleNotFoundError('no openai', name='openai')\n")
    home = tmp_path / "home"
    with (
        DaemonProcess(home, env={"PYTHONPATH": str(absent.parent)}, by_command_line=True) as daemon,
        client_of(daemon) as client,
    ):
        with pytest.raises(openai.APIStatusError) as refused:
            client.responses.create(model="default", input="hi")
        assert refused.value.status_code == 503
        assert refused.value.code == "extra_missing"
        assert "understudy[openai]" in refused.value.message
        assert daemon.get("/v1/runs")["items"] == []
