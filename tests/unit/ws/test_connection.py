"""The place in the journal that a WebSocket has sent events up to."""

import pytest

from understudy.sessions.journal import EventKind, JournalEvent
from understudy.ws.connection import MAX_RUN_EVENTS, _place


def events(*sequences: int) -> list[JournalEvent]:
    return [
        JournalEvent(
            sequence=sequence,
            session_id="s1",
            offset=sequence,
            kind=EventKind.RUN,
            data={},
            at_ms=1,
        )
        for sequence in sequences
    ]


@pytest.mark.parametrize(
    ("newest", "read", "place"),
    [
        (7, events(), 7),
        (7, events(5, 6), 7),
        # Committed after the newest was asked for: sent now, and not again.
        (7, events(6, 8), 8),
        (3, events(), 4),
        (9_999, events(*range(5, 5 + MAX_RUN_EVENTS)), 4 + MAX_RUN_EVENTS),
    ],
    ids=["nothing", "older", "committed between", "before the place", "more than a batch"],
)
def test_no_event_is_sent_twice_and_none_is_passed_over(
    newest: int, read: list[JournalEvent], place: int
) -> None:
    assert _place(4, newest, read) == place
