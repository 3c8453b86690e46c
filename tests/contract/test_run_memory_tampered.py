"""Records that somebody else changed: they are left out everywhere, and stop nothing."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import make_agent, make_session
from tests.support.run_harness import no_skills
from tests.support.run_memory_harness import (
    RunMemoryHarness,
    archive_of,
    make_record,
    safe_file,
    write_file,
)
from understudy.core.bell import Bell
from understudy.core.clock import DAY_MS
from understudy.core.errors import DamagedRecord
from understudy.core.page import PageRequest
from understudy.memory.policy import policy_in
from understudy.memory.record import RunMemoryRecord, record_json
from understudy.memory.report import MaintenanceReason as Told
from understudy.retrieval.inspection import MemoryInspection, Reader
from understudy.retrieval.recovered import RunReason, recover
from understudy.storage.engine import open_engine
from understudy.storage.run_memory_files import FileRunMemories
from understudy.storage.schema import run_memory_bodies
from understudy.storage.unit import Units


@pytest.fixture
def archive(database: UnitsOnDatabase, tmp_path: Path) -> RunMemoryHarness:
    return archive_of(database.units, tmp_path)


@pytest.fixture
def files(sqlite_template: Path, tmp_path: Path) -> Iterator[RunMemoryHarness]:
    shutil.copy(sqlite_template, tmp_path / "understudy.db")
    engine = open_engine(f"sqlite:///{tmp_path / 'understudy.db'}")
    units = Units(engine, enqueue=lambda *_: None, bell=Bell())
    with units.write() as unit:
        unit.agents.add(make_agent())
        unit.sessions.add(make_session("s1"))
    yield archive_of(units, tmp_path)
    engine.dispose()


def tamper(archive: RunMemoryHarness, home: Path, run_id: str, body: dict[str, Any]) -> None:
    """Put something else where a record stands."""
    if archive.units.engine.dialect.name == "sqlite":
        safe_file(home, run_id).write_text(json.dumps(body))
        return
    with archive.units.write() as unit:
        unit.connection.execute(
            run_memory_bodies.update()
            .where(run_memory_bodies.c.run_id == run_id)
            .values(body=body, stamp="another")
        )


def changed(archive: RunMemoryHarness, run_id: str, **fields: Any) -> dict[str, Any]:
    """The record of a run with something else in it."""
    body = record_json(make_record(run_id, recorded_at_ms=archive.clock.now_ms()))
    memory = {**body["memory"], **fields.pop("memory", {})}
    return {**body, **fields, "memory": memory}


UNREADABLE: dict[str, dict[str, Any]] = {
    "half a pair in a scope": {"scope_keys": ["session:s1", "a\ud800"]},
    "NUL in a scope": {"scope_keys": ["session:s1", "a\0"]},
    "half a pair in the summary": {"memory": {"summary": "\ud800"}},
    "NUL in the summary": {"memory": {"summary": "a\0"}},
    "too long": {"memory": {"summary": "x" * 482}},
    "not ended": {"memory": {"status": "running"}},
    "the scope of another session": {"scope_keys": ["session:s2"]},
    "the session of another": {"session_id": "s2", "scope_keys": ["session:s2"]},
}


@pytest.mark.parametrize("wrong", UNREADABLE.values(), ids=UNREADABLE)
def test_a_record_that_capture_would_not_make_goes_when_the_policy_changes(
    archive: RunMemoryHarness, tmp_path: Path, wrong: dict[str, Any]
) -> None:
    archive.keep_some("run-1", "run-2")
    tamper(archive, tmp_path, "run-1", changed(archive, "run-1", **wrong))

    archive.set_policy(retention_ms=7_000_000)

    report = archive.maintenance.last()
    assert (report.pruned_orphan_file_count, report.is_failed) == (1, False)
    assert [it.run_id for it in report.diagnostics] == ["run-1"]
    assert archive.pointers() == archive.stored() == ["run-2"]


@pytest.mark.parametrize("wrong", UNREADABLE.values(), ids=UNREADABLE)
def test_list_show_search_and_prompt_agree_that_it_cannot_be_read(
    archive: RunMemoryHarness, tmp_path: Path, wrong: dict[str, Any]
) -> None:
    archive.keep_some("run-1", "run-2")
    tamper(archive, tmp_path, "run-1", changed(archive, "run-1", **wrong))

    assert_unreadable(archive, "run-1")


def test_a_record_of_a_time_to_come_is_not_believed(
    archive: RunMemoryHarness, tmp_path: Path
) -> None:
    archive.keep_some("run-1", "run-2", "run-3")
    now = archive.clock.now_ms()
    for run_id, at_ms in (("run-1", now + DAY_MS + 1), ("run-3", now + DAY_MS)):
        body = changed(archive, run_id, memory={"recorded_at_ms": at_ms})
        tamper(archive, tmp_path, run_id, body)

    # A clock that is set back makes every record look so; readers let them be.
    assert archive.service.get("run-1").run_id == "run-1"
    report = archive.start()

    assert [(it.run_id, it.message) for it in report.diagnostics] == [
        ("run-1", "the record is of a time to come")
    ]
    assert archive.pointers() == ["run-3", "run-2"]
    assert archive.stored() == ["run-2", "run-3"]


def assert_unreadable(archive: RunMemoryHarness, run_id: str) -> None:
    """Nobody is shown it, and everybody who asks for it hears why."""
    inspection = MemoryInspection(
        archive.units, archive.clock, archive.keeper, no_skills(archive.units, archive.clock)
    )
    page = inspection.records(PageRequest(), session_id="s1")
    assert [it.run_id for it in page.items if it.summary is None] == [run_id]
    with pytest.raises(DamagedRecord, match=run_id):
        archive.service.get(run_id)
    found = inspection.search(Reader(session_id="s1"), None, None)
    assert run_id not in [it.source_id for it in found.results]
    assert found.unreadable == 1
    with archive.units.read() as unit:
        told = recover(unit, "s1", "hello", policy_in(unit), archive.clock.now_ms())
    assert told.ids(RunReason.UNREADABLE) == (run_id,)


@pytest.mark.parametrize("name", ["id-eda080.json", "id-ff.json", "id-00.json", "id-.json"])
def test_a_name_that_is_no_text_is_removed(
    files: RunMemoryHarness, tmp_path: Path, name: str
) -> None:
    files.keep("run-1")
    (tmp_path / "run-memories" / "__safe" / name).touch()
    (tmp_path / "run-memories" / name).touch()

    files.set_policy(retention_ms=7_000_000)

    assert files.maintenance.last().pruned_orphan_file_count == 2
    assert files.stored() == files.pointers() == ["run-1"]
    assert not files.start().is_failed


def test_what_breaks_the_look_is_named(files: RunMemoryHarness, tmp_path: Path) -> None:
    files.keep_some("run-1", "run-2")

    class Broken(FileRunMemories):
        def put(self, record: RunMemoryRecord) -> str:
            raise ZeroDivisionError("with words of the record")

    write_file(tmp_path / "run-memories" / "run-3.json", make_record("run-3"))
    files.end_run("run-3")
    broken = Broken(tmp_path / "run-memories")
    units = Units(
        files.units.engine, enqueue=lambda *_: None, bell=Bell(), run_memories=lambda _: broken
    )

    report = RunMemoryHarness(units, files.clock).start()

    [told] = report.diagnostics
    assert (told.reason, told.run_id, told.path) == (
        Told.INDEX_REPLACE_FAILED,
        "run-3",
        "run-3.json",
    )
    assert told.message == "the change was not committed: ZeroDivisionError"
    assert files.pointers() == ["run-2", "run-1"]
