"""The journal: gap-free per session, never rewritten."""

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import NOW, ODD_TEXTS, make_new_event
from understudy.core.errors import NotFound
from understudy.sessions.journal import EventKind, FeedPlace, JournalEvent, NewEvent
from understudy.storage.schema import journal
from understudy.storage.unit import Units


def append(units: Units, session_id: str, *events: NewEvent) -> tuple[JournalEvent, ...]:
    with units.write() as unit:
        return unit.journal.append(session_id, events, at_ms=NOW)


def numbered(count: int) -> list[NewEvent]:
    return [make_new_event(data={"n": n}) for n in range(count)]


def test_offsets_count_from_one_without_gaps_in_each_session(units: Units) -> None:
    first = append(units, "s1", *numbered(3))
    other = append(units, "s2", *numbered(1))
    second = append(units, "s1", *numbered(2))

    assert [event.offset for event in (*first, *second)] == [1, 2, 3, 4, 5]
    assert [event.offset for event in other] == [1]


def test_what_append_answers_is_what_stands_in_the_journal(units: Units) -> None:
    event = make_new_event(EventKind.MESSAGE, run_id="r1", key="r1:model:1", data={"a": [1, None]})

    written = append(units, "s1", event)

    with units.read() as unit:
        assert unit.journal.read(session_id="s1") == written
    assert (written[0].kind, written[0].key, written[0].at_ms) == (event.kind, event.key, NOW)


def test_nothing_is_appended_to_a_session_that_is_not_there(units: Units) -> None:
    with pytest.raises(NotFound):
        append(units, "nobody", make_new_event())


def test_a_key_is_written_once_per_session(units: Units) -> None:
    append(units, "s1", make_new_event(key="k"))
    append(units, "s2", make_new_event(key="k"))
    append(units, "s1", make_new_event(), make_new_event())

    with pytest.raises(sa.exc.IntegrityError):
        append(units, "s1", make_new_event(), make_new_event(key="k"))

    with units.read() as unit:
        assert [event.offset for event in unit.journal.read(session_id="s1")] == [1, 2, 3]
    assert append(units, "s1", make_new_event())[0].offset == 4


def test_events_are_read_by_session_run_and_kind(units: Units) -> None:
    append(
        units,
        "s1",
        make_new_event(EventKind.INPUT, run_id="r1"),
        make_new_event(EventKind.OUTPUT, run_id="r1"),
        make_new_event(EventKind.OUTPUT, run_id="r2"),
    )
    append(units, "s2", make_new_event(EventKind.OUTPUT, run_id="r3"))

    with units.read() as unit:
        read = unit.journal.read
        assert [e.offset for e in read(session_id="s1")] == [1, 2, 3]
        assert [e.offset for e in read(session_id="s1", after_offset=1, limit=1)] == [2]
        assert [e.offset for e in read(run_id="r1")] == [1, 2]
        assert [e.offset for e in read(run_id="r1", after_offset=1)] == [2]
        assert [e.offset for e in read(session_id="s1", run_id="r2")] == [3]
        outputs = unit.feed.page(FeedPlace(), kinds=[EventKind.OUTPUT], limit=9)
        assert [e.run_id for e in outputs.events] == ["r1", "r2", "r3"]
        assert read(session_id="nobody") == ()


def test_reading_back_starts_at_the_newest(units: Units) -> None:
    append(units, "s1", *numbered(5), make_new_event(EventKind.RUN))

    with units.read() as unit:
        found = unit.journal.read_back("s1", before_offset=5, kinds=[EventKind.OUTPUT], limit=3)

    assert [event.offset for event in found] == [4, 3, 2]


def test_the_outputs_of_several_runs_are_found_at_once(units: Units) -> None:
    for run_id in ("r1", "r2", "r1"):
        append(units, "s1", make_new_event(run_id=run_id, data={"of": run_id}))
    append(units, "s1", make_new_event(EventKind.MESSAGE, run_id="r1"))

    with units.read() as unit:
        outputs = unit.journal.outputs(["r1", "r2", "r3"])

    assert {run_id: len(events) for run_id, events in outputs.items()} == {"r1": 2, "r2": 1}


@pytest.mark.parametrize("odd", ODD_TEXTS.values(), ids=ODD_TEXTS.keys())
def test_odd_characters_survive(units: Units, odd: str) -> None:
    append(units, "s1", make_new_event(data={"text": odd, odd: [odd]}))

    with units.read() as unit:
        [event] = unit.journal.read(session_id="s1")
    assert event.data == {"text": odd, odd: [odd]}


def test_a_damaged_event_does_not_hide_the_others(database: UnitsOnDatabase) -> None:
    append(database.units, "s1", *numbered(3))
    with database.engine.begin() as connection:
        connection.execute(sa.text("""UPDATE journal SET data = '{"half' WHERE "offset" = 2"""))

    with database.units.read() as unit:
        events = unit.journal.read(session_id="s1")

    assert [event.data for event in events] == [{"n": 0}, {}, {"n": 2}]
    assert events[1].kind is EventKind.DAMAGED


def test_ten_thousand_events_are_read_in_order_page_by_page(units: Units) -> None:
    rows = [
        {"session_id": "s1", "offset": n + 1, "kind": "output", "at_ms": NOW, "data": {"n": n}}
        for n in range(10_000)
    ]
    with units.write() as unit:
        unit.connection.execute(sa.insert(journal), rows)
    seen, after = [], 0
    while True:
        with units.read() as unit:
            batch = unit.journal.read(session_id="s1", after_offset=after, limit=1000)
        if not batch:
            break
        seen += [event.data["n"] for event in batch]
        after = batch[-1].offset

    assert seen == list(range(10_000))


def test_a_page_ends_after_so_much_data_and_goes_on_at_the_next_event(
    units: Units, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("understudy.storage.journal.PAGE_CHARS", 250)
    append(units, "s1", *[make_new_event(data={"text": "x" * 100}) for _ in range(5)])
    append(units, "s1", make_new_event(data={"text": "y" * 1000}))

    pages, after = [], 0
    with units.read() as unit:
        while True:
            page = unit.journal.page(session_id="s1", after_offset=after, limit=200)
            pages.append([event.offset for event in page.events])
            after = page.events[-1].offset
            if not page.more:
                break
        assert not unit.journal.page(session_id="s1", after_offset=after, limit=200).events

    # An event that is too large for a page stands on one of its own.
    assert pages == [[1, 2], [3, 4], [5], [6]]
