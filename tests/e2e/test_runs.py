"""Runs over HTTP: order, routes, idempotency, stopping, and going on after a crash."""

import json
import time
from typing import Any

import pytest

from tests.e2e.conftest import DaemonWithModel
from tests.support.daemon import DaemonProcess, wait_for
from understudy.testing.answers import call

pytestmark = pytest.mark.e2e


def status_of(daemon: DaemonProcess, run_id: str) -> tuple[str, int | None]:
    run = daemon.get(f"/v1/runs/{run_id}")
    return run["status"], run.get("queued_position")


def event_types(daemon: DaemonProcess, run_id: str) -> list[str]:
    return [item["event"]["type"] for item in daemon.get(f"/v1/runs/{run_id}/events")["items"]]


def test_runs_of_a_session_wait_in_line(live: DaemonWithModel) -> None:
    daemon, model = live.daemon, live.model
    daemon.post("/v1/sessions", {"session_id": "s1"})
    model.hold()
    runs = [daemon.submit("s1", text) for text in ("one", "two", "three")]
    wait_for(lambda: status_of(daemon, runs[0])[0] == "running", what="the first run to start")
    assert [status_of(daemon, run) for run in runs] == [
        ("running", None),
        ("queued", 1),
        ("queued", 2),
    ]
    busy = daemon.request("POST", "/v1/sessions/s1/input", json={"content": "now!"})
    assert (busy.status_code, busy.json()["code"]) == (409, "session_busy")
    model.release()
    ended = [daemon.wait_for_run(run) for run in runs]
    assert [run["status"] for run in ended] == ["completed"] * 3
    assert ended[0]["finished_at_ms"] <= ended[1]["started_at_ms"]
    assert ended[1]["finished_at_ms"] <= ended[2]["started_at_ms"]
    assert event_types(daemon, runs[1]) == ["accepted", "queued", "started", "output", "completed"]


def test_a_terminal_run_stays_as_it_is(live: DaemonWithModel) -> None:
    daemon, model = live.daemon, live.model
    daemon.post("/v1/sessions", {"session_id": "s1"})
    done = daemon.run("s1", "hello")
    events = event_types(daemon, done["run_id"])
    cancelled = daemon.request("POST", f"/v1/runs/{done['run_id']}/cancel")
    assert cancelled.status_code == 200
    assert cancelled.json() == done
    assert event_types(daemon, done["run_id"]) == events
    model.hold()
    runs = [daemon.submit("s1", text) for text in ("one", "two", "three")]
    wait_for(lambda: status_of(daemon, runs[0])[0] == "running")
    answer = daemon.post(f"/v1/runs/{runs[1]}/cancel")
    assert answer["status"] == "cancelled"
    assert status_of(daemon, runs[2]) == ("queued", 1)
    model.release()
    assert daemon.wait_for_run(runs[2])["status"] == "completed"


def test_a_run_keeps_the_route_it_was_submitted_with(live: DaemonWithModel) -> None:
    daemon, model = live.daemon, live.model
    daemon.post("/v1/sessions", {"session_id": "s1"})
    model.hold()
    daemon.submit("s1", "one")
    second = daemon.submit("s1", "two")
    daemon.post("/v1/runtime", {"default_route": "b"})
    model.release()
    assert daemon.wait_for_run(second)["request"]["provider"] == "a"
    assert model.requests[-1].model == "model-a"
    third = daemon.run("s1", "three")
    assert third["request"]["provider"] == "b"
    assert model.requests[-1].model == "model-b"


def test_the_nearest_route_wins(shared_live: DaemonWithModel) -> None:
    daemon, model = shared_live.daemon, shared_live.model
    daemon.post("/v1/sessions", {"session_id": "near"})
    policy = {"route_policy": {"provider": "b"}}
    daemon.request("PUT", "/v1/sessions/near/route-policy", json=policy).raise_for_status()
    assert daemon.run("near", "x")["request"]["provider"] == "b"
    assert daemon.run("near", "x", provider="c")["request"]["provider"] == "c"
    named = daemon.run("near", "x", generation={"model": "model-a"})
    assert (named["request"]["provider"], model.requests[-1].model) == ("a", "model-a")
    daemon.request("DELETE", "/v1/sessions/near/route-policy").raise_for_status()
    assert daemon.run("near", "x")["request"]["provider"] == "a"


def test_a_route_that_vanished_fails_the_run_instead_of_drifting(live: DaemonWithModel) -> None:
    daemon, model = live.daemon, live.model
    daemon.post("/v1/sessions", {"session_id": "s1"})
    model.hold()
    daemon.submit("s1", "one")
    second = daemon.submit("s1", "two", provider="b")
    model.wait_for_requests(1)
    daemon.stop()
    config = daemon.home / "config.toml"
    config.write_text(config.read_text().replace("[routes.b]", "[routes.other]"))
    daemon.start()
    model.release()
    ended = daemon.wait_for_run(second)
    assert ended["status"] == "failed"
    assert "'b'" in ended["error"]
    assert daemon.run("s1", "three")["status"] == "completed"


def test_the_same_key_submits_once_even_after_a_restart(live: DaemonWithModel) -> None:
    daemon, model = live.daemon, live.model
    daemon.post("/v1/sessions", {"session_id": "s1"})

    def submit(content: str, key: str) -> Any:
        return daemon.request(
            "POST",
            "/v1/sessions/s1/runs",
            json={"content": content},
            headers={"Idempotency-Key": key},
        )

    first = submit("hello", "k1")
    assert first.status_code == 202
    run_id = first.json()["run_id"]
    assert submit("hello", "k1").json()["run_id"] == run_id
    daemon.wait_for_run(run_id)
    daemon.kill()
    daemon.start()
    assert submit("hello", "k1").json()["run_id"] == run_id
    assert len(model.requests) == 1
    other = submit("other", "k1")
    assert other.status_code == 409
    problem = other.json()
    assert (problem["domain"], problem["code"]) == ("idempotency", "idempotency_conflict")
    assert submit("hello", "k" * 257).status_code == 400


def test_input_is_given_one_way_and_is_not_empty(shared_live: DaemonWithModel) -> None:
    daemon, model = shared_live.daemon, shared_live.model
    daemon.post("/v1/sessions", {"session_id": "items"})
    items = [{"type": "text", "text": "first"}, {"type": "text", "text": "second"}]
    run = daemon.run("items", "", input_items=items)
    assert run["status"] == "completed"
    assert model.requests[-1].last_user.index("first") < model.requests[-1].last_user.index(
        "second"
    )
    bodies: list[dict[str, Any]] = [
        {"content": "x", "input_items": items},
        {},
        {"content": "  "},
        {"input_items": []},
    ]
    for body in bodies:
        answer = daemon.request("POST", "/v1/sessions/items/runs", json=body)
        assert answer.status_code == 400


def test_a_caller_cannot_slip_memory_into_the_prompt(shared_live: DaemonWithModel) -> None:
    daemon, model = shared_live.daemon, shared_live.model
    daemon.post("/v1/sessions", {"session_id": "forged"})
    metadata = {"recovered_memory": {"entries": ["PWNED"]}, "learned_context": "PWNED", "ok": 1}
    run = daemon.run("forged", "hello", metadata=metadata)
    assert run["input_metadata"] == {"ok": 1}
    assert "PWNED" not in json.dumps(model.requests[-1].body)
    assert "PWNED" not in json.dumps(daemon.get("/v1/sessions/forged/events"))


def test_work_in_flight_at_a_kill_goes_on_where_it_stopped(live: DaemonWithModel) -> None:
    daemon, model = live.daemon, live.model
    daemon.post("/v1/sessions", {"session_id": "s1"})
    for number in range(2):
        model.queue(call("write_file", {"path": f"{number}.txt", "content": "x"}))
    first = daemon.submit("s1", "work")
    model.wait_for_requests(2)
    model.hold()
    second = daemon.submit("s1", "then this")
    model.wait_for_requests(3)
    daemon.kill()
    daemon.start()
    model.wait_for_requests(4)
    model.release()
    assert daemon.wait_for_run(first)["status"] == "completed"
    assert daemon.wait_for_run(second)["status"] == "completed"
    assert daemon.get(f"/v1/runs/{first}")["usage"]["tool_calls"] == 2
    # Two finished calls, the third one twice, and the second run's only one.
    assert len(model.requests) == 5


def test_a_run_that_was_in_flight_at_five_crashes_is_interrupted(live: DaemonWithModel) -> None:
    daemon, model = live.daemon, live.model
    daemon.post("/v1/sessions", {"session_id": "s1"})
    model.hold()
    first, second = daemon.submit("s1", "poison"), daemon.submit("s1", "harmless")
    for crash in range(5):
        model.wait_for_requests(crash + 1)
        daemon.kill()
        if crash == 4:
            model.release()
        daemon.start()
    ended = daemon.wait_for_run(first)
    assert ended["status"] == "interrupted"
    assert "crashed 5 times" in ended["error"]
    assert daemon.wait_for_run(second)["status"] == "completed"


def test_an_orderly_restart_is_not_a_crash(live: DaemonWithModel) -> None:
    daemon, model = live.daemon, live.model
    daemon.post("/v1/sessions", {"session_id": "s1"})
    run_id = daemon.submit("s1", 'plan: {"tools": [["list_files", {}]], "delay_s": 1.5}')
    model.wait_for_requests(1)
    for _ in range(3):
        assert daemon.stop() == 0, daemon.log()
        daemon.start()
    assert daemon.wait_for_run(run_id)["status"] == "completed"


def test_an_interrupt_stops_the_run_and_the_next_one_starts(live: DaemonWithModel) -> None:
    daemon, model = live.daemon, live.model
    daemon.post("/v1/sessions", {"session_id": "s1"})
    assert daemon.post("/v1/sessions/s1/interrupt")["interrupted"] is False
    model.hold()
    first, second = daemon.submit("s1", "one"), daemon.submit("s1", "two")
    model.wait_for_requests(1)
    assert daemon.post("/v1/sessions/s1/interrupt")["interrupted"] is True
    ended = daemon.wait_for_run(first)
    assert ended["status"] == "interrupted"
    model.release()
    after = daemon.wait_for_run(second)
    assert after["status"] == "completed"
    assert after["started_at_ms"] >= ended["finished_at_ms"]


def test_a_cancelled_run_ends_as_cancelled(live: DaemonWithModel) -> None:
    daemon, model = live.daemon, live.model
    daemon.post("/v1/sessions", {"session_id": "s1"})
    model.hold()
    run_id = daemon.submit("s1", "one")
    model.wait_for_requests(1)
    daemon.post(f"/v1/runs/{run_id}/cancel")
    assert daemon.wait_for_run(run_id)["status"] == "cancelled"
    assert event_types(daemon, run_id)[-1] == "cancelled"


def test_a_failing_provider_fails_the_run_and_not_the_session(
    shared_live: DaemonWithModel,
) -> None:
    daemon, model = shared_live.daemon, shared_live.model
    daemon.post("/v1/sessions", {"session_id": "down"})
    model.fail(401)
    ended = daemon.run("down", "hello")
    assert ended["status"] == "failed"
    assert "401" in ended["error"] or "key" in ended["error"]
    assert daemon.run("down", "again")["status"] == "completed"


def test_inline_input_answers_when_the_run_has_ended(shared_live: DaemonWithModel) -> None:
    daemon = shared_live.daemon
    daemon.post("/v1/sessions", {"session_id": "inline"})
    session = daemon.post("/v1/sessions/inline/input", {"content": "hello"})
    assert session["session_id"] == "inline"
    assert session["outputs"][-1]["text"] == "ok"


def test_debug_capture_shows_the_requests_without_secrets(shared_live: DaemonWithModel) -> None:
    daemon = shared_live.daemon
    secret = "sk-" + "proj-" + "A1b2C3d4" * 4
    daemon.post("/v1/sessions", {"session_id": "debug"})
    run = daemon.run("debug", f"my key is {secret}", debug_level="requests")
    captured = daemon.get(f"/v1/runs/{run['run_id']}/debug")
    assert len(captured["items"]) == 1
    text = json.dumps(captured)
    assert secret not in text
    assert "<redacted:" in text


def test_disk_and_journal_tell_the_same_story_after_many_turns(
    shared_live: DaemonWithModel,
) -> None:
    daemon, model = shared_live.daemon, shared_live.model
    daemon.post("/v1/sessions", {"session_id": "turns"})
    for number in range(3):
        daemon.run("turns", f"turn {number}")
    texts = [turn.text for turn in model.requests[-1].turns if turn.role == "user"]
    assert texts == ["turn 0", "turn 1", "turn 2"]
    began = time.time()
    page = daemon.get("/v1/sessions/turns/events")
    assert time.time() - began < 5
    assert [event["offset"] for event in page["items"]] == list(range(1, len(page["items"]) + 1))
