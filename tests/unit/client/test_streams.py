"""Streams: typed events, and no gap when the connection is lost."""

import json
from collections.abc import Iterator

import httpx2
import pytest

from tests.unit.client.fake_daemon import answers, client_of, run_document, sse
from understudy.client import errors
from understudy.client.poll_schedule import RECONNECT_DELAYS_S
from understudy.client.streams import OutputSaid, ToolAnswered, ToolCalled
from understudy.wire.events import Delta, DeltaReset, RunUpdated

WHERE = {"run_id": "run_1", "session_id": "s1", "timestamp_ms": 1}


def updated(status: str) -> str:
    event = {"type": status, "status": status}
    return json.dumps({**WHERE, "agent_id": "default", "status": status, "event": event})


def stream(content: bytes) -> httpx2.Response:
    return httpx2.Response(200, content=content, headers={"Content-Type": "text/event-stream"})


class Broken(httpx2.SyncByteStream):
    """A stream whose connection drops half-way."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def __iter__(self) -> Iterator[bytes]:
        yield self.content
        raise httpx2.ReadError("connection reset")


def broken(content: bytes) -> httpx2.Response:
    return httpx2.Response(200, stream=Broken(content))


def test_each_event_has_its_type() -> None:
    content = sse(
        ("1", "run_updated", updated("running")),
        ("2", "delta", '{"text": "Hi", "step": 1}'),
        ("3", "delta_reset", '{"step": 1}'),
        ("4", "tool_call", json.dumps({**WHERE, "call_id": "c", "name": "t", "arguments": {}})),
        ("5", "tool_result", json.dumps({**WHERE, "call_id": "c", "name": "t", "status": "ok"})),
        ("6", "output", json.dumps({**WHERE, "text": "Hi"})),
        ("7", "of_tomorrow", '{"x": 1}'),
        ("8", "run_updated", updated("completed")),
    )
    handle, _ = answers(stream(content))
    client, _ = client_of(handle)

    events = list(client.runs.stream("run_1"))

    kinds = [RunUpdated, Delta, DeltaReset, ToolCalled, ToolAnswered, OutputSaid, dict, RunUpdated]
    assert [type(event.data) for event in events] == kinds
    assert [event.id for event in events] == list("12345678")
    assert events[-1].ends_run


def test_a_lost_connection_goes_on_after_the_last_whole_event() -> None:
    first = sse(("5.1", "delta", '{"text": "He", "step": 1}')) + b"id: 6\nevent: delta\nda"
    second = sse(
        ("6", "delta", '{"text": "llo", "step": 1}'), ("7", "run_updated", updated("completed"))
    )
    handle, seen = answers(broken(first), httpx2.ConnectError("refused"), stream(second))
    client, pauses = client_of(handle)

    events = list(client.runs.stream("run_1"))

    said = "".join(event.data.text for event in events if isinstance(event.data, Delta))
    assert said == "Hello"
    assert "Last-Event-ID" not in seen[0].headers
    assert [request.headers["Last-Event-ID"] for request in seen[1:]] == ["5.1", "5.1"]
    assert len(pauses) == 2


def test_the_pause_that_the_server_asks_for_is_kept() -> None:
    handle, _ = answers(
        stream(b"retry: 3000\n\n" + sse(("1", "run_updated", updated("running")))),
        stream(sse(("2", "run_updated", updated("completed")))),
    )
    client, pauses = client_of(handle)

    list(client.runs.stream("run_1"))

    assert pauses == [3.0]


def test_a_stream_of_a_run_that_is_over_ends() -> None:
    handle, _ = answers(stream(b": heartbeat\n\n"), httpx2.Response(200, json=run_document()))
    client, _ = client_of(handle)

    assert list(client.runs.stream("run_1", last_event_id="9")) == []


def test_a_daemon_that_stays_away_ends_the_stream() -> None:
    handle, seen = answers(*[httpx2.ConnectError("refused")] * 20)
    client, _ = client_of(handle)

    times_away: list[None] = []

    with pytest.raises(errors.UnreachableError):
        list(client.runs.stream("run_1", on_away=lambda: times_away.append(None)))
    assert len(times_away) == 1
    assert len(seen) == len(RECONNECT_DELAYS_S) + 1


def test_a_refused_stream_is_not_asked_for_again() -> None:
    handle, seen = answers(httpx2.Response(404, json={"code": "run_not_found"}))
    client, _ = client_of(handle)

    with pytest.raises(errors.NotFoundError):
        list(client.runs.stream("nope"))
    assert len(seen) == 1


def test_an_event_that_is_not_json_is_said_to_be_that() -> None:
    handle, _ = answers(stream(sse(("1", "delta", "not json"))))
    client, _ = client_of(handle)

    with pytest.raises(errors.AnswerError, match="delta"):
        list(client.runs.stream("run_1"))


def test_a_session_stream_goes_on_for_ever() -> None:
    handle, seen = answers(
        stream(b"id: 4\n\n"),
        stream(sse(("5", "session_state_changed", json.dumps({**WHERE, "event": {}})))),
    )
    client, _ = client_of(handle)

    event = next(client.sessions.stream("s1"))

    assert event.name == "session_state_changed"
    assert seen[1].headers["Last-Event-ID"] == "4"
