"""What is said and what the journal keeps, merged into one telling."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.agent.model_call import Spoken
from understudy.api.sse import Position, RunStreamState, StreamFrame
from understudy.core.errors import Invalid
from understudy.sessions.journal import EventKind, JournalEvent

KINDS = EventKind


def event(offset: int, kind: EventKind, **data: object) -> JournalEvent:
    return JournalEvent(
        sequence=offset, offset=offset, session_id="s", kind=kind, at_ms=1, run_id="r", data=data
    )


def message(offset: int, step: int, text: str) -> JournalEvent:
    return event(offset, KINDS.MESSAGE, step=step, text=text)


def text_of(frames: Iterable[StreamFrame], start: str = "") -> str:
    """What a reader of one step sees."""
    text = start
    for frame in frames:
        if frame.event == "delta":
            text += frame.data["text"]
        elif frame.event == "delta_reset":
            text = ""
    return text


def fresh() -> RunStreamState:
    return RunStreamState(position=Position())


def test_deltas_go_on_where_the_last_one_ended() -> None:
    telling = fresh()
    frames = [
        *telling.delta_frames(Spoken(step=1, text="he")),
        *telling.delta_frames(Spoken(step=1, text="hell")),
    ]
    assert [frame.data for frame in frames] == [
        {"text": "he", "step": 1},
        {"text": "ll", "step": 1},
    ]


def test_the_message_brings_what_was_not_sent_yet() -> None:
    telling = fresh()
    frames = [
        *telling.delta_frames(Spoken(step=1, text="he")),
        *telling.event_frames(message(4, 1, "hello")),
    ]
    assert text_of(frames) == "hello"
    assert telling.position == Position(offset=4)


def test_a_late_reader_gets_the_message_as_one_delta() -> None:
    (frame,) = fresh().event_frames(message(4, 1, "hello"))
    assert (frame.event, frame.data) == ("delta", {"text": "hello", "step": 1})


def test_a_new_take_voids_what_was_sent() -> None:
    telling = fresh()
    first = list(telling.delta_frames(Spoken(step=1, text="wrong")))
    again = list(telling.delta_frames(Spoken(step=1, text="right", take=1)))
    assert [frame.event for frame in again] == ["delta_reset", "delta"]
    assert text_of([*first, *again]) == "right"


@pytest.mark.parametrize("stored", ["right", "wr", "", "wrong but longer"[::-1]])
def test_a_stored_text_that_differs_is_sent_anew(stored: str) -> None:
    telling = fresh()
    frames = [
        *telling.delta_frames(Spoken(step=1, text="wrong")),
        *telling.event_frames(message(4, 1, stored)),
    ]
    assert frames[1].event == "delta_reset"
    assert text_of(frames) == stored


def test_text_of_a_step_that_stands_in_the_journal_is_not_told_again() -> None:
    telling = fresh()
    list(telling.event_frames(message(4, 1, "hello")))
    assert not list(telling.delta_frames(Spoken(step=1, text="hello")))


def test_text_that_never_became_a_message_is_taken_back_at_the_end() -> None:
    telling = fresh()
    list(telling.delta_frames(Spoken(step=1, text="half")))
    frames = list(telling.event_frames(event(5, KINDS.RUN, type="failed", status="failed")))
    assert [frame.event for frame in frames] == ["delta_reset", "run_updated"]
    assert telling.is_over


def test_an_event_in_the_middle_of_a_text_keeps_the_place_in_it() -> None:
    telling = fresh()
    list(telling.delta_frames(Spoken(step=1, text="half")))
    (frame,) = telling.event_frames(event(5, KINDS.RUN, type="resumed", status="running"))
    position = Position.parse(frame.id)
    assert (position.offset, position.chars) == (5, 4)


def test_a_text_that_starts_over_after_a_crash_is_followed_once_it_differs() -> None:
    telling = fresh()
    first = list(telling.delta_frames(Spoken(step=1, text="abc")))
    assert not list(telling.delta_frames(Spoken(step=1, text="xy")))
    rest = list(telling.delta_frames(Spoken(step=1, text="xyzw")))
    assert text_of([*first, *rest]) == "xyzw"


def test_every_event_has_the_offset_as_its_id() -> None:
    telling = fresh()
    frames = [
        *telling.event_frames(event(1, KINDS.RUN, type="accepted", status="queued", agent_id="a")),
        *telling.event_frames(event(2, KINDS.INPUT, items=[])),
        *telling.event_frames(event(3, KINDS.TOOL_CALL, step=1, name="shell")),
        *telling.event_frames(event(4, KINDS.OUTPUT, step=1, text="hi")),
    ]
    assert [(frame.event, frame.id) for frame in frames] == [
        ("run_updated", "1"),
        ("tool_call", "3"),
        ("output", "4"),
    ]


@given(
    st.text(alphabet=st.characters(), max_size=30),
    st.lists(st.integers(0, 30), max_size=6),
    st.integers(0, 5),
)
def test_a_reader_who_reconnects_anywhere_misses_and_repeats_nothing(
    text: str, cuts: list[int], lost_after: int
) -> None:
    telling = fresh()
    frames: list[StreamFrame] = []
    for cut in sorted(cuts):
        frames += telling.delta_frames(Spoken(step=1, text=text[:cut]))
    kept = frames[:lost_after]
    position = Position.parse(kept[-1].id) if kept else Position()
    again = RunStreamState(position=position)
    rest = [
        *again.delta_frames(Spoken(step=1, text=text)),
        *again.event_frames(message(9, 1, text)),
    ]
    assert text_of(rest, start=text_of(kept)) == text
    assert all(frame.event == "delta" for frame in rest)


@given(
    st.builds(
        Position,
        offset=st.integers(0, 2**40),
        step=st.integers(0, 500),
        chars=st.integers(1, 10**6),
        digest=st.integers(0, 2**32 - 1),
    )
)
def test_a_position_survives_the_way_to_the_reader_and_back(position: Position) -> None:
    assert Position.parse(str(position)) == position


@pytest.mark.parametrize("text", ["", "a", "1.2", "1.2.3.4", "-1", "1.2.3.4.5.6", "9" * 30, "²"])
def test_a_position_that_is_not_ours_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        Position.parse(text)


def told(telling: RunStreamState, *takes: str) -> list[StreamFrame]:
    """Each take said word by word."""
    frames: list[StreamFrame] = []
    for take, text in enumerate(takes):
        for end in range(len(text) + 1):
            frames += telling.delta_frames(Spoken(step=1, text=text[:end], take=take))
    return frames


@pytest.mark.parametrize("again", ["hello", "hello world"])
def test_a_new_take_that_says_the_same_again_goes_on(again: str) -> None:
    telling = fresh()
    frames = [*told(telling, "hello", again), *telling.event_frames(message(4, 1, again))]
    assert {frame.event for frame in frames} == {"delta"}
    assert text_of(frames) == again


def test_a_new_take_is_judged_once_it_is_as_long_as_what_was_sent() -> None:
    telling = fresh()
    frames = [*told(telling, "hello", "help"), *telling.event_frames(message(4, 1, "help me"))]
    assert [frame.event for frame in frames].count("delta_reset") == 1
    assert text_of(frames) == "help me"


def test_a_damaged_message_does_not_end_the_telling() -> None:
    telling = fresh()
    assert not list(telling.event_frames(event(4, KINDS.MESSAGE, damaged=True)))
    assert telling.position == Position(offset=4)


def test_half_a_character_is_not_sent() -> None:
    (frame,) = fresh().event_frames(message(4, 1, "a\ud83db"))
    assert b"ud83d" not in frame.encode()
    assert b"a\\ufffdb" in frame.encode()
