"""The cached revision: kept until a commit changes it, never older than the last commit."""

import threading
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from tests.support.daemon import wait_for
from tests.support.factories import NOW
from understudy.core.bell import Bell
from understudy.runtime.service import Revision
from understudy.storage.announcements import Announcements
from understudy.storage.engine import open_engine
from understudy.storage.migrate import migrate
from understudy.storage.revision_cache import RevisionCache
from understudy.storage.unit import Unit, Units


def put(unit: Unit, number: int) -> None:
    revision = Revision(
        revision=number,
        updated_at_ms=NOW,
        actor="ann",
        setting="debug",
        document={"number": number},
    )
    assert unit.revisions.add(revision, keep=100)


class CountedUnits(Units):
    """Units with a cache, and the number of times that they read the table of revisions."""

    def __init__(self, engine: sa.Engine) -> None:
        super().__init__(engine, enqueue=lambda *_: None, bell=Bell(), cache=RevisionCache())
        self.reads = 0
        sa.event.listen(engine, "after_cursor_execute", self._count)

    def _count(self, *given: object) -> None:
        text = str(given[2])
        self.reads += text.startswith("SELECT") and "FROM runtime_revisions" in text

    def latest(self) -> int | None:
        with self.read() as unit:
            revision = unit.revisions.latest()
        return None if revision is None else revision.revision


@pytest.fixture
def units(database_url: str) -> Iterator[CountedUnits]:
    engine = open_engine(database_url)
    migrate(engine)
    units = CountedUnits(engine)
    with units.write() as unit:
        put(unit, 1)
    yield units
    engine.dispose()


def test_what_did_not_change_is_read_once(units: CountedUnits) -> None:
    assert [units.latest() for _ in range(3)] == [1] * 3
    assert units.reads == 1


def test_that_there_is_none_is_read_once_as_well() -> None:
    cache, loads = RevisionCache(), list[None]()
    for _ in range(2):
        assert cache.read(lambda: loads.append(None), since=cache.now()) is None
    assert len(loads) == 1


def test_a_commit_that_changes_it_is_seen_at_once(units: CountedUnits) -> None:
    units.latest()
    with units.write() as unit:
        put(unit, 2)
    assert units.latest() == 2


def test_a_unit_reads_its_own_change(units: CountedUnits) -> None:
    units.latest()
    with units.write() as unit:
        put(unit, 2)
        latest = unit.revisions.latest()
        assert latest is not None
        assert latest.revision == 2


def test_a_change_that_is_rolled_back_is_not_kept(units: CountedUnits) -> None:
    units.latest()

    def fail() -> None:
        with units.write() as unit:
            put(unit, 2)
            unit.revisions.latest()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert units.latest() == 1


def test_a_unit_that_began_before_a_change_keeps_nothing_older(units: CountedUnits) -> None:
    began, changed = threading.Event(), threading.Event()

    def read_late() -> None:
        with units.read() as unit:
            unit.connection.execute(sa.text("SELECT 1 FROM runtime_revisions"))
            began.set()
            changed.wait(30)
            unit.revisions.latest()

    reader = threading.Thread(target=read_late)
    reader.start()
    began.wait(30)
    with units.write() as unit:
        put(unit, 2)
    changed.set()
    reader.join(30)
    assert units.latest() == 2


def test_what_was_read_before_a_change_is_not_kept_after_it() -> None:
    cache = RevisionCache()
    older = Revision(revision=1, updated_at_ms=NOW, actor="ann", setting="debug", document={})

    def load() -> Revision:
        # A commit on another thread, at this moment.
        cache.changed()
        return older

    assert cache.read(load, since=cache.now()) is older
    assert cache.read(lambda: None, since=cache.now()) is None


def test_what_is_read_while_the_cache_is_off_is_not_kept() -> None:
    cache = RevisionCache(is_on=False)
    older = Revision(revision=1, updated_at_ms=NOW, actor="ann", setting="debug", document={})
    assert cache.read(lambda: older, since=cache.now()) is older

    cache.switch(is_on=True)

    assert cache.read(lambda: None, since=cache.now()) is None


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
@pytest.mark.postgres
def test_a_change_by_another_daemon_is_heard(units: CountedUnits, database_url: str) -> None:
    other = CountedUnits(open_engine(database_url))
    listener = Announcements(database_url, Bell(), units.cache)
    listener.start()
    try:
        wait_for(lambda: units.cache.is_on, what="the listener to hear")
        assert units.latest() == 1
        with other.write() as unit:
            put(unit, 2)
        wait_for(lambda: units.latest() == 2, what="the change to arrive")
    finally:
        listener.stop()
        other.engine.dispose()


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
@pytest.mark.postgres
def test_nothing_is_kept_while_nobody_hears_other_daemons(
    units: CountedUnits, database_url: str
) -> None:
    Announcements(database_url, Bell(), units.cache)
    assert [units.latest() for _ in range(3)] == [1] * 3
    assert units.reads == 3
