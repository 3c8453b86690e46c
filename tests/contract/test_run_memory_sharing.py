"""Runs of several sessions end side by side; a change of the policy waits for all of them."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.daemon import wait_for
from tests.support.factories import make_run
from tests.support.run_memory_harness import (
    RunMemoryHarness,
    archive_of,
    make_evidence,
    make_record,
)
from understudy.core.bell import Bell
from understudy.core.visibility import RowVisibility, current_visibility
from understudy.memory.capture import Capture
from understudy.memory.record import SemanticCapture
from understudy.memory.retention import held_pointer, settle_held
from understudy.runs.model import RunStatus
from understudy.storage.postgres import LOCK_SPACE, RUN_MEMORIES_LOCK
from understudy.storage.revision_cache import RevisionCache
from understudy.storage.unit import Unit, Units

PATIENCE_S = 60
ON_POSTGRES = pytest.mark.parametrize(
    "migrated_url", [pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True
)
OFF = {"enabled": False}


@pytest.fixture
def archive(database: UnitsOnDatabase, tmp_path: Path) -> RunMemoryHarness:
    return archive_of(database.units, tmp_path)


@contextmanager
def ending(archive: RunMemoryHarness, run_id: str, session_id: str) -> Iterator[Unit]:
    """The last transaction of a run, which has written the memory and is not committed."""
    archive.end_run(run_id, session_id)
    record = make_record(run_id, session_id, recorded_at_ms=archive.clock.now_ms())
    with archive.units.write() as unit:
        archive.keeper.keep(unit, record, make_evidence(run_id), is_first=False)
        yield unit


def is_waited_for(database: UnitsOnDatabase) -> bool:
    """Whether somebody waits for the lock of the run memories."""
    query = sa.text(
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory'"
        " AND classid = :space AND objid = :number"
    )
    with database.engine.connect() as connection:
        values = {"space": LOCK_SPACE, "number": RUN_MEMORIES_LOCK}
        return bool(connection.execute(query, values).scalar())


@ON_POSTGRES
def test_runs_of_two_sessions_end_without_waiting_for_each_other(
    archive: RunMemoryHarness,
) -> None:
    with ThreadPoolExecutor(1) as pool, ending(archive, "run-1", "s1"):
        pool.submit(archive.keep, "run-2", "s2").result(timeout=PATIENCE_S)

    assert archive.stored() == ["run-1", "run-2"]


@ON_POSTGRES
def test_a_policy_waits_for_the_runs_that_end_and_removes_what_they_left(
    database: UnitsOnDatabase, archive: RunMemoryHarness
) -> None:
    with ThreadPoolExecutor(2) as pool:
        with ending(archive, "run-1", "s1"):
            setting: Future[None] = pool.submit(archive.set_policy, **OFF)
            wait_for(lambda: is_waited_for(database), what="the policy to wait")
            assert not setting.done()
        setting.result(timeout=PATIENCE_S)

    assert archive.stored() == archive.pointers() == []


@ON_POSTGRES
def test_a_run_that_ends_while_another_daemon_sets_the_policy_keeps_to_it(
    database: UnitsOnDatabase, archive: RunMemoryHarness
) -> None:
    """Its own copy of the policy is older: it has not heard of the change."""
    cache = RevisionCache()
    units = Units(database.engine, enqueue=lambda *_: None, bell=Bell(), cache=cache)
    here = RunMemoryHarness(units, archive.clock)
    capture = Capture(units, here.clock, here.keeper)
    with units.read() as unit:
        assert unit.revisions.latest() == unit.revisions.stored()
    run = make_run("s1", run_id="run-1", status=RunStatus.COMPLETED, finished_at_ms=1)
    begun, is_set = threading.Event(), threading.Event()

    def end() -> None:
        with units.write() as unit:
            unit.runs.add(run)
            begun.set()
            assert is_set.wait(PATIENCE_S)
            assert unit.revisions.latest() != unit.revisions.stored()
            capture.ended(unit, run)

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(end)
        assert begun.wait(PATIENCE_S)
        archive.set_policy(**OFF)
        is_set.set()
        done.result(timeout=PATIENCE_S)

    assert archive.stored() == archive.pointers() == []


@ON_POSTGRES
def test_a_record_in_use_is_left_to_the_next_end_of_a_run(archive: RunMemoryHarness) -> None:
    archive.set_policy(max_tracked_per_session=1, max_prompt_entries=1)
    archive.keep_some("run-1")
    archive.clock.advance(1000)

    with ThreadPoolExecutor(1) as pool, archive.units.write() as unit:
        pointer = held_pointer(unit, "run-1")
        assert pointer is not None
        pool.submit(archive.keep, "run-2").result(timeout=PATIENCE_S)
        settle_held(unit, pointer, SemanticCapture.SKIPPED)
    assert archive.stored() == ["run-1", "run-2"]

    archive.keep_some("run-3")
    assert archive.stored() == archive.pointers() == ["run-3"]


def test_a_unit_that_shares_the_memories_does_not_get_them_alone(
    archive: RunMemoryHarness,
) -> None:
    with archive.units.write() as unit:
        unit.run_memory_index.hold()
        with pytest.raises(RuntimeError, match="alone from the start"):
            archive.keeper.forget(unit, ["run-1"])


def test_a_memory_that_another_daemon_has_made_up_for_is_not_made_again(
    archive: RunMemoryHarness,
) -> None:
    archive.end_run("run-1")
    capture = Capture(archive.units, archive.clock, archive.keeper)
    with archive.units.write() as unit:
        unit.run_memory_index.postpone("run-1", reason="full", at_ms=1)
    assert capture.catch_up() == 0
    made = archive.service.get("run-1")
    archive.clock.advance(1000)

    # As of a list that was read before.
    assert capture._make_up_for("run-1")

    assert archive.service.get("run-1") == made
    assert archive.counters.stored_total == 1


def test_a_reader_lets_go_of_stale_records_that_are_visible_to_it(
    archive: RunMemoryHarness,
) -> None:
    archive.keep_some("run-1", "run-2")
    with archive.units.read() as unit:
        run = unit.runs.get("run-1")
    assert run is not None

    for user_id, left in (("mallory", ["run-1", "run-2"]), (run.user_id, ["run-2"])):
        reset = current_visibility.set(RowVisibility(user_id=user_id))
        try:
            with archive.units.write() as unit:
                archive.keeper.drop_stale(unit, expired=["run-1"])
        finally:
            current_visibility.reset(reset)
        assert archive.stored() == sorted(archive.pointers()) == left
