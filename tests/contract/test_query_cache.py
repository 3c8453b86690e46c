"""Cached reads: kept until a commit changes their table, never older than the last commit."""

import threading
from collections.abc import Collection, Iterator, Sequence

import pytest
import sqlalchemy as sa

from tests.support.daemon import wait_for
from tests.support.factories import make_agent
from understudy.core.bell import Bell
from understudy.storage.announcements import Announcements
from understudy.storage.engine import open_engine
from understudy.storage.migrate import migrate
from understudy.storage.query_cache import CACHED, CachedReads, QueryCache
from understudy.storage.schema import agents
from understudy.storage.unit import Unit, Units


class CountedUnits(Units):
    """Units with a cache, and the statements on the table of agents that they sent."""

    def __init__(self, engine: sa.Engine) -> None:
        self.shared = QueryCache()
        super().__init__(engine, enqueue=lambda *_: None, bell=Bell(), cache=self.shared)
        self.reads = 0
        sa.event.listen(engine, "after_cursor_execute", self._count)

    def _count(self, _c: object, _cursor: object, statement: str, *_: object) -> None:
        self.reads += statement.startswith("SELECT") and "FROM agents" in statement

    def name(self) -> str | None:
        with self.read() as unit:
            agent = unit.agents.get("a1")
        return None if agent is None else agent.display_name


@pytest.fixture
def units(database_url: str) -> Iterator[CountedUnits]:
    engine = open_engine(database_url)
    migrate(engine)
    units = CountedUnits(engine)
    with units.write() as unit:
        unit.agents.add(make_agent("a1", display_name="Ann"))
    yield units
    engine.dispose()


def test_what_is_read_while_the_cache_is_switched_off_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cache = QueryCache()
    clear = cache.changed

    def cleared(names: Collection[str]) -> None:
        clear(names)
        # A unit on another thread, at this moment.
        cache.keep("key", "result", frozenset(CACHED), since=cache.now())

    monkeypatch.setattr(cache, "changed", cleared)
    cache.switch(is_on=False)
    assert cache.find("key") is None


def test_what_did_not_change_is_read_once(units: CountedUnits) -> None:
    assert [units.name() for _ in range(3)] == ["Ann"] * 3
    assert units.reads == 1


def test_a_commit_that_changes_the_table_is_seen_at_once(units: CountedUnits) -> None:
    units.name()
    with units.write() as unit:
        unit.agents.delete("a1")
    assert units.name() is None


def test_a_unit_reads_its_own_changes(units: CountedUnits) -> None:
    units.name()
    with units.write() as unit:
        unit.agents.delete("a1")
        assert unit.agents.get("a1") is None


def test_a_change_that_is_rolled_back_is_not_kept(units: CountedUnits) -> None:
    units.name()

    def fail() -> None:
        with units.write() as unit:
            unit.agents.delete("a1")
            unit.agents.get("a1")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert units.name() == "Ann"


def test_a_unit_that_began_before_a_change_keeps_nothing_older(units: CountedUnits) -> None:
    began, changed = threading.Event(), threading.Event()

    def read_late() -> None:
        with units.read() as unit:
            unit.connection.execute(sa.text("SELECT 1 FROM agents"))
            began.set()
            changed.wait(30)
            unit.agents.get("a1")

    reader = threading.Thread(target=read_late)
    reader.start()
    began.wait(30)
    with units.write() as unit:
        unit.agents.delete("a1")
    changed.set()
    reader.join(30)
    assert units.name() is None


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
@pytest.mark.postgres
def test_a_change_by_another_daemon_is_heard(units: CountedUnits, database_url: str) -> None:
    other = CountedUnits(open_engine(database_url))
    listener = Announcements(database_url, Bell(), units.cache or QueryCache())
    listener.start()
    try:
        wait_for(lambda: units.cache and units.cache.is_on, what="the listener to hear")
        assert units.name() == "Ann"
        with other.write() as unit:
            unit.agents.delete("a1")
        wait_for(lambda: units.name() is None, what="the change to arrive")
    finally:
        listener.stop()
        other.engine.dispose()


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
@pytest.mark.postgres
def test_nothing_is_kept_while_nobody_hears_other_daemons(
    units: CountedUnits, database_url: str
) -> None:
    Announcements(database_url, Bell(), units.cache or QueryCache())
    assert [units.name() for _ in range(3)] == ["Ann"] * 3
    assert units.reads == 3


def test_results_by_key_are_read_once_and_anew_after_a_change(units: CountedUnits) -> None:
    asked: list[list[str]] = []

    def names(unit: Unit, cached: CachedReads, *ids: str) -> dict[str, str]:
        def load(some: Sequence[str]) -> dict[str, str]:
            asked.append(list(some))
            rows = unit.connection.execute(sa.select(agents).where(agents.c.agent_id.in_(some)))
            return {row.agent_id: row.display_name for row in rows}

        return cached.each("names", agents, ids, load)

    def reads(unit: Unit) -> CachedReads:
        return CachedReads(unit.connection, units.shared, units.shared.now())

    with units.read() as unit:
        assert names(unit, reads(unit), "a1", "a2") == {"a1": "Ann"}
        assert names(unit, reads(unit), "a2", "a1") == {"a1": "Ann"}
    with units.write() as unit:
        own = reads(unit)
        unit.agents.add(make_agent("a2", display_name="Bea"))
        assert names(unit, own, "a2") == {"a2": "Bea"}
    with units.read() as unit:
        assert names(unit, reads(unit), "a2") == names(unit, reads(unit), "a2") == {"a2": "Bea"}
    assert asked == [["a1", "a2"], ["a2"], ["a2"]]


def test_a_unit_older_than_a_change_shares_no_results_by_key(units: CountedUnits) -> None:
    before = units.shared.now()
    with units.write() as unit:
        unit.agents.delete("a1")
    with units.read() as unit:
        late = CachedReads(unit.connection, units.shared, before)
        assert late.each("names", agents, ["a1"], lambda _: {"a1": "Ann"}) == {"a1": "Ann"}
        fresh = CachedReads(unit.connection, units.shared, units.shared.now())
        assert fresh.each("names", agents, ["a1"], lambda _: {}) == {}
