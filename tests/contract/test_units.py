"""A unit of work is one transaction: all of it stands and is told, or nothing."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import NOW, make_new_event, make_persona, make_run
from understudy.core.bell import Bell
from understudy.core.errors import DatabaseUnavailable
from understudy.core.page import PageRequest
from understudy.storage.postgres import START_LOCK, SUGGESTIONS_LOCK
from understudy.storage.unit import Units


class Oops(Exception):
    """Something went wrong in the middle."""


def write_then_fail(units: Units) -> None:
    with units.write() as unit:
        unit.personas.add(make_persona())
        unit.journal.append("s1", [make_new_event()], at_ms=NOW)
        run = make_run()
        unit.runs.add(run)
        unit.enqueue(run)
        raise Oops


def test_a_unit_that_fails_leaves_nothing(units: Units) -> None:
    with pytest.raises(Oops):
        write_then_fail(units)

    with units.read() as unit:
        assert unit.personas.get("helper") is None
        assert unit.journal.read() == ()
        assert unit.runs.page(PageRequest()).items == ()
        session = unit.sessions.get("s1")
    assert session is not None
    assert session.journal_length == 0


def lose_the_connection(units: Units, *, then_look: bool) -> None:
    with units.write() as unit:
        unit.personas.add(make_persona())
        # As somebody does to whom that failure is no reason to stop.
        with suppress(sa.exc.OperationalError):
            unit.connection.execute(sa.text("SELECT pg_terminate_backend(pg_backend_pid())"))
        if then_look:
            unit.personas.get("helper")


@pytest.mark.parametrize("then_look", [True, False])
def test_a_unit_that_overlooks_that_its_connection_is_gone_says_so(
    database: UnitsOnDatabase, *, then_look: bool
) -> None:
    if database.engine.dialect.name == "sqlite":
        pytest.skip("SQLite has no connection to lose")
    with pytest.raises(DatabaseUnavailable):
        lose_the_connection(database.units, then_look=then_look)

    with database.units.read() as unit:
        assert unit.personas.get("helper") is None


def test_a_reader_that_has_ended_reads_nothing(database: UnitsOnDatabase) -> None:
    with database.units.read() as unit:
        pass

    with pytest.raises(sa.exc.ResourceClosedError):
        unit.sessions.get("s1")


def test_a_reader_without_a_database_says_so(tmp_path: Path) -> None:
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'no' / 'such.db'}")
    units = Units(engine, enqueue=lambda *_: None, bell=Bell())
    with pytest.raises(DatabaseUnavailable), units.read() as unit:
        unit.sessions.get("s1")


async def test_a_unit_that_fails_rings_no_bell(database: UnitsOnDatabase) -> None:
    database.bell.attach(asyncio.get_running_loop())

    with pytest.raises(Oops):
        await asyncio.to_thread(write_then_fail, database.units)
    await asyncio.sleep(0.01)

    assert (database.bell.count("events"), database.bell.count("session:s1")) == (0, 0)


async def test_a_unit_that_wrote_to_a_journal_rings_after_the_commit(
    database: UnitsOnDatabase,
) -> None:
    database.bell.attach(asyncio.get_running_loop())

    with database.units.write() as unit:
        unit.journal.append("s1", [make_new_event()], at_ms=NOW)
        await asyncio.sleep(0.01)
        assert database.bell.count("events") == 0
    await asyncio.sleep(0.01)

    assert database.bell.count("events") == 1
    assert database.bell.count("session:s1") == 1
    assert database.bell.count("session:s2") == 0


async def test_a_unit_that_wrote_to_no_journal_rings_no_bell(database: UnitsOnDatabase) -> None:
    database.bell.attach(asyncio.get_running_loop())

    with database.units.write() as unit:
        unit.personas.add(make_persona())
    await asyncio.sleep(0.01)

    assert database.bell.count("events") == 0


def test_a_failed_unit_does_not_spoil_the_next_one(units: Units) -> None:
    for _ in range(40):  # more than the pool has connections
        with pytest.raises(Oops):
            write_then_fail(units)

    with units.write() as unit:
        assert unit.personas.add(make_persona())


def test_a_reader_does_not_wait_for_a_writer(units: Units) -> None:
    def look() -> object:
        with units.read() as reading:
            return reading.personas.get("helper")

    with units.write() as writing, ThreadPoolExecutor(1) as elsewhere:
        writing.personas.add(make_persona())
        assert elsewhere.submit(look).result(timeout=10) is None


def test_a_unit_within_a_unit_is_refused(units: Units) -> None:
    with units.write(), pytest.raises(RuntimeError, match="pass it on"), units.read():
        pass

    with units.read() as unit:
        assert unit.personas.get("helper") is None


def test_writers_of_one_row_take_turns(units: Units) -> None:
    def rename(number: int) -> None:
        with units.write() as unit:
            session = unit.sessions.get("s1", lock=True)
            assert session is not None
            changed = type(session)(
                **{name: getattr(session, name) for name in session.__slots__}
                | {"version": session.version + 1, "thread_id": str(number)}
            )
            unit.sessions.update(changed, expected_version=session.version)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(rename, range(24)))

    with units.read() as unit:
        session = unit.sessions.get("s1")
    assert session is not None
    assert session.version == 25


def test_what_one_daemon_does_for_all_is_done_by_one_at_a_time(database: UnitsOnDatabase) -> None:
    """Who comes second does not wait; on SQLite there is only one daemon."""
    is_alone = database.engine.dialect.name == "sqlite"

    def is_free_elsewhere(lock: int) -> bool:
        with database.units.if_free(lock) as is_free:
            return is_free

    with ThreadPoolExecutor(1) as elsewhere:
        with database.units.if_free(SUGGESTIONS_LOCK) as is_free:
            assert is_free
            busy = elsewhere.submit(is_free_elsewhere, SUGGESTIONS_LOCK).result(timeout=10)
            assert busy is is_alone
            # A daemon that starts is not held up by it.
            assert elsewhere.submit(is_free_elsewhere, START_LOCK).result(timeout=10)
        assert elsewhere.submit(is_free_elsewhere, SUGGESTIONS_LOCK).result(timeout=10)


def test_a_lock_is_free_again_after_a_failure(units: Units) -> None:
    with pytest.raises(Oops), units.if_free(SUGGESTIONS_LOCK):
        raise Oops

    with units.if_free(SUGGESTIONS_LOCK) as is_free:
        assert is_free
