"""Streams over a real connection."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import takewhile
from typing import Any
from uuid import uuid4

import pytest

from tests.api.live import Live, joined
from tests.support.daemon import wait_for
from understudy.api.sse import RunJournal
from understudy.sessions.journal import FeedPage, FeedPlace
from understudy.storage.feed import FeedStore
from understudy.testing.answers import Answer, FakeCall

PLAN = {
    "tools": [["write_file", {"path": "a.txt", "content": "x"}], ["list_files", {}]],
    "final": "all done",
}
LONG = "".join(f"word{number} " for number in range(60))


@pytest.fixture
def session(live: Live) -> str:
    session_id = f"s-{uuid4().hex}"
    live.session(session_id)
    return session_id


def test_a_run_is_told_from_its_beginning_to_its_end(live: Live, session: str) -> None:
    run_id = live.submit(session, "plan: " + json.dumps(PLAN))
    events = live.told(run_id)
    names = [event.name for event in events if event.name != "delta"]
    assert names == [
        *["run_updated"] * 3,
        *["tool_call", "tool_result"] * 2,
        "output",
        "run_updated",
    ]
    assert [event.data["status"] for event in events if event.name == "run_updated"] == [
        "queued",
        "queued",
        "running",
        "completed",
    ]
    assert joined(events) == "all done"
    first = events[0].data
    assert set(first) == {"run_id", "session_id", "agent_id", "status", "timestamp_ms", "event"}
    assert first["event"]["type"] == "accepted"


def test_the_text_arrives_while_it_is_spoken(live: Live, session: str) -> None:
    live.model.queue(Answer(text=LONG, pause_s=0.01))
    events = live.told(live.submit(session, "speak"))
    deltas = [event for event in events if event.name == "delta"]
    assert len(deltas) > 3
    assert joined(events) == LONG


def test_a_late_reader_is_told_the_same(live: Live, session: str) -> None:
    live.model.queue(Answer(text=LONG, pause_s=0.005))
    run_id = live.submit(session, "speak")
    early = live.told(run_id)
    late = live.told(run_id)
    assert joined(late) == joined(early) == LONG
    assert [e for e in late if e.name != "delta"] == [e for e in early if e.name != "delta"]


@pytest.mark.parametrize("lost_after", [1, 3, 5, 9])
def test_a_reader_who_lost_the_connection_goes_on_without_a_gap(
    live: Live, session: str, lost_after: int
) -> None:
    live.model.queue(Answer(text=LONG, pause_s=0.01))
    run_id = live.submit(session, "speak")
    kept = []
    with live.stream(f"/v1/runs/{run_id}/stream") as events:
        for event in events:
            kept.append(event)
            if len(kept) == lost_after:
                break
    rest = live.told(run_id, last_id=kept[-1].id)
    assert joined([*kept, *rest]) == LONG
    durable = [event.data for event in [*kept, *rest] if event.name in ("run_updated", "output")]
    assert durable == [e.data for e in live.told(run_id) if e.name in ("run_updated", "output")]


def test_a_stream_taken_up_after_the_end_ends_at_once(live: Live, session: str) -> None:
    run_id = live.run(session, "hello")["run_id"]
    events = live.told(run_id)
    assert live.told(run_id, last_id=events[-1].id) == []
    with live.stream(f"/v1/runs/{run_id}/stream?cursor={events[2].id}") as rest:
        assert list(rest) == events[3:]


def test_a_call_that_is_tried_again_voids_what_was_said(live: Live, session: str) -> None:
    live.model.queue(Answer(text=LONG, cut=True, pause_s=0.02), Answer(text="better", pause_s=0.02))
    events = live.told(live.submit(session, "speak"))
    assert "delta_reset" in [event.name for event in events]
    assert joined(events) == "better"
    assert events[-1].data["status"] == "completed"


def test_text_of_a_call_that_failed_for_good_is_taken_back(live: Live, session: str) -> None:
    live.model.queue(*[Answer(text=LONG, cut=True, pause_s=0.02)] * 2)
    events = live.told(live.submit(session, "speak"))
    assert events[-1].data["status"] == "failed"
    assert joined(events) == ""


def test_text_before_a_tool_call_is_told_too(live: Live, session: str) -> None:
    call = FakeCall(name="list_files")
    live.model.queue(Answer(text="let me look", calls=(call,)), "found it")
    run_id = live.submit(session, "look")
    events = live.told(run_id)
    assert joined(events) == "let me lookfound it"
    outputs = live.finished(run_id)["outputs"]
    assert "".join(output["text"] for output in outputs) == joined(events)


def test_a_session_is_followed_from_now_on(live: Live, session: str) -> None:
    live.run(session, "before")
    with live.stream(f"/v1/sessions/{session}/stream") as events:
        run_id = live.submit(session, "now")
        got = []
        for event in events:
            got.append(event)
            if event.data.get("status") == "completed":
                break
    assert {event.data["run_id"] for event in got} == {run_id}
    begun = [*["run_updated"] * 3, "remembered"]
    assert [event.name for event in got] == [*begun, "output", "run_updated"]
    with live.stream(f"/v1/sessions/{session}/stream", last_id=got[0].id) as events:
        again = [next(events) for _ in got[1:]]
    assert again == got[1:]


def test_all_sessions_are_followed_by_sequence(live: Live) -> None:
    first, second = f"s-{uuid4().hex}", f"s-{uuid4().hex}"
    with live.stream("/v1/events/stream") as events:
        live.session(first)
        live.session(second)
        live.run(second, "hello")
        got = list(takewhile(lambda e: e.data.get("status") != "completed", events))
    assert [(e.name, e.data["session_id"]) for e in got[:2]] == [
        ("session_state_changed", first),
        ("session_state_changed", second),
    ]
    assert [int(e.id) for e in got] == sorted(int(e.id) for e in got)
    with live.stream(f"/v1/events/stream?cursor={got[0].id}", last_id="1") as events:
        assert next(events) == got[1]


def test_a_reader_who_got_nothing_yet_knows_where_to_come_back(live: Live, session: str) -> None:
    with live.client.stream("GET", f"/v1/sessions/{session}/stream") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-store"
        assert next(answer.iter_lines()) == "id: 1"


def test_a_stream_of_nothing_is_not_found(live: Live) -> None:
    for path in ("/v1/runs/none/stream", "/v1/sessions/none/stream"):
        answer = live.client.get(path)
        assert answer.status_code == 404
        assert answer.headers["content-type"] == "application/problem+json"


def test_a_body_past_the_limit_is_refused_over_a_real_connection(live: Live) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(64):
            yield b" " * (1024 * 1024)

    headers = {"Content-Type": "application/json"}
    answer = live.client.post("/v1/sessions", content=endless(), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (413, "payload_too_large")
    assert live.client.get("/healthz").status_code == 200


def test_a_call_that_is_tried_again_and_says_the_same_goes_on(live: Live, session: str) -> None:
    live.model.queue(Answer(text=LONG, cut=True, pause_s=0.01), Answer(text=LONG, pause_s=0.01))
    events = live.told(live.submit(session, "speak"))
    assert "delta_reset" not in [event.name for event in events]
    assert joined(events) == LONG
    assert events[-1].data["status"] == "completed"


def test_a_stream_is_asked_for_without_being_told(live: Live, session: str) -> None:
    for path in (f"/v1/sessions/{session}/stream", "/v1/events/stream"):
        answer = live.client.head(path)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.content == b""


def test_a_delta_alone_does_not_send_every_reader_to_the_database(
    live: Live, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    read = RunJournal._read

    def counted(self: RunJournal, after_offset: int) -> object:
        looks.append(after_offset)
        return read(self, after_offset)

    monkeypatch.setattr(RunJournal, "_read", counted)
    live.model.queue(Answer(text=LONG, pause_s=0.02))
    events = live.told(live.submit(session, "speak"))
    deltas = [event for event in events if event.name == "delta"]
    assert len(deltas) > 10
    assert len(looks) < len(deltas)


def test_a_stream_ends_with_the_token_of_its_reader(live: Live, session: str) -> None:
    def token(role: str, headers: dict[str, str]) -> tuple[str, dict[str, str]]:
        body = {"user_id": f"stream-{role}", "role": role}
        made = live.ok("POST", "/v1/tokens", body, headers=headers)
        return made["token_id"], {"Authorization": f"Bearer {made['token']}"}

    root_id, root = token("admin", {})
    try:
        reader_id, reader = token("viewer", root)
        with live.client.stream("GET", "/v1/events/stream", headers=reader, timeout=20) as answer:
            lines = answer.iter_lines()
            assert next(lines).startswith("id: ")
            live.ok("DELETE", f"/v1/tokens/{reader_id}", headers=root)
            said = {"content": "for admins alone"}
            live.ok("POST", f"/v1/sessions/{session}/runs", said, headers=root)

            assert [line for line in lines if line.startswith("data")] == []
    finally:
        live.ok("DELETE", f"/v1/tokens/{root_id}?leave_no_admin=true", headers=root)


def test_streams_at_one_place_share_what_they_read(
    live: Live, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[object] = []
    page = FeedStore.page

    def counted(self: FeedStore, after: FeedPlace, **wanted: Any) -> FeedPage:
        read.append(after)
        return page(self, after, **wanted)

    monkeypatch.setattr(FeedStore, "page", counted)
    with ExitStack() as stack:
        told = [stack.enter_context(live.stream("/v1/events/stream")) for _ in range(20)]
        wait_for(lambda: read, what="the streams to look for the first time")
        begun = len(read)
        live.run(session, "say hi")
        for events in told:
            assert next(events).name == "run_updated"
    # One read for each ring, not one for each stream and ring.
    assert len(read) - begun < 20 * 3
