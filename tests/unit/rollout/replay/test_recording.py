"""What the tools of a recorded run answered, by the calls that were made."""

import json
from typing import Any

import pytest

from understudy.rollout.replay.stand_ins import (
    CallNumbers,
    RecordedAnswer,
    RecordedCall,
    Recording,
    place_in,
    read_recording,
    recogniser,
)
from understudy.sessions.journal import EventKind, JournalEvent
from understudy.tools.edit import EditFile
from understudy.tools.files import ReadFile
from understudy.tools.registry import ToolRegistry

RUN = "run_1"
REGISTRY = ToolRegistry([ReadFile(), EditFile()])
RECOGNISE = recogniser(REGISTRY, ["edit_file"])


def event(kind: EventKind, offset: int, key: str | None, data: dict[str, Any]) -> JournalEvent:
    return JournalEvent(
        sequence=offset,
        offset=offset,
        session_id="s1",
        kind=kind,
        at_ms=1,
        run_id=RUN,
        key=key,
        data=data,
    )


def edits(old: str, new: str, **more: Any) -> str:
    return json.dumps({"path": "a.txt", "old_text": old, "new_text": new} | more)


def called(
    step: int, index: int = 0, arguments: str = edits("x", "y"), name: str = "edit_file"
) -> JournalEvent:
    data = {"step": step, "index": index, "name": name, "arguments": arguments}
    return event(EventKind.TOOL_CALL, step * 10, f"{RUN}:call:{step}:{index}", data)


def answered(step: int, index: int = 0, content: str = "done", **fields: Any) -> JournalEvent:
    data = {"step": step, "status": "ok", "content": content, "executed": True} | fields
    return event(EventKind.TOOL_RESULT, step * 10 + 1, f"{RUN}:result:{step}:{index}", data)


def replied(step: int, *arguments: str) -> JournalEvent:
    calls = [{"call_id": "c", "name": "edit_file", "arguments": each} for each in arguments]
    data = {"step": step, "tool_calls": calls}
    return event(EventKind.MESSAGE, step * 10, f"{RUN}:model:{step}", data)


def recording(*events: JournalEvent) -> Recording:
    return read_recording(RUN, events, RECOGNISE)


def the_call(arguments: str = edits("x", "y")) -> RecordedCall:
    call = RECOGNISE("edit_file", arguments)
    assert call is not None
    return call


def test_a_call_is_known_by_what_it_asks_for_and_not_by_how_it_is_written() -> None:
    tidy, odd = (
        '{"path":"a.txt","old_text":"x","new_text":"y"}',
        '{ "new_text":"y","path":"a.txt", "old_text":"\\u0078"}',
    )

    assert the_call(tidy) == the_call(odd)
    assert the_call(tidy) != the_call(edits("x", "z"))


def test_only_calls_that_the_tool_would_take_are_known() -> None:
    assert RECOGNISE("edit_file", "{}") is None
    assert RECOGNISE("edit_file", "no json") is None
    assert RECOGNISE("read_file", '{"path":"a.txt"}') is None
    assert RECOGNISE("unheard_of", "{}") is None


def test_equal_calls_are_answered_in_the_order_in_which_they_were_made() -> None:
    found = recording(
        called(1), answered(1, content="first"), called(2), answered(2, content="2nd")
    )

    assert [found.answer(the_call(), n) for n in (0, 1, 2, 3)] == [
        None,
        RecordedAnswer(is_ok=True, content="first"),
        RecordedAnswer(is_ok=True, content="2nd"),
        None,
    ]
    assert found.count(the_call()) == 2


def test_calls_of_one_reply_keep_their_order_whichever_ended_first() -> None:
    found = recording(
        called(1, 0), called(1, 1), answered(1, 1, content="b"), answered(1, 0, content="a")
    )

    answers = found.answers[the_call()]
    assert [answer.content for answer in answers] == ["a", "b"]


def test_what_did_not_run_has_no_answer() -> None:
    refused = answered(1, status="denied", executed=False)

    assert recording(called(1), refused).answers == {}
    assert recording(called(1)).answers == {}
    assert recording(answered(1)).answers == {}
    assert recording(called(1, arguments="{"), answered(1)).answers == {}


def test_failures_and_long_answers_are_recorded_as_such() -> None:
    found = recording(
        called(1),
        answered(1, status="error", content="no such text"),
        called(2),
        answered(2, content="cut", artifact_id="art_1"),
    )

    assert found.answers[the_call()] == (
        RecordedAnswer(is_ok=False, content="no such text"),
        RecordedAnswer(is_ok=True, content="cut", artifact_id="art_1"),
    )


def test_events_that_are_torn_are_passed_over() -> None:
    torn = event(EventKind.DAMAGED, 1, f"{RUN}:result:1:0", {})
    odd = event(EventKind.TOOL_CALL, 2, f"{RUN}:call:2:0", {"name": 3, "arguments": None})

    assert recording(called(1), torn, odd, answered(2)).answers == {}


def test_a_call_has_the_same_number_however_often_it_is_asked_for() -> None:
    numbers = CallNumbers(RECOGNISE)
    other = edits("a", "b")
    replies = [replied(1, edits("x", "y"), other, edits("x", "y"))]

    assert [numbers.number((1, index), replies) for index in (2, 0, 1, 2)] == [2, 1, 1, 2]

    replies.append(replied(3, other, edits("x", "y")))
    assert [numbers.number((3, index), replies) for index in (0, 1)] == [2, 3]
    again = CallNumbers(RECOGNISE)
    assert again.number((3, 1), replies) == 3


def test_other_events_and_torn_replies_are_not_counted() -> None:
    torn = event(EventKind.MESSAGE, 1, None, {"step": "1", "tool_calls": [{}]})

    assert (
        CallNumbers(RECOGNISE).number((2, 0), [torn, called(1), replied(2, edits("x", "y"))]) == 1
    )


@pytest.mark.parametrize(
    ("key", "place"), [("run_1:call:3:0", (3, 0)), ("a:call:b:call:12:7", (12, 7))]
)
def test_the_key_of_a_call_tells_its_place(key: str, place: tuple[int, int]) -> None:
    assert place_in(key) == place
