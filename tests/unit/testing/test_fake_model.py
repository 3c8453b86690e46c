"""The fake model: what other tests rely on."""

import json
import subprocess
import sys
import threading

import httpx2
import pytest

from understudy.learnings.extraction import INSTRUCTIONS
from understudy.testing.answers import Answer
from understudy.testing.fake_model import FakeModel

PLAN = 'do it. plan: {"tools": [["a", {"n": 1}], [["b", {}], ["c", {}]]], "final": "all done"}'


def post(url: str, messages: list[dict[str, object]], **more: object) -> dict[str, object]:
    body = {"model": "m", "messages": messages, **more}
    answer = httpx2.post(f"{url}/v1/chat/completions", json=body, timeout=10, trust_env=False)
    assert answer.status_code == 200
    choice: dict[str, object] = answer.json()["choices"][0]["message"]
    return choice


def user(text: str) -> dict[str, object]:
    return {"role": "user", "content": text}


def names(message: dict[str, object]) -> list[str]:
    calls = message.get("tool_calls") or []
    assert isinstance(calls, list)
    return [call["function"]["name"] for call in calls]


def tool_turn(message: dict[str, object]) -> list[dict[str, object]]:
    calls = message["tool_calls"]
    assert isinstance(calls, list)
    results = [{"role": "tool", "tool_call_id": c["id"], "content": "r"} for c in calls]
    return [message, *results]


def test_the_default_answer_is_ok() -> None:
    with FakeModel() as fake:
        assert post(fake.url, [user("hi")])["content"] == "ok"
        assert fake.requests[0].last_user == "hi"


def test_capture_finds_nothing_and_takes_no_answer_from_the_queue_unless_scripted() -> None:
    capture: list[dict[str, object]] = [
        {"role": "system", "content": INSTRUCTIONS},
        user("I edit in Helix."),
    ]
    with FakeModel() as fake:
        fake.queue("first", "second")
        fake.hold()
        assert post(fake.url, capture)["content"] == "{}"
        fake.release()
        assert (len(fake.captures), fake.requests) == (1, [])
        assert post(fake.url, [user("a")])["content"] == "first"
        fake.script_captures = True
        assert post(fake.url, capture)["content"] == "second"
        assert (len(fake.captures), len(fake.requests)) == (1, 2)


def test_the_queue_comes_before_the_rule() -> None:
    with FakeModel(rule=lambda request: f"heard {request.last_user}") as fake:
        fake.queue("first")
        assert post(fake.url, [user("a")])["content"] == "first"
        assert post(fake.url, [user("b")])["content"] == "heard b"


def test_a_plan_is_followed_by_counting_results() -> None:
    with FakeModel() as fake:
        messages = [user(PLAN)]
        played = []
        for _ in range(3):
            message = post(fake.url, messages)
            played.append(names(message) or message["content"])
            messages += tool_turn(message) if names(message) else [message]
        assert played == [["a"], ["b", "c"], "all done"]
        assert post(fake.url, [*messages, user("and now?")])["content"] == "ok"


def test_a_restarted_server_goes_on_with_the_plan_and_repeats_its_ids() -> None:
    with FakeModel() as before:
        first = post(before.url, [user(PLAN)])
    with FakeModel() as after:
        assert post(after.url, [user(PLAN)]) == first
        nudged = [user(PLAN), *tool_turn(first), user("hurry up")]
        assert names(post(after.url, nudged)) == ["b", "c"]


def test_a_held_request_waits_for_its_release() -> None:
    with FakeModel() as fake:
        fake.hold()
        got: list[object] = []
        asking = threading.Thread(target=lambda: got.append(post(fake.url, [user("hi")])))
        asking.start()
        fake.wait_for_requests(1)
        assert got == []
        fake.release()
        asking.join()
        assert got


def test_waiting_for_requests_that_do_not_come_fails() -> None:
    with FakeModel() as fake, pytest.raises(TimeoutError, match="0 of 1"):
        fake.wait_for_requests(1, timeout_s=0.01)


def test_stopping_ends_held_and_stalled_conversations() -> None:
    with FakeModel() as fake:
        fake.queue(Answer(text="never ends", stall=True))
        client = httpx2.Client(trust_env=False)
        body = {"model": "m", "messages": [user("hi")], "stream": True}
        with client.stream("POST", f"{fake.url}/chat/completions", json=body) as answer:
            assert answer.status_code == 200
        client.close()


def test_it_runs_as_a_process_with_controls_over_http() -> None:
    command = [sys.executable, "-m", "understudy.testing.fake_model", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[-1]
            assert post(url, [user("hi")])["content"] == "ok"
            for control in ("hold", "release"):
                assert httpx2.post(f"{url}/{control}", trust_env=False).status_code == 200
            seen = httpx2.get(f"{url}/requests", trust_env=False).json()
            assert json.dumps(seen[0]["body"]["messages"]) == json.dumps([user("hi")])
            assert httpx2.get(f"{url}/nowhere", trust_env=False).status_code == 404
        finally:
            process.terminate()
