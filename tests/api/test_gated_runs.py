"""Rules at work: what a run's tool calls get, and what the model and the audit are told."""

import pytest

from tests.api.live import Live
from tests.support.daemon import wait_for
from understudy.testing.answers import call


@pytest.fixture
def session(live: Live) -> str:
    session_id = "gated"
    live.session(session_id)
    live.ok("DELETE", f"/v1/sessions/{session_id}/permissions")
    return session_id


def put(live: Live, session_id: str, *rules: dict) -> None:
    live.ok("PUT", f"/v1/sessions/{session_id}/permissions", {"rules": list(rules)})


def test_a_denied_call_has_no_effect_and_the_model_is_told_why(live: Live, session: str) -> None:
    secret = "plans for " + "tomorrow"
    put(live, session, {"tool": "write_*", "decision": "deny", "reason": "read only today"})
    live.model.queue(call("write_file", {"path": "denied.txt", "content": secret}), "sorry")

    run_id = live.submit(session, "write it down")

    assert live.finished(run_id)["status"] == "completed"
    told = live.model.requests[-1].turns[-1].text
    assert "read only today" in told
    assert not (live.daemon.settings.workspace / "denied.txt").exists()
    entries = live.ok("GET", "/v1/audit?resource=tools")["items"]
    [entry] = [entry for entry in entries if run_id in entry["reason"]]
    assert (entry["action"], entry["resource_id"], entry["outcome"]) == (
        "tools.call",
        "write_file",
        "refused",
    )
    assert "rule 1 of the session" in entry["reason"]
    assert "tomorrow" not in str(entry)


def test_rules_are_judged_by_what_the_tool_would_get(live: Live, session: str) -> None:
    put(live, session, {"tool": "write_file", "arguments": {"path": "out/*"}, "decision": "deny"})
    live.model.queue(
        call("write_file", {"path": "./out//a.txt", "content": "x"}),
        call("write_file", {"path": "elsewhere.txt", "content": "x"}),
        "done",
    )

    assert live.finished(live.submit(session, "write twice"))["status"] == "completed"

    workspace = live.daemon.settings.workspace
    assert not (workspace / "out").exists()
    assert (workspace / "elsewhere.txt").exists()


def test_an_asked_call_waits_and_is_judged_anew_when_it_is_approved(
    live: Live, session: str
) -> None:
    put(live, session, {"tool": "write_file", "decision": "ask"})
    live.model.queue(call("write_file", {"path": "later.txt", "content": "x"}), "ended")
    run_id = live.submit(session, "write it")
    approval = wait_for(lambda: _pending(live, run_id), 20, what="an approval to be asked for")
    put(live, session, {"tool": "write_file", "decision": "deny"})

    resolution = {"request_id": approval, "behavior": "allow"}
    live.ok("POST", f"/v1/runs/{run_id}/approvals", {"resolutions": [resolution]})

    assert live.finished(run_id)["status"] == "completed"
    assert not (live.daemon.settings.workspace / "later.txt").exists()


def _pending(live: Live, run_id: str) -> str | None:
    items = live.ok("GET", "/v1/approvals")["items"]
    assert all(item["request_id"] == item["id"] for item in items)
    return next((item["request_id"] for item in items if item["run_id"] == run_id), None)
