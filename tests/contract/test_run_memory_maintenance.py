"""The policy takes hold at once, every start puts things right, and nothing is lost meanwhile."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ADMIN, NOW, make_run
from tests.support.run_memory_harness import (
    RunMemoryHarness,
    archive_of,
    make_evidence,
    make_record,
)
from understudy.core.bell import Bell
from understudy.core.errors import Invalid, NotFound, StaleVersion
from understudy.memory.consistency import is_settled
from understudy.memory.policy import DEFAULT, RUN_MEMORY_POLICY, policy_in
from understudy.memory.record import SemanticCapture
from understudy.memory.report import MaintenanceReason, MaintenanceTrigger, report_json
from understudy.runs.model import RunStatus
from understudy.sessions.journal import EventKind, NewEvent
from understudy.storage.engine import open_engine
from understudy.storage.schema import (
    run_memories,
    run_memory_bodies,
    run_memory_scopes,
    term_entries,
)
from understudy.storage.unit import Units

ZEROS = {
    "enabled": False,
    "retention_ms": 0,
    "max_tracked_per_session": 0,
    "max_prompt_entries": 0,
}


@pytest.fixture
def archive(database: UnitsOnDatabase, tmp_path: Path) -> RunMemoryHarness:
    return archive_of(database.units, tmp_path)


def test_a_start_on_an_empty_store_has_nothing_to_tell(archive: RunMemoryHarness) -> None:
    report = archive.start()

    assert report_json(report) == {
        "checked_at_ms": NOW,
        "source": "startup",
        "index_rebuilt": True,
        "pruned_ttl_count": 0,
        "pruned_overflow_count": 0,
        "pruned_orphan_file_count": 0,
        "scan_error_count": 0,
        "prune_error_count": 0,
        "diagnostics": [],
    }


def test_a_hundred_expired_records_are_all_removed_and_some_are_told_of(
    archive: RunMemoryHarness,
) -> None:
    with archive.units.write() as unit:
        for number in range(100):
            run_id = f"run-{number}"
            unit.runs.add(make_run(run_id=run_id, status=RunStatus.FAILED, finished_at_ms=NOW))
            unit.run_memories.put(make_record(run_id))
    archive.clock.advance(DEFAULT.retention_ms + 1)

    again = archive.again()
    report = again.start()

    assert report.pruned_ttl_count == again.counters.pruned_ttl_total == 100
    assert len(report.diagnostics) == 32
    allowed = {"action", "reason", "run_id", "path", "message"}
    assert all(set(it) <= allowed for it in report_json(report)["diagnostics"])
    assert archive.stored() == archive.pointers() == archive.found_by("hello") == []


def test_a_smaller_limit_prunes_every_session_at_once(archive: RunMemoryHarness) -> None:
    archive.keep_some("run-1", "run-2", "run-3")
    archive.keep_some("run-4", "run-5", session_id="s2")

    archive.set_policy(max_tracked_per_session=1, max_prompt_entries=1)

    assert archive.pointers() + archive.pointers("s2") == ["run-3", "run-5"]
    assert archive.stored() == ["run-3", "run-5"]
    report = archive.maintenance.last()
    assert (report.source, report.pruned_overflow_count) == (MaintenanceTrigger.RUNTIME_POLICY, 3)
    assert archive.counters.pruned_overflow_total == 3


def test_what_is_to_be_learned_from_survives_a_smaller_limit(archive: RunMemoryHarness) -> None:
    archive.keep("run-1", semantic_capture=SemanticCapture.PENDING)
    archive.keep_some("run-2", "run-3")

    archive.set_policy(max_tracked_per_session=1, max_prompt_entries=1)

    assert archive.pointers() == ["run-3", "run-1"]


def test_switching_off_removes_everything_and_on_again_brings_nothing_back(
    archive: RunMemoryHarness,
) -> None:
    archive.keep_some("run-1", "run-2")

    archive.set_policy(**ZEROS)

    assert archive.stored() == archive.pointers() == []
    assert archive.counters.pruned_ttl_total == archive.maintenance.last().pruned_ttl_count == 2
    archive.set_policy(enabled=True)
    archive.start()
    assert archive.pointers() == []


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"foo": 1},
        {"retention_ms": 0},
        {"max_tracked_per_session": 0},
        {"max_prompt_entries": 0},
        {"max_prompt_entries": 5, "max_tracked_per_session": 4},
    ],
)
def test_a_wrong_policy_changes_and_prunes_nothing(
    archive: RunMemoryHarness, given: dict[str, int]
) -> None:
    archive.keep("run-1")
    before = archive.service.policy()

    with pytest.raises(Invalid) as refused:
        archive.set_policy(**given)

    assert refused.value.code == "invalid_run_memory_policy"
    assert archive.service.policy() == before
    assert archive.pointers() == ["run-1"]
    assert archive.maintenance.last().source is None


def test_a_policy_meant_for_another_revision_prunes_nothing(archive: RunMemoryHarness) -> None:
    archive.keep_some("run-1", "run-2")

    with pytest.raises(StaleVersion) as refused:
        archive.service.set_policy(
            ADMIN, {"max_tracked_per_session": 1, "max_prompt_entries": 1}, expected_revision=7
        )

    assert refused.value.code == "runtime_revision_conflict"
    assert archive.pointers() == ["run-2", "run-1"]
    assert archive.maintenance.last().source is None


def test_a_policy_survives_a_restart_and_counts_begin_anew(archive: RunMemoryHarness) -> None:
    archive.set_policy(retention_ms=7_000_000)
    archive.keep("run-1")

    again = archive.again()
    again.start()

    policy, revision = again.service.policy()
    assert (policy.retention_ms, revision.revision) == (7_000_000, 2)
    assert set(again.counters.snapshot().values()) == {0}
    with archive.units.read() as unit:
        assert policy_in(unit) == policy


def test_the_policy_of_an_earlier_revision_comes_back_and_takes_hold(
    archive: RunMemoryHarness,
) -> None:
    archive.set_policy(max_tracked_per_session=1, max_prompt_entries=1)
    archive.runtime.change(ADMIN, {"debug_level": "full"})
    archive.set_policy(max_tracked_per_session=5)
    archive.keep_some("run-1", "run-2")

    policy, revision = archive.service.roll_back_policy(ADMIN, 2, expected_revision=4)

    assert (policy.max_tracked_per_session, revision.revision) == (1, 5)
    assert (revision.setting, revision.rollback_of_revision) == ("run_memory_policy", 2)
    assert revision.document["debug_level"] == "full"
    assert archive.pointers() == archive.stored() == ["run-2"]
    assert [it.revision for _, it in archive.service.policy_revisions()] == [5, 4, 2, 1]
    policy, revision = archive.service.roll_back_policy(ADMIN, 1)
    assert policy == DEFAULT
    assert "run_memory_policy" not in revision.document
    with pytest.raises(NotFound) as missing:
        archive.service.roll_back_policy(ADMIN, 77)
    assert missing.value.code == "runtime_revision_not_found"


def test_rolling_the_whole_document_back_prunes_too(archive: RunMemoryHarness) -> None:
    archive.set_policy(max_tracked_per_session=1, max_prompt_entries=1)
    archive.set_policy(max_tracked_per_session=5)
    archive.keep_some("run-1", "run-2")

    archive.runtime.roll_back(ADMIN, None)

    assert archive.pointers() == ["run-2"]
    assert archive.maintenance.last().pruned_overflow_count == 1


def test_other_settings_do_not_look_through_the_store(archive: RunMemoryHarness) -> None:
    archive.keep("run-1")

    archive.runtime.change(ADMIN, {"debug_level": "full"})
    archive.runtime.roll_back(ADMIN, None)

    assert archive.maintenance.last().source is None


def test_the_same_policy_again_makes_no_revision(archive: RunMemoryHarness) -> None:
    _, first = archive.service.set_policy(ADMIN, RUN_MEMORY_POLICY.to_json(DEFAULT))
    _, second = archive.service.set_policy(ADMIN, RUN_MEMORY_POLICY.to_json(DEFAULT))

    assert first.revision == second.revision == 2


def test_a_look_that_is_not_committed_says_so(archive: RunMemoryHarness) -> None:
    archive.keep_some("run-1", "run-2")

    def fail() -> None:
        with archive.units.write() as unit:
            archive.maintenance.rebuild(unit, policy_in(unit), MaintenanceTrigger.STARTUP)
            raise RuntimeError("the database went away")

    with pytest.raises(RuntimeError):
        fail()

    report = archive.maintenance.last()
    assert (report.index_rebuilt, report.prune_error_count) == (False, 1)
    assert report.diagnostics[0].reason is MaintenanceReason.INDEX_REPLACE_FAILED
    assert archive.pointers() == ["run-2", "run-1"]


def test_a_change_that_is_not_committed_removes_nothing(archive: RunMemoryHarness) -> None:
    archive.keep_some("run-1", "run-2", "run-3")
    with archive.units.write() as unit:
        unit.run_memories.put(make_record("run-999"))
    strict = replace(DEFAULT, max_tracked_per_session=1)

    def fail() -> None:
        with archive.units.write() as unit:
            archive.maintenance.rebuild(unit, strict, MaintenanceTrigger.RUNTIME_POLICY)
            assert len(list(unit.run_memories.scan())) == 1
            raise RuntimeError("the database went away")

    with pytest.raises(RuntimeError):
        fail()

    assert archive.stored() == ["run-1", "run-2", "run-3", "run-999"]
    assert archive.pointers() == ["run-3", "run-2", "run-1"]
    assert archive.service.get("run-1").run_id == "run-1"
    report = archive.maintenance.last()
    assert (report.pruned_overflow_count, report.pruned_orphan_file_count) == (0, 0)
    assert len(report.diagnostics) == report.prune_error_count == 1
    assert set(archive.counters.snapshot().values()) == {0, 3}
    assert archive.start().pruned_orphan_file_count == 1


def test_the_same_policy_again_tries_what_failed_again(archive: RunMemoryHarness) -> None:
    archive.set_policy(max_tracked_per_session=5)
    before = archive.service.policy()
    archive.maintenance.failed(MaintenanceTrigger.STARTUP, RuntimeError("the disk was away"))

    archive.set_policy(max_tracked_per_session=5)

    report = archive.maintenance.last()
    assert (report.source, report.is_failed) == (MaintenanceTrigger.RUNTIME_POLICY, False)
    assert archive.service.policy() == before
    archive.clock.advance(1)
    archive.set_policy(max_tracked_per_session=5)
    assert archive.maintenance.last() is report


def test_a_roll_back_without_a_target_looks_past_other_changes(archive: RunMemoryHarness) -> None:
    with pytest.raises(NotFound) as missing:
        archive.service.roll_back_policy(ADMIN)
    assert missing.value.code == "runtime_revision_not_found"
    archive.set_policy(max_tracked_per_session=5)
    archive.set_policy(max_tracked_per_session=7)
    archive.runtime.change(ADMIN, {"debug_level": "full"})

    policy, revision = archive.service.roll_back_policy(ADMIN)

    assert (policy.max_tracked_per_session, revision.rollback_of_revision) == (5, 2)
    assert revision.document["debug_level"] == "full"


def test_a_start_without_a_database_is_told_of(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'none' / 'understudy.db'}")

    report = RunMemoryHarness(Units(engine, enqueue=lambda *_: None, bell=Bell())).start()

    assert (report.source, report.index_rebuilt) == (MaintenanceTrigger.STARTUP, False)
    assert report.diagnostics[0].message == "the database cannot be used now"
    engine.dispose()


def test_rows_that_belong_to_nothing_are_removed_as_well(database: UnitsOnDatabase) -> None:
    archive = RunMemoryHarness(Units(database.engine, enqueue=lambda *_: None, bell=database.bell))
    archive.keep_some("run-1", "run-2")
    with archive.units.write() as unit:
        unit.run_memories.put(make_record("run-999"))
        unit.connection.execute(
            sa.update(run_memory_bodies)
            .where(run_memory_bodies.c.run_id == "run-1")
            .values(body=["torn"], stamp="other")
        )

    report = archive.start()

    assert report.pruned_orphan_file_count == 2
    assert {it.run_id for it in report.diagnostics} == {"run-1", "run-999"}
    assert archive.pointers() == archive.stored() == ["run-2"]


def test_runs_that_end_while_everything_is_looked_through_are_not_lost(
    archive: RunMemoryHarness,
) -> None:
    archive.set_policy(max_tracked_per_session=1000, max_prompt_entries=1)
    names = [f"run-{worker}-{number}" for worker in range(2) for number in range(12)]
    with archive.units.write() as unit:
        for name in names:
            unit.runs.add(make_run(run_id=name, status=RunStatus.RUNNING))

    def end(worker: int) -> None:
        for number in range(12):
            run_id = f"run-{worker}-{number}"
            with archive.units.write() as unit:
                run = unit.runs.get(run_id, lock=True)
                assert run is not None
                unit.runs.close(run_id, RunStatus.COMPLETED, reason="", at_ms=NOW)
                event = NewEvent(kind=EventKind.OUTPUT, data={"text": "hi"}, run_id=run_id)
                unit.journal.append("s1", (event,), at_ms=NOW)
                archive.keeper.keep(unit, make_record(run_id), make_evidence(run_id))

    def look(_: int) -> None:
        for _ in range(6):
            archive.service.startup()
            assert not archive.maintenance.last().is_failed
            assert archive.maintenance.last().pruned_orphan_file_count == 0

    with ThreadPoolExecutor(3) as pool:
        done = [pool.submit(end, 0), pool.submit(end, 1), pool.submit(look, 0)]
        for each in done:
            each.result(timeout=60)

    assert sorted(archive.pointers()) == archive.stored() == sorted(names)
    assert archive.counters.stored_total == len(names)
    assert archive.start().diagnostics == ()


def test_a_start_that_finds_all_records_unchanged_waits_for_no_writer(
    archive: RunMemoryHarness,
) -> None:
    archive.keep_some("run-1", "run-2")
    again = archive.again()

    with archive.units.write(), ThreadPoolExecutor(1) as pool:
        report = pool.submit(again.start).result(timeout=60)

    assert (report.source, report.index_rebuilt) == (MaintenanceTrigger.STARTUP, True)
    assert again.stored() == again.pointers()[::-1] == ["run-1", "run-2"]


@pytest.mark.parametrize(
    "harm",
    [
        sa.delete(run_memory_scopes),
        sa.delete(term_entries),
        sa.update(run_memories).values(stamp="other"),
        sa.update(run_memories).values(stamp=""),
    ],
    ids=["no scopes", "no words", "another stamp", "no stamp"],
)
def test_a_start_that_finds_all_as_it_was_left_sees_what_was_not(
    archive: RunMemoryHarness, harm: sa.Executable
) -> None:
    archive.keep_some("run-1", "run-2")
    with archive.units.read() as unit:
        assert is_settled(unit, DEFAULT, now_ms=NOW)
    with archive.units.write() as unit:
        unit.connection.execute(harm)
    with archive.units.read() as unit:
        assert not is_settled(unit, DEFAULT, now_ms=NOW)

    assert not archive.again().start().is_failed
    assert sorted(archive.pointers()) == sorted(archive.found_by("hello")) == ["run-1", "run-2"]
    with archive.units.read() as unit:
        assert is_settled(unit, DEFAULT, now_ms=NOW)
        assert not is_settled(unit, DEFAULT, now_ms=NOW + DEFAULT.retention_ms + 3000)
        assert not is_settled(unit, replace(DEFAULT, max_tracked_per_session=1), now_ms=NOW)
