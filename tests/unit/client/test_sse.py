"""Events come out whole, however their bytes arrive."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from understudy.client.streams import EventReader, ServerSentEvent


def read(*chunks: bytes) -> list[ServerSentEvent]:
    reader = EventReader()
    return [event for chunk in chunks for event in reader.feed(chunk)]


def test_an_event_has_a_name_data_and_an_id() -> None:
    (event,) = read(b"id: 7\nevent: delta\ndata: {}\n\n")

    assert event == ServerSentEvent(event="delta", data="{}", id="7")


def test_an_event_without_a_name_is_a_message() -> None:
    (event,) = read(b"data: x\n\n")

    assert (event.event, event.id) == ("message", None)


def test_several_data_lines_are_joined_by_line_breaks() -> None:
    (event,) = read(b"data: a\ndata:b\ndata:  c\n\n")

    assert event.data == "a\nb\n c"


def test_comments_unknown_fields_and_a_byte_order_mark_are_ignored() -> None:
    (event,) = read(b"\xef\xbb\xbf: hello\nfoo: bar\ndata: x\n\n: heartbeat\n\n")

    assert event.data == "x"


def test_an_id_stays_for_events_without_one() -> None:
    first, second = read(b"id: 1\ndata: a\n\ndata: b\n\n")

    assert (first.id, second.id) == ("1", "1")


def test_an_id_alone_moves_the_place_to_resume() -> None:
    reader = EventReader()

    assert list(reader.feed(b"id: 9\n\n")) == []
    assert reader.last_event_id == "9"


def test_an_event_that_broke_off_does_not_move_the_place_to_resume() -> None:
    reader = EventReader()
    list(reader.feed(b"id: 1\ndata: a\n\nid: 2\ndata: b\n"))

    assert reader.last_event_id == "1"


def test_an_id_with_a_nul_is_ignored() -> None:
    (event,) = read(b"id: a\0b\ndata: x\n\n")

    assert event.id is None


def test_retry_is_taken_when_it_is_a_number() -> None:
    reader = EventReader()
    list(reader.feed(b"retry: 250\n\nretry: soon\n\n"))

    assert reader.retry_ms == 250


def test_separators_inside_json_do_not_end_a_line() -> None:
    text = '{"text": "a\u2028b\u0085c"}'

    (event,) = read(f"data: {text}\n\n".encode())

    assert event.data == text


STREAM = (
    "\ufeffid: 1\r\nevent: delta\r\ndata: grüße\r\n\r\n"
    ": note\rid: 2\rdata: a\rdata: 漢字\r\r"
    "data: last\nretry: 5\n\n"
).encode()


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_the_cuts_between_chunks_do_not_matter(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    chunks = [STREAM[start:end] for start, end in itertools.pairwise(edges)]

    assert [(event.id, event.event, event.data) for event in read(*chunks)] == [
        ("1", "delta", "grüße"),
        ("2", "message", "a\n漢字"),
        ("2", "message", "last"),
    ]
