"""Streams of runs that wait for people: they go on through every wait, to the end."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.api.live import Live, SentEvent, joined
from understudy.testing.answers import Answer, FakeCall, call

WRITE = FakeCall(name="write_file", arguments={"path": "a.txt", "content": "x"})
ASK = {"questions": [{"question": "Which?"}]}
RULES = {"rules": [{"tool": "write_file", "decision": "ask"}]}


@pytest.fixture
def session(live: Live) -> str:
    session_id = f"s-{uuid4().hex}"
    live.session(session_id)
    live.ok("PUT", f"/v1/sessions/{session_id}/permissions", RULES)
    return session_id


def until(events: Iterator[SentEvent], kind: str) -> list[SentEvent]:
    """The events up to the one that says this of the run."""
    got = []
    for event in events:
        got.append(event)
        if kind_of(event) == kind:
            return got
    raise AssertionError(f"the stream ended before {kind}: {[kind_of(each) for each in got]}")


def kind_of(event: SentEvent) -> str | None:
    return event.data["event"]["type"] if event.name == "run_updated" else None


def allow(live: Live, run_id: str, waiting: SentEvent) -> None:
    resolutions = [
        {"request_id": each, "behavior": "allow"} for each in waiting.data["event"]["request_ids"]
    ]
    live.ok("POST", f"/v1/runs/{run_id}/approvals", {"resolutions": resolutions})


def answer(live: Live, run_id: str, waiting: SentEvent) -> None:
    (request_id,) = waiting.data["event"]["request_ids"]
    given = [{"question_id": "q1", "freeform_answer": "this"}]
    body = {"resolution": {"request_id": request_id, "answers": given}}
    live.ok("POST", f"/v1/runs/{run_id}/questions", body)


def updates(events: list[SentEvent]) -> list[tuple[Any, Any]]:
    return [(kind_of(event), event.data["status"]) for event in events if kind_of(event)]


def test_a_stream_goes_on_through_every_wait_and_ends_with_the_run(
    live: Live, session: str
) -> None:
    live.model.queue(
        Answer(text="I write. ", calls=(WRITE,)),
        call("ask_user", ASK),
        Answer(text="All done."),
    )
    run_id = live.submit(session, "go")
    with live.stream(f"/v1/runs/{run_id}/stream") as events:
        told = until(events, "waiting_for_approval")
        (request,) = told[-1].data["event"]["requests"]
        assert (request["tool_name"], request["input"]["path"]) == ("write_file", "a.txt")
        allow(live, run_id, told[-1])
        told += until(events, "waiting_for_user_question")
        (request,) = told[-1].data["event"]["requests"]
        assert request["questions"][0]["question"] == "Which?"
        answer(live, run_id, told[-1])
        told += events

    assert updates(told)[2:] == [
        ("started", "running"),
        ("waiting_for_approval", "waiting_for_approval"),
        ("approval_resolved", "waiting_for_approval"),
        ("resumed", "running"),
        ("waiting_for_user_question", "waiting_for_user_question"),
        ("user_question_resolved", "waiting_for_user_question"),
        ("resumed", "running"),
        ("completed", "completed"),
    ]
    resumed = [each.data["event"] for each in told if each.name == "run_updated"]
    assert [each["resume_kind"] for each in resumed if each["type"] == "resumed"] == [
        "approval_resume",
        "user_question_resume",
    ]
    assert joined(told) == "I write. All done."
    assert [each for each in live.told(run_id) if each.name != "delta"] == [
        each for each in told if each.name != "delta"
    ]


def test_a_reader_who_comes_back_during_a_wait_misses_nothing(live: Live, session: str) -> None:
    live.model.queue(Answer(text="I write. ", calls=(WRITE,)), Answer(text="Done."))
    run_id = live.submit(session, "go")
    with live.stream(f"/v1/runs/{run_id}/stream") as events:
        before = until(events, "waiting_for_approval")

    with live.stream(f"/v1/runs/{run_id}/stream", before[-1].id) as events:
        allow(live, run_id, before[-1])
        after = list(events)

    assert joined([*before, *after]) == "I write. Done."
    assert updates(after) == [
        ("approval_resolved", "waiting_for_approval"),
        ("resumed", "running"),
        ("completed", "completed"),
    ]


def test_a_run_that_is_cancelled_while_it_waits_ends_its_stream(live: Live, session: str) -> None:
    live.model.queue(Answer(calls=(WRITE,)))
    run_id = live.submit(session, "go")
    with live.stream(f"/v1/runs/{run_id}/stream") as events:
        until(events, "waiting_for_approval")
        live.ok("POST", f"/v1/runs/{run_id}/cancel")
        rest = list(events)

    assert updates(rest)[-1] == ("cancelled", "cancelled")
    assert "completed" not in [status for _, status in updates(rest)]


def test_the_streams_of_the_session_and_of_everything_tell_of_the_wait_too(
    live: Live, session: str
) -> None:
    for path in (f"/v1/sessions/{session}/stream", "/v1/events/stream"):
        live.model.queue(Answer(calls=(WRITE,)), "Done.")
        with live.stream(path) as events:
            run_id = live.submit(session, "go")
            waiting = until(events, "waiting_for_approval")[-1]
            assert waiting.data["run_id"] == run_id
            allow(live, run_id, waiting)
            until(events, "completed")
