"""What can happen to files: a broken directory, a full disk, strangers, older names, swaps."""

import errno
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.support.factories import ADMIN, make_agent, make_run, make_session
from tests.support.run_memory_harness import (
    RunMemoryHarness,
    archive_of,
    make_evidence,
    make_record,
    safe_file,
    write_file,
)
from understudy.core.bell import Bell
from understudy.core.errors import StaleVersion, Unavailable
from understudy.memory.policy import DEFAULT
from understudy.memory.ports import Found
from understudy.memory.record import RunMemoryRecord, record_json
from understudy.memory.report import MaintenanceAction, MaintenanceReason, MaintenanceTrigger
from understudy.retrieval.recovered import recover
from understudy.runs.model import RunStatus
from understudy.storage.engine import open_engine
from understudy.storage.files import read_file
from understudy.storage.run_memory_files import FileRunMemories
from understudy.storage.unit import Units


@pytest.fixture
def archive(sqlite_template: Path, tmp_path: Path) -> Iterator[RunMemoryHarness]:
    shutil.copy(sqlite_template, tmp_path / "understudy.db")
    engine = open_engine(f"sqlite:///{tmp_path / 'understudy.db'}")
    units = Units(engine, enqueue=lambda *_: None, bell=Bell())
    with units.write() as unit:
        unit.agents.add(make_agent())
        unit.sessions.add(make_session("s1"))
        unit.sessions.add(make_session("s2"))
    yield archive_of(units, tmp_path)
    engine.dispose()


def break_store(home: Path) -> Path:
    """Put a file where the directory of records should be; answers where that went."""
    safe, aside = home / "run-memories" / "__safe", home / "aside"
    if safe.exists():
        safe.rename(aside)
    safe.parent.mkdir(exist_ok=True)
    safe.write_text("in the way")
    return aside


def mend_store(home: Path, aside: Path) -> None:
    safe = home / "run-memories" / "__safe"
    safe.unlink()
    if aside.exists():
        aside.rename(safe)


def make_undeletable(path: Path) -> None:
    """Nobody removes a directory as if it were a file, not even root."""
    path.unlink(missing_ok=True)
    (path / "inside").mkdir(parents=True)


def other_store(archive: RunMemoryHarness, files: FileRunMemories) -> RunMemoryHarness:
    """The same, with files that behave otherwise."""
    units = Units(
        archive.units.engine, enqueue=lambda *_: None, bell=Bell(), run_memories=lambda _: files
    )
    return RunMemoryHarness(units, archive.clock)


def test_a_run_ends_though_its_record_cannot_be_kept(
    archive: RunMemoryHarness, tmp_path: Path
) -> None:
    archive.end_run("run-1")
    (tmp_path / "run-memories").mkdir()
    broken = tmp_path / "run-memories" / "__safe"
    broken.write_text("in the way")
    with archive.units.write() as unit:
        kept = archive.keeper.keep(unit, make_record("run-1"), make_evidence("run-1"))

    assert not kept
    assert archive.pointers() == []
    assert archive.counters.stored_total == 0
    with archive.units.read() as unit:
        assert unit.run_memory_index.postponed(limit=5) == ("run-1",)

    broken.unlink()
    with archive.units.write() as unit:
        assert archive.keeper.keep(unit, make_record("run-1"), make_evidence("run-1"))
        assert unit.run_memory_index.postponed(limit=5) == ()


def test_what_cannot_be_removed_keeps_no_run_from_ending(
    archive: RunMemoryHarness, tmp_path: Path
) -> None:
    archive.set_policy(max_tracked_per_session=1, max_prompt_entries=1)
    archive.keep("run-1")
    stuck = safe_file(tmp_path, "run-1")
    stuck.unlink()
    (stuck / "inside").mkdir(parents=True)

    archive.keep_some("run-2")

    assert archive.pointers() == ["run-2", "run-1"]
    assert archive.counters.pruned_overflow_total == 0
    with pytest.raises(Unavailable) as refused:
        archive.service.forget(ADMIN, "run-1")
    assert refused.value.code == "run_memory_delete_failed"
    assert archive.pointers() == ["run-2", "run-1"]


def test_a_directory_that_is_gone_costs_nothing_that_was_in_it(
    archive: RunMemoryHarness, tmp_path: Path
) -> None:
    archive.keep_some("run-1", "run-2")
    safe = safe_file(tmp_path, "run-1").parent
    away = safe.rename(tmp_path / "away")

    archive.keep_some("run-3")
    assert archive.pointers() == ["run-2", "run-1"]
    assert not safe.exists()
    with pytest.raises(Unavailable), archive.units.read() as unit:
        recover(unit, "s1", "hello", DEFAULT, archive.clock.now_ms())
    report = archive.start()
    assert (report.scan_error_count, report.index_rebuilt) == (1, False)

    away.rename(safe)
    assert archive.start().index_rebuilt
    assert archive.pointers() == ["run-2", "run-1"]
    with archive.units.read() as unit:
        assert unit.run_memory_index.postponed(limit=9) == ("run-3",)
        assert unit.run_memory_index.evidence("run-1") is not None


def test_one_file_that_may_not_be_read_hides_no_other(
    archive: RunMemoryHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.keep_some("run-1", "run-2")

    def locked(directory: int, name: str, *, limit: int) -> bytes | None:
        if b"run-1".hex() in name:
            raise PermissionError(errno.EACCES, "Permission denied")
        return read_file(directory, name, limit=limit)

    monkeypatch.setattr("understudy.storage.run_memory_files.read_file", locked)
    with archive.units.read() as unit:
        assert list(unit.run_memories.readable(["run-1", "run-2"])) == ["run-2"]


def test_a_full_disk_keeps_no_run_from_ending(archive: RunMemoryHarness, tmp_path: Path) -> None:
    class FullDisk(FileRunMemories):
        def put(self, record: object) -> str:
            del record
            raise Unavailable(
                "run_memory_storage_unavailable",
                domain="run_memories",
                detail=os.strerror(errno.ENOSPC),
            )

    full = FullDisk(tmp_path / "run-memories")
    engine = archive.units.engine
    units = Units(engine, enqueue=lambda *_: None, bell=Bell(), run_memories=lambda _: full)

    RunMemoryHarness(units, archive.clock).keep("run-1")

    assert archive.stored() == archive.pointers() == []
    assert archive.service.status(0)["postponed_record_count"] == 1


def test_strangers_are_removed_at_start_and_what_belongs_stays(
    archive: RunMemoryHarness, tmp_path: Path
) -> None:
    archive.keep("run-1")
    with archive.units.write() as unit:
        unit.runs.add(make_run(run_id="run-2", status=RunStatus.WAITING_FOR_APPROVAL))
    safe = tmp_path / "run-memories" / "__safe"
    (safe / "not-a-safe-id.json").write_text("{}")
    write_file(safe_file(tmp_path, "run-999"), make_record("run-999"))
    write_file(safe_file(tmp_path, "run-2"), make_record("run-2"))
    write_file(tmp_path / "run-memories" / "run-1.json", make_record("run-1"))

    again = archive.again()
    report = again.start()

    assert [path.name for path in safe.iterdir()] == [safe_file(tmp_path, "run-1").name]
    assert sorted(path.name for path in safe.parent.iterdir()) == ["__safe"]
    assert (report.source, report.index_rebuilt) == (MaintenanceTrigger.STARTUP, True)
    assert report.pruned_orphan_file_count == again.counters.pruned_orphan_total == 4
    assert not report.is_failed
    assert {(it.action, it.reason) for it in report.diagnostics} == {
        (MaintenanceAction.DELETE_FILE, MaintenanceReason.ORPHAN_FILE)
    }
    assert sorted(it.message for it in report.diagnostics) == [
        "not the name of a run memory",
        "the run has another record",
        "the run has not ended",
        "there is no such run",
    ]
    assert again.pointers() == again.stored() == ["run-1"]


def test_leftovers_links_and_directories_are_strangers_too(
    archive: RunMemoryHarness, tmp_path: Path
) -> None:
    archive.keep("run-1")
    archive.end_run("run-2")
    safe = tmp_path / "run-memories" / "__safe"
    (safe / ".new-0123456789abcdef").write_text("half")
    safe_file(tmp_path, "run-2").symlink_to(safe_file(tmp_path, "run-1"))
    (tmp_path / "run-memories" / "empty").mkdir()

    report = archive.start()

    assert report.pruned_orphan_file_count == 2
    assert report.prune_error_count == 1
    assert report.diagnostics[0].path == "empty"
    assert archive.pointers() == ["run-1"]


@pytest.mark.parametrize(
    "content",
    [
        "{",
        json.dumps(record_json(make_record("run-2"))),
        json.dumps(record_json(make_record("run-1", "s2"))),
    ],
    ids=["torn", "of another run", "of another session"],
)
def test_a_record_that_is_not_what_it_should_be_is_removed_at_start(
    archive: RunMemoryHarness, tmp_path: Path, content: str
) -> None:
    archive.keep_some("run-1", "run-2")
    safe_file(tmp_path, "run-1").write_text(content)

    report = archive.start()

    assert (report.pruned_orphan_file_count, report.index_rebuilt) == (1, True)
    assert report.diagnostics[0].run_id == "run-1"
    assert archive.pointers() == archive.stored() == archive.in_scope() == ["run-2"]
    assert archive.found_by("hello") == archive.found_by("hello")[:1]


def test_swapped_files_are_noticed(archive: RunMemoryHarness, tmp_path: Path) -> None:
    archive.keep_some("run-1", "run-2", "run-3")
    first, second = safe_file(tmp_path, "run-1"), safe_file(tmp_path, "run-2")
    first.rename(tmp_path / "swap")
    second.rename(first)
    (tmp_path / "swap").rename(second)

    assert archive.start().pruned_orphan_file_count == 2
    assert archive.pointers() == archive.stored() == ["run-3"]


def test_a_record_under_its_older_name_moves(archive: RunMemoryHarness, tmp_path: Path) -> None:
    archive.end_run("run-1")
    archive.end_run("run-2", "s2")
    raw = tmp_path / "run-memories"
    write_file(raw / "run-1.json", make_record("run-1"))
    write_file(raw / "run-2.json", make_record("run-2"))

    report = archive.start()

    assert report.pruned_orphan_file_count == 1
    assert report.diagnostics[0].message == "the record names another session"
    assert archive.service.get("run-1") == make_record("run-1")
    assert [path.name for path in raw.iterdir()] == ["__safe"]
    assert archive.again().start().pruned_orphan_file_count == 0


def test_the_index_is_brought_to_agreement(archive: RunMemoryHarness, tmp_path: Path) -> None:
    archive.keep_some("run-1", "run-2", "run-3", "run-4")
    engine = archive.units.engine
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
        connection.exec_driver_sql(
            "INSERT INTO run_memories VALUES ('run-777', 's1', 5, 'skipped', 'x')"
        )
        connection.exec_driver_sql("DELETE FROM run_memories WHERE run_id = 'run-1'")
        connection.exec_driver_sql("UPDATE run_memories SET session_id='s2' WHERE run_id='run-2'")
        connection.exec_driver_sql("DELETE FROM run_memory_scopes WHERE run_id = 'run-3'")
        connection.commit()
        connection.exec_driver_sql("PRAGMA foreign_keys=ON")
    safe_file(tmp_path, "run-4").unlink()

    report = archive.again().start()

    assert (report.index_rebuilt, report.is_failed, report.diagnostics) == (True, False, ())
    assert archive.pointers() == archive.in_scope() == ["run-3", "run-2", "run-1"]
    assert archive.pointers("s2") == []
    assert len(archive.found_by("hello")) == 3


def test_what_has_not_changed_is_not_read_again(archive: RunMemoryHarness, tmp_path: Path) -> None:
    archive.keep_some("run-1", "run-2")
    archive.start()
    read: list[str] = []

    class Watched(FileRunMemories):
        def readable(self, run_ids: Sequence[str]) -> dict[str, RunMemoryRecord]:
            read.extend(run_ids)
            return super().readable(run_ids)

    watched = Watched(tmp_path / "run-memories")
    units = Units(
        archive.units.engine, enqueue=lambda *_: None, bell=Bell(), run_memories=lambda _: watched
    )
    RunMemoryHarness(units, archive.clock).start()
    assert read == []

    path = safe_file(tmp_path, "run-2")
    path.write_text(path.read_text().replace("hello", "hullo"))
    RunMemoryHarness(units, archive.clock).start()

    assert set(read) == {"run-2"}
    assert len(archive.found_by("hullo")) == 1


def test_a_store_that_cannot_be_listed_is_told_of_and_the_daemon_serves(
    archive: RunMemoryHarness, tmp_path: Path
) -> None:
    archive.keep("run-1")
    aside = break_store(tmp_path)

    report = archive.start()

    assert (report.scan_error_count, report.index_rebuilt) == (1, False)
    [told] = report.diagnostics
    assert (told.action, told.reason) == (MaintenanceAction.SCAN, MaintenanceReason.SCAN_FAILED)
    assert archive.pointers() == ["run-1"]

    mend_store(tmp_path, aside)
    assert not archive.start().is_failed
    assert archive.service.get("run-1").run_id == "run-1"


def test_a_policy_is_not_changed_while_the_store_cannot_be_listed(
    archive: RunMemoryHarness, tmp_path: Path
) -> None:
    archive.keep("run-1")
    before = archive.service.policy()
    aside = break_store(tmp_path)

    with pytest.raises(Unavailable) as refused:
        archive.set_policy(retention_ms=1)

    assert (refused.value.domain, refused.value.code) == (
        "runtime",
        "run_memory_maintenance_failed",
    )
    assert "listed" in refused.value.detail
    assert archive.service.policy() == before
    report = archive.maintenance.last()
    assert (report.scan_error_count, report.source) == (1, MaintenanceTrigger.RUNTIME_POLICY)
    mend_store(tmp_path, aside)
    assert archive.service.get("run-1").run_id == "run-1"


def test_a_directory_that_is_not_ours_keeps_no_policy_from_being_changed(
    archive: RunMemoryHarness, tmp_path: Path
) -> None:
    archive.keep_some("run-1", "run-2", "run-3")
    lost = tmp_path / "run-memories" / "lost+found"
    lost.mkdir()

    archive.set_policy(max_tracked_per_session=2, max_prompt_entries=1)

    report = archive.maintenance.last()
    assert (report.prune_error_count, report.index_rebuilt) == (1, True)
    first, second = report.diagnostics
    assert (first.reason, first.path) == (MaintenanceReason.DELETE_FAILED, "lost+found")
    assert (second.reason, second.run_id) == (MaintenanceReason.SESSION_OVERFLOW, "run-1")
    assert archive.pointers() == ["run-3", "run-2"]
    archive.set_policy(enabled=False)
    assert archive.pointers() == []
    assert sorted(path.name for path in lost.parent.iterdir()) == ["__safe", "lost+found"]
    lost.rmdir()
    archive.set_policy(enabled=False)
    assert not archive.maintenance.last().is_failed


def test_a_policy_is_not_changed_when_a_record_cannot_be_removed_and_nothing_is_lost(
    archive: RunMemoryHarness, tmp_path: Path
) -> None:
    archive.keep_some("run-1", "run-2", "run-3")
    write_file(safe_file(tmp_path, "run-999"), make_record("run-999"))
    before = archive.service.policy()

    class Stuck(FileRunMemories):
        def set_aside(self, found: Found) -> None:
            if found.run_id == "run-2":
                raise Unavailable(
                    "run_memory_delete_failed", domain="run_memories", detail="run-2 is stuck"
                )
            super().set_aside(found)

    stuck = other_store(archive, Stuck(tmp_path / "run-memories"))
    with pytest.raises(Unavailable, match="stuck") as refused:
        stuck.set_policy(max_tracked_per_session=1, max_prompt_entries=1)

    assert refused.value.code == "run_memory_maintenance_failed"
    assert archive.service.policy() == before
    report = stuck.maintenance.last()
    assert (report.prune_error_count, report.index_rebuilt) == (1, False)
    assert [(it.reason, it.run_id) for it in report.diagnostics] == [
        (MaintenanceReason.DELETE_FAILED, "run-2")
    ]
    assert archive.stored() == ["run-1", "run-2", "run-3", "run-999"]
    assert archive.pointers() == archive.in_scope() == ["run-3", "run-2", "run-1"]
    assert stuck.counters.pruned_orphan_total == stuck.counters.pruned_overflow_total == 0
    archive.set_policy(max_tracked_per_session=1, max_prompt_entries=1)
    assert archive.stored() == archive.pointers() == ["run-3"]


def test_something_stuck_in_the_place_of_an_expired_record_stops_a_change_until_a_start(
    archive: RunMemoryHarness, tmp_path: Path
) -> None:
    archive.keep_some("run-1", "run-2")
    make_undeletable(safe_file(tmp_path, "run-1"))

    with pytest.raises(Unavailable, match="directory"):
        archive.set_policy(retention_ms=500)

    report = archive.maintenance.last()
    assert (report.prune_error_count, report.diagnostics[0].run_id) == (1, "run-1")
    assert archive.pointers() == ["run-2", "run-1"]
    archive.start()
    archive.set_policy(retention_ms=500)
    assert archive.maintenance.last().prune_error_count == 1
    assert archive.pointers() == ["run-2"]


def test_what_ended_a_look_is_told_beside_what_it_only_came_upon(
    archive: RunMemoryHarness, tmp_path: Path
) -> None:
    archive.keep("run-1")
    (tmp_path / "run-memories" / "lost+found").mkdir()

    def fail() -> None:
        with archive.units.write() as unit:
            archive.maintenance.rebuild(unit, DEFAULT, MaintenanceTrigger.RUNTIME_POLICY)
            raise RuntimeError("the database went away")

    with pytest.raises(RuntimeError):
        fail()

    reasons = [it.reason for it in archive.maintenance.last().diagnostics]
    assert reasons == [MaintenanceReason.DELETE_FAILED, MaintenanceReason.INDEX_REPLACE_FAILED]


def test_what_a_crash_left_set_aside_goes_or_comes_back_as_the_index_says(
    archive: RunMemoryHarness, tmp_path: Path
) -> None:
    archive.keep_some("run-1", "run-2", "run-3")
    for run_id in ("run-1", "run-2"):
        path = safe_file(tmp_path, run_id)
        path.rename(path.with_name(f".aside-{path.name}"))
    (tmp_path / "run-memories" / ".aside-notes.txt").write_text("mine")
    with archive.units.write() as unit:
        unit.run_memory_index.forget(["run-2"])

    report = archive.again().start()

    assert (report.diagnostics, report.index_rebuilt) == ((), True)
    assert archive.stored() == ["run-1", "run-3"]
    assert archive.pointers() == ["run-3", "run-1"]
    names = [path.name for path in (tmp_path / "run-memories").rglob("*")]
    assert not [name for name in names if name.startswith(".aside-")]


def test_what_is_still_there_after_a_change_is_told_of_and_goes_at_the_next_look(
    archive: RunMemoryHarness, tmp_path: Path
) -> None:
    archive.keep_some("run-1", "run-2")

    class Slow(FileRunMemories):
        def discard(self, found: Found) -> None:
            raise Unavailable(
                "run_memory_delete_failed", domain="x", detail=f"{found.run_id} stays"
            )

    slow = other_store(archive, Slow(tmp_path / "run-memories"))
    slow.set_policy(max_tracked_per_session=1, max_prompt_entries=1)

    report = slow.maintenance.last()
    assert (report.prune_error_count, report.pruned_overflow_count) == (1, 1)
    assert report.diagnostics[0].message == "run-1 stays"
    assert archive.pointers() == archive.stored() == ["run-2"]
    assert not archive.start().is_failed
    assert len(list((tmp_path / "run-memories" / "__safe").iterdir())) == 1


def test_one_thing_that_cannot_be_removed_keeps_nothing_else_from_being_put_right(
    archive: RunMemoryHarness, tmp_path: Path
) -> None:
    archive.set_policy(retention_ms=1500)
    archive.keep_some("run-1", "run-2")
    archive.keep_some("run-3", session_id="s2")
    make_undeletable(tmp_path / "run-memories" / "__safe" / "stuck")
    make_undeletable(safe_file(tmp_path, "run-3"))

    report = archive.start()

    assert (report.pruned_ttl_count, report.prune_error_count, report.index_rebuilt) == (1, 2, True)
    assert [it.reason for it in report.diagnostics] == [
        MaintenanceReason.DELETE_FAILED,
        MaintenanceReason.DELETE_FAILED,
        MaintenanceReason.TTL_EXPIRED,
    ]
    assert archive.pointers() == ["run-2"]
    assert archive.pointers("s2") == []


def test_a_roll_back_that_cannot_take_hold_is_not_made(
    archive: RunMemoryHarness, tmp_path: Path
) -> None:
    archive.set_policy(max_tracked_per_session=1, max_prompt_entries=1)
    archive.set_policy(max_tracked_per_session=5, max_prompt_entries=1)
    archive.keep_some("run-1", "run-2")
    aside = break_store(tmp_path)

    with pytest.raises(Unavailable, match="was not changed"):
        archive.runtime.roll_back(ADMIN, 2)

    mend_store(tmp_path, aside)
    assert archive.service.policy()[1].revision == 3
    assert archive.pointers() == ["run-2", "run-1"]


def test_a_damaged_policy_neither_stops_the_daemon_nor_comes_back(
    archive: RunMemoryHarness,
) -> None:
    archive.set_policy(max_tracked_per_session=5, max_prompt_entries=1)
    archive.keep("run-1")
    with archive.units.write() as unit:
        unit.connection.execute(
            sa.text("""UPDATE runtime_revisions SET document = '{"run_memory_policy": ["torn"]}'""")
        )

    assert not archive.start().is_failed
    assert archive.pointers() == ["run-1"]
    archive.set_policy(max_tracked_per_session=4, max_prompt_entries=1)
    with pytest.raises(Exception, match="must be an object"):
        archive.runtime.roll_back(ADMIN, 2)
    with pytest.raises(StaleVersion):
        archive.runtime.roll_back(ADMIN, 2, expected_revision=2)


def test_a_file_that_was_changed_in_place_is_read_anew(tmp_path: Path) -> None:
    store = FileRunMemories(tmp_path / "run-memories")
    store.put(make_record("run-1"))
    before, path = store.readable(["run-1"]), safe_file(tmp_path, "run-1")
    seen = path.stat()

    # As long as before, and made to look as old.
    path.write_text(path.read_text().replace("hello", "hullo"))
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    after = store.readable(["run-1"])
    path.write_text("{")

    assert before["run-1"].memory.request_preview == "hello"
    assert after["run-1"].memory.request_preview == "hullo"
    assert store.readable(["run-1"]) == {}
    path.unlink()
    assert store.get("run-1") is None
