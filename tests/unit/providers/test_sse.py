"""Events come out the same, however the bytes were cut."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from understudy.providers.openai import EventParser

STREAM = b": hi\n\ndata: one\n\nevent: x\r\ndata:two\r\ndata: three\r\n\r\nid: 4\n\ndata: last"


def read(pieces: list[bytes]) -> list[bytes]:
    parser = EventParser()
    events = [event for piece in pieces for event in parser.feed(piece)]
    return [*events, *parser.close()]


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_events_do_not_depend_on_where_the_bytes_were_cut(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[a:b] for a, b in pairwise(edges)]
    assert read(pieces) == [b"one", b"two\nthree", b"last"]
