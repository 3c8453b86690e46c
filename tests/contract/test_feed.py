"""The feed: the events of all sessions in the order of their commits, none missing, none twice."""

import asyncio
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.daemon import PATIENCE_S, wait_for
from tests.support.factories import ALICE, NOW, make_new_event, make_session
from tests.support.postgres import MakeDatabase
from tests.support.run_harness import make_settings
from understudy.api.sse import first_place, follow_all
from understudy.core.bell import RELEASED
from understudy.daemon.wiring import Daemon
from understudy.sessions.creation import NewSession
from understudy.sessions.journal import EventKind, FeedPlace, JournalEvent
from understudy.storage.migrate import migrate
from understudy.storage.postgres import OWN_TX
from understudy.storage.schema import journal, sessions
from understudy.storage.unit import Unit, Units
from understudy.testing.fake_model import FakeModel

WRITERS, SESSIONS, TURNS = 8, 6, 40
ON_POSTGRES = pytest.mark.parametrize(
    "migrated_url", [pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True
)


def append(units: Units, session_id: str, *kinds: EventKind) -> tuple[JournalEvent, ...]:
    events = [make_new_event(kind) for kind in kinds or (EventKind.OUTPUT,)]
    with units.write() as unit:
        return unit.journal.append(session_id, events, at_ms=NOW)


def read(units: Units, after: FeedPlace | None = None) -> tuple[JournalEvent, ...]:
    with units.read() as unit:
        return unit.feed.page(after or FeedPlace(), limit=1_000).events


@contextmanager
def older_transaction(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction of somebody else that has written something, and ends later."""
    with engine.connect() as connection, connection.begin() as transaction:
        connection.execute(sa.select(OWN_TX))
        yield connection
        if transaction.is_active:
            transaction.rollback()


def test_all_sessions_together_are_read_in_order(units: Units) -> None:
    written = [append(units, session_id)[0] for session_id in ("s1", "s2", "s1")]

    with units.read() as unit:
        first = unit.feed.page(FeedPlace(), limit=2)
        rest = unit.feed.page(first.place, limit=2)
        last = unit.feed.last_place()

    assert [*first.events, *rest.events] == written
    assert (first.more, rest.more, rest.is_held) == (True, False, False)
    assert first.place == written[1].place
    assert rest.place == last == written[-1].place
    with units.read() as unit:
        assert unit.feed.last_place(back=1) == written[1].place
        assert unit.feed.last_place(back=9) == FeedPlace()


def test_a_reader_of_some_kinds_passes_over_the_others(units: Units) -> None:
    hint, *_, last = append(units, "s1", EventKind.HINT, *[EventKind.OUTPUT] * 3)

    with units.read() as unit:
        page = unit.feed.page(FeedPlace(), kinds=[EventKind.HINT], limit=5)
        empty = unit.feed.page(page.place, kinds=[EventKind.HINT], limit=5)

    assert page.events == (hint,)
    assert page.place == empty.place == last.place
    assert empty.events == ()


def test_no_more_than_a_page_is_passed_over(units: Units) -> None:
    hints = append(units, "s1", *[EventKind.HINT, EventKind.OUTPUT] * 3)[::2]

    with units.read() as unit:
        page = unit.feed.page(FeedPlace(), kinds=[EventKind.HINT], limit=2)

    assert page.events == hints[:2]
    assert (page.more, page.place) == (True, hints[1].place)


def test_the_sessions_that_grew_are_found(units: Units) -> None:
    (old,) = append(units, "s1")
    append(units, "s2", EventKind.OUTPUT, EventKind.OUTPUT)

    with units.read() as unit:
        assert unit.feed.sessions_after(old.place) == {"s2"}
        assert unit.feed.sessions_after(FeedPlace()) == {"s1", "s2"}


def test_a_plain_place_of_an_older_version_comes_before_what_is_new(
    database: UnitsOnDatabase,
) -> None:
    old = append(database.units, "s1", EventKind.OUTPUT, EventKind.HINT)
    with database.engine.begin() as connection:
        connection.execute(sa.update(journal).values(tx=0))
    (new,) = append(database.units, "s2")

    found = read(database.units, FeedPlace.parse(str(old[0].sequence)))

    assert [event.sequence for event in found] == [old[1].sequence, new.sequence]


@ON_POSTGRES
def test_what_commits_behind_an_older_transaction_waits_for_it(database: UnitsOnDatabase) -> None:
    (before,) = append(database.units, "s1")
    with older_transaction(database.engine) as connection:
        (held,) = append(database.units, "s1")
        with database.units.read() as unit:
            page = unit.feed.page(before.place, limit=9)
            assert (page.events, page.place, page.is_held) == ((), before.place, True)
            assert unit.feed.last_place() == before.place
            # Its session is read by offset, which waits for nobody.
            assert unit.feed.sessions_after(before.place) == {"s1"}
            assert unit.journal.read(session_id="s1") == (before, held)
            holder = unit.feed.holder()
        assert holder is not None
        assert holder.pid == connection.execute(sa.select(sa.func.pg_backend_pid())).scalar()
        assert holder.age_s >= 0

    assert read(database.units, before.place) == (held,)
    with database.units.read() as unit:
        assert unit.feed.holder() is None


@ON_POSTGRES
def test_a_session_keeps_its_order_when_the_older_transaction_comes_later(
    database: UnitsOnDatabase,
) -> None:
    has_number, others_are_done = threading.Event(), threading.Event()

    def come_late() -> JournalEvent:
        with database.units.write() as unit:
            unit.connection.execute(sa.select(OWN_TX))
            has_number.set()
            assert others_are_done.wait(30)
            return unit.journal.append("s1", [make_new_event()], at_ms=NOW)[0]

    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(come_late)
        assert has_number.wait(30)
        (first,) = append(database.units, "s1")
        others_are_done.set()
        second = coming.result()

    assert (first.offset, second.offset) == (1, 2)
    assert second.tx == first.tx
    assert read(database.units) == (first, second)


@ON_POSTGRES
def test_writers_at_once_leave_no_gap_and_a_follower_misses_nothing(
    database: UnitsOnDatabase,
) -> None:
    follower_stops = threading.Event()
    with database.units.write() as unit:
        for number in range(3, SESSIONS + 1):
            unit.sessions.add(make_session(f"s{number}"))

    with ThreadPoolExecutor(WRITERS + 1) as pool:
        following = pool.submit(follow, database.units, follower_stops)
        writing = [pool.submit(write_some, database.units, number) for number in range(WRITERS)]
        committed = [event for done in writing for event in done.result()]
        follower_stops.set()
        seen = following.result()

    assert len(committed) > WRITERS * TURNS / 2
    places = [event.place for event in seen]
    assert places == sorted(set(places)) == sorted(event.place for event in committed)
    for number in range(1, SESSIONS + 1):
        offsets = [event.offset for event in seen if event.session_id == f"s{number}"]
        assert offsets == list(range(1, len(offsets) + 1))


class Undone(Exception):
    """A unit that is rolled back."""


def write_some(units: Units, number: int) -> list[JournalEvent]:
    """Write to random sessions; some units take their number early, and a tenth comes to nothing."""
    chance, committed = random.Random(number), list[JournalEvent]()
    for _ in range(TURNS):
        try:
            with units.write() as unit:
                written = write_once(unit, chance)
                if chance.random() < 0.1:
                    raise Undone
        except Undone:
            continue
        committed += written
    return committed


def write_once(unit: Unit, chance: random.Random) -> tuple[JournalEvent, ...]:
    if chance.random() < 0.5:
        unit.connection.execute(sa.select(OWN_TX))
    linger(unit, chance)
    session_id = f"s{chance.randrange(SESSIONS) + 1}"
    written = unit.journal.append(session_id, [make_new_event()] * chance.randint(1, 2), at_ms=NOW)
    linger(unit, chance)
    return written


def linger(unit: Unit, chance: random.Random) -> None:
    """Let others overtake this unit now and then."""
    unit.connection.execute(sa.select(sa.func.pg_sleep(chance.choice((0, 0, 0.002, 0.01)))))


def follow(units: Units, stops: threading.Event) -> list[JournalEvent]:
    seen: list[JournalEvent] = []
    after = FeedPlace()
    while True:
        # Asked before the page, so that the last page has everything.
        was_over = stops.is_set()
        with units.read() as unit:
            page = unit.feed.page(after, limit=7)
        seen += page.events
        after = page.place
        if was_over and not page.events and not page.is_held:
            return seen


@ON_POSTGRES
def test_a_database_from_a_server_that_was_ahead_is_read_on(database: UnitsOnDatabase) -> None:
    old = append(database.units, "s1", EventKind.OUTPUT, EventKind.HINT)
    ahead = old[0].tx + 10**9
    with database.engine.begin() as connection:
        connection.execute(sa.update(journal).values(tx=ahead))
        connection.execute(sa.update(sessions).values(journal_tx=ahead))
    assert read(database.units) == ()

    migrate(database.engine)

    (new,) = append(database.units, "s1")
    # A transaction in another database of the server holds it back, too.
    wait_for(lambda: len(read(database.units)) == 3, what="what was appended to be readable")
    assert [event.sequence for event in read(database.units)] == [
        *(event.sequence for event in old),
        new.sequence,
    ]
    assert new.tx < ahead
    with database.units.read() as unit:
        # The reader goes on where it was.
        place = unit.feed.known_place(FeedPlace(ahead, old[0].sequence))
        assert place == FeedPlace(0, old[0].sequence)
        assert unit.feed.known_place(new.place) == new.place


@ON_POSTGRES
def test_another_start_on_the_same_server_leaves_the_places(database: UnitsOnDatabase) -> None:
    (event,) = append(database.units, "s1")

    migrate(database.engine)

    assert event.tx > 0
    assert read(database.units) == (event,)


@pytest.mark.postgres
async def test_a_stream_sends_what_was_held_back_when_the_older_transaction_comes_to_nothing(
    tmp_path: Path, fake: FakeModel, make_database: MakeDatabase, prepared_database: str
) -> None:
    """Nothing rings then, and this daemon has not started: nothing polls for it either."""
    url = make_database(prepared_database)
    services = Daemon(make_settings(tmp_path, fake.url, "a", database_url=url)).services
    resources = services.resources
    resources.bell.attach(asyncio.get_running_loop())
    stream = follow_all(services, await asyncio.to_thread(first_place, services, None))
    assert (await anext(stream)).startswith(b"id: ")

    with older_transaction(resources.database):
        made = await asyncio.to_thread(services.sessions.create, ALICE, NewSession())
        coming = asyncio.ensure_future(anext(stream))
        # It looks again and again, and finds the event held back each time.
        for _ in range(3):
            seen = {RELEASED: resources.bell.count(RELEASED)}
            await resources.bell.wait(seen, timeout_s=PATIENCE_S)
            assert resources.bell.count(RELEASED) > seen[RELEASED]
        assert not coming.done()
    frame = await asyncio.wait_for(coming, PATIENCE_S)

    assert made.session_id.encode() in frame
    resources.database.dispose()
