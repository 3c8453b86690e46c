"""Records are kept with all that points to them, bounded, and let go whole."""

from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ALICE, NOW, ODD_TEXTS, make_run
from tests.support.run_memory_harness import (
    KEPT_TEXTS,
    RunMemoryHarness,
    archive_of,
    make_evidence,
    make_record,
)
from understudy.core.clock import DAY_MS
from understudy.core.errors import DamagedRecord, InvalidTransition, NotFound, Unavailable
from understudy.core.page import PageRequest
from understudy.memory.record import Pointer, SemanticCapture, pointer_to
from understudy.runs.model import RunStatus
from understudy.storage.run_memory_files import FileRunMemories
from understudy.storage.run_memory_rows import SqlRunMemories
from understudy.storage.schema import run_memories, run_memory_evidence, run_memory_scopes

SMALL = {"max_tracked_per_session": 3, "max_prompt_entries": 2}


@pytest.fixture
def archive(database: UnitsOnDatabase, tmp_path: Path) -> RunMemoryHarness:
    return archive_of(database.units, tmp_path)


def rows(archive: RunMemoryHarness, table: sa.Table) -> int:
    with archive.units.read() as unit:
        return int(
            unit.connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
        )


def test_a_kept_record_is_found_by_run_session_scope_and_word(archive: RunMemoryHarness) -> None:
    record = archive.keep("run-1", summary="Request: water the roses")

    assert archive.service.get("run-1") == record
    assert archive.service.evidence("run-1") == make_evidence("run-1")
    assert archive.pointers() == archive.in_scope() == archive.in_scope("session:s1") == ["run-1"]
    assert archive.in_scope("session:s2") == archive.pointers("s2") == []
    assert len(archive.found_by("water")) == 1
    assert archive.counters.stored_total == 1


def test_a_unit_that_comes_to_nothing_counts_nothing(archive: RunMemoryHarness) -> None:
    archive.end_run("run-1")

    def fail() -> None:
        with archive.units.write() as unit:
            archive.keeper.keep(unit, make_record("run-1"), make_evidence("run-1"))
            raise RuntimeError("the database went away")

    with pytest.raises(RuntimeError):
        fail()

    assert archive.counters.stored_total == 0
    assert archive.pointers() == []


@pytest.mark.parametrize("odd", KEPT_TEXTS.values(), ids=KEPT_TEXTS)
def test_odd_texts_are_kept_and_indexed(archive: RunMemoryHarness, odd: str) -> None:
    archive.keep("run-1", summary=odd)

    assert archive.service.get("run-1").memory.summary == odd


@pytest.mark.parametrize("odd", ODD_TEXTS.values(), ids=ODD_TEXTS)
def test_odd_evidence_is_kept(archive: RunMemoryHarness, odd: str) -> None:
    archive.end_run("run-1")
    evidence = make_evidence("run-1", request=odd, outcome=odd)
    with archive.units.write() as unit:
        archive.keeper.keep(unit, make_record("run-1"), evidence)

    assert archive.service.evidence("run-1") == evidence


def test_pointers_are_newest_first_and_ties_go_by_run_id(archive: RunMemoryHarness) -> None:
    archive.keep_some("run-1")
    archive.keep("run-3")
    archive.keep("run-2")
    archive.keep_some("run-0")

    assert archive.pointers() == archive.in_scope() == ["run-0", "run-3", "run-2", "run-1"]
    with archive.units.read() as unit:
        index = unit.run_memory_index
        assert [it.run_id for it in index.in_session("s1", limit=2, skip=1)] == ["run-3", "run-2"]
        both = ["session:s1", "workspace:default", "session:s1"]
        assert [it.run_id for it in index.in_scopes(both, limit=2)] == ["run-0", "run-3"]
        assert [it.run_id for it in index.expired(before_ms=NOW + 1001, limit=9)] == [
            "run-1",
            "run-2",
            "run-3",
        ]
        assert index.expired(before_ms=NOW + 1001, limit=9, session_id="s2") == ()


def test_the_newest_stay_when_there_are_too_many(archive: RunMemoryHarness) -> None:
    archive.set_policy(**SMALL)
    archive.keep_some("run-1", "run-2", "run-3", "run-4", "run-5")
    archive.keep_some("run-9", session_id="s2")

    assert archive.pointers() == ["run-5", "run-4", "run-3"]
    assert archive.stored() == ["run-3", "run-4", "run-5", "run-9"]
    assert archive.in_scope() == ["run-9", "run-5", "run-4", "run-3"]
    assert len(archive.found_by("hello")) == 4
    assert (rows(archive, run_memory_evidence), rows(archive, run_memory_scopes)) == (4, 8)
    assert (archive.counters.pruned_overflow_total, archive.counters.pruned_ttl_total) == (2, 0)


def test_the_run_that_ends_is_remembered_though_the_clock_was_set_back(
    archive: RunMemoryHarness,
) -> None:
    archive.set_policy(max_tracked_per_session=1, max_prompt_entries=1)
    archive.keep_some("run-1")
    archive.clock.advance(-300_000)
    archive.keep("run-2")
    assert archive.service.get("run-2").run_id == "run-2"

    archive.keep("run-3")
    assert archive.pointers() == ["run-1", "run-3"]


def test_a_record_that_cannot_be_removed_stays_known(
    archive: RunMemoryHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.set_policy(max_tracked_per_session=1, max_prompt_entries=1)
    archive.keep_some("run-1")
    with monkeypatch.context() as disk:
        for store in (FileRunMemories, SqlRunMemories):
            disk.setattr(store, "delete", _refuse)
        archive.keep_some("run-2")
    assert archive.pointers() == ["run-2", "run-1"]
    assert archive.counters.pruned_overflow_total == 0

    archive.keep_some("run-3")
    assert archive.pointers() == ["run-3"]
    assert archive.counters.pruned_overflow_total == 2


def _refuse(*_: object) -> None:
    raise Unavailable("run_memory_delete_failed", detail="it cannot be removed")


def test_what_is_too_old_goes_when_a_run_of_its_session_ends(archive: RunMemoryHarness) -> None:
    archive.set_policy(retention_ms=1000)
    archive.keep("run-1")
    archive.keep("run-2", "s2")
    archive.clock.advance(1001)
    archive.keep("run-3")

    assert archive.pointers() == ["run-3"]
    assert archive.pointers("s2") == ["run-2"]
    assert (archive.counters.pruned_ttl_total, archive.counters.pruned_overflow_total) == (1, 0)


def test_what_is_too_old_and_too_many_counts_as_too_old(archive: RunMemoryHarness) -> None:
    archive.keep_some("run-1", "run-2", "run-3", "run-4")
    archive.set_policy(retention_ms=2500, max_tracked_per_session=2, max_prompt_entries=1)
    assert (archive.counters.pruned_ttl_total, archive.counters.pruned_overflow_total) == (1, 1)
    archive.clock.advance(2000)
    archive.keep("run-5")

    assert archive.pointers() == ["run-5", "run-4"]
    assert (archive.counters.pruned_ttl_total, archive.counters.pruned_overflow_total) == (2, 1)


def test_what_is_still_to_be_learned_from_is_not_too_many_for_a_day(
    archive: RunMemoryHarness,
) -> None:
    archive.set_policy(max_tracked_per_session=1, max_prompt_entries=1)
    archive.keep("run-1", semantic_capture=SemanticCapture.PENDING)
    archive.keep_some("run-2", "run-3")
    assert archive.pointers() == ["run-3", "run-1"]

    archive.clock.advance(DAY_MS)
    archive.keep_some("run-4")

    assert archive.pointers() == ["run-4"]


def test_what_has_been_learned_from_is_too_many_again(archive: RunMemoryHarness) -> None:
    archive.set_policy(max_tracked_per_session=1, max_prompt_entries=1)
    archive.keep("run-1", semantic_capture=SemanticCapture.PENDING)
    archive.keep_some("run-2")
    archive.service.settle("run-1", SemanticCapture.COMPLETED)
    archive.keep_some("run-3")

    assert archive.pointers() == ["run-3"]


@pytest.mark.parametrize("settled", [SemanticCapture.COMPLETED, SemanticCapture.SKIPPED])
def test_a_settled_receipt_survives_when_the_record_is_kept_again(
    archive: RunMemoryHarness, settled: SemanticCapture
) -> None:
    archive.keep("run-1", semantic_capture=settled)
    with archive.units.write() as unit:
        again = make_record("run-1", semantic_capture=SemanticCapture.PENDING)
        archive.keeper.keep(unit, again, make_evidence("run-1"))

    assert archive.service.get("run-1").semantic_capture is settled
    assert archive.pointers() == archive.in_scope() == ["run-1"]


def test_a_receipt_is_settled_in_the_index_and_in_the_record(archive: RunMemoryHarness) -> None:
    record = archive.keep("run-1", semantic_capture=SemanticCapture.PENDING)
    archive.keep("run-2", semantic_capture=SemanticCapture.SKIPPED)
    with archive.units.read() as unit:
        assert unit.run_memory_index.waiting(limit=5) == ("run-1",)

    archive.service.settle("run-1", SemanticCapture.COMPLETED)
    archive.service.settle("run-1", SemanticCapture.COMPLETED)

    done = replace(record, semantic_capture=SemanticCapture.COMPLETED)
    assert archive.service.get("run-1") == done
    with archive.units.read() as unit:
        assert unit.run_memory_index.waiting(limit=5) == ()
        assert unit.run_memory_index.get("run-1") == pointer_to(done)
    assert archive.start().pruned_orphan_file_count == 0
    for run_id in ("run-1", "run-2"):
        with pytest.raises(InvalidTransition):
            archive.service.settle(run_id, SemanticCapture.PENDING)
    with pytest.raises(NotFound):
        archive.service.settle("run-none", SemanticCapture.COMPLETED)


def test_a_forgotten_record_is_gone_with_everything_and_the_run_stays(
    archive: RunMemoryHarness,
) -> None:
    archive.keep("run-1")
    archive.keep("run-2", semantic_capture=SemanticCapture.PENDING)

    archive.service.forget(ALICE, "run-1")
    archive.service.forget(ALICE, "run-2")

    assert archive.stored() == archive.pointers() == archive.in_scope() == []
    assert archive.found_by("hello") == []
    assert rows(archive, run_memory_evidence) == rows(archive, run_memory_scopes) == 0
    with archive.units.read() as unit:
        assert unit.runs.get("run-1") is not None
        entries = unit.audit.page(PageRequest(limit=5), resource="run_memories", actor=None).items
    assert [(it.action, it.resource_id, it.actor) for it in entries if "forget" in it.action] == [
        ("run_memories.forget", "run-2", "alice"),
        ("run_memories.forget", "run-1", "alice"),
    ]
    for look in (archive.service.get, archive.service.evidence):
        with pytest.raises(NotFound) as missing:
            look("run-1")
        assert (missing.value.domain, missing.value.code) == (
            "run_memories",
            "run_memory_not_found",
        )
    with pytest.raises(NotFound):
        archive.service.forget(ALICE, "run-1")


def test_a_record_past_its_time_is_not_answered(archive: RunMemoryHarness) -> None:
    archive.set_policy(retention_ms=1000)
    archive.keep("run-1")
    archive.clock.advance(1000)
    assert archive.service.get("run-1").run_id == "run-1"

    archive.clock.advance(1)

    for look in (archive.service.get, archive.service.evidence):
        with pytest.raises(NotFound):
            look("run-1")


def test_a_record_of_another_session_is_damaged(archive: RunMemoryHarness) -> None:
    archive.keep("run-1")
    with archive.units.write() as unit:
        unit.run_memories.put(make_record("run-1", "s2"))

    with pytest.raises(DamagedRecord):
        archive.service.get("run-1")


def test_readers_drop_what_is_stale_and_count_it(archive: RunMemoryHarness) -> None:
    archive.keep_some("run-1", "run-2", "run-3")
    with archive.units.write() as unit:
        archive.keeper.drop_stale(unit, expired=["run-1"], unreadable=["run-2", "run-none"])

    assert archive.stored() == archive.pointers() == ["run-3"]
    counted = archive.counters.snapshot()
    assert (counted["pruned_ttl_total"], counted["skipped_unreadable_total"]) == (1, 2)


def test_the_hourly_sweep_removes_what_is_past_its_time(archive: RunMemoryHarness) -> None:
    archive.set_policy(retention_ms=2000)
    archive.keep_some("run-1", "run-2", "run-3")
    assert archive.service.sweep() == 0

    archive.clock.advance(1000)

    assert archive.service.sweep() == 1
    assert archive.stored() == ["run-2", "run-3"]
    assert archive.counters.pruned_ttl_total == 1


def test_the_status_counts_what_is_indexed_and_what_is_stale(archive: RunMemoryHarness) -> None:
    archive.set_policy(retention_ms=2000)
    archive.keep_some("run-1", "run-2")
    archive.keep_some("run-3", session_id="s2")
    archive.end_run("run-4")
    with archive.units.write() as unit:
        unit.run_memory_index.postpone("run-4", reason="disk_full", at_ms=NOW)
        unit.run_memory_index.postpone("run-4", reason="disk_full", at_ms=NOW + 1)

    status = archive.service.status(archive.clock.now_ms() + 1)

    assert status["maintenance"]["source"] == "runtime_policy"
    assert status["policy"]["retention_ms"] == 2000
    assert status["metrics"] == archive.counters.snapshot()
    assert len(status["metrics"]) == 9
    counts = {name: value for name, value in status.items() if name.endswith("_count")}
    assert counts == {
        "indexed_session_count": 2,
        "indexed_record_count": 3,
        "indexed_scope_count": 3,
        "stale_indexed_record_count": 1,
        "postponed_record_count": 1,
    }


def test_forgetting_a_postponed_record_keeps_it_from_being_made(archive: RunMemoryHarness) -> None:
    archive.end_run("run-1")
    with archive.units.write() as unit:
        unit.run_memory_index.postpone("run-1", reason="disk_full", at_ms=NOW)

    archive.service.forget(ALICE, "run-1")

    with archive.units.read() as unit:
        assert unit.run_memory_index.postponed(limit=5) == ()


def test_the_index_knows_who_owns_a_run(archive: RunMemoryHarness) -> None:
    archive.end_run("run-1", status=RunStatus.FAILED)
    with archive.units.write() as unit:
        unit.runs.add(make_run("s2", run_id="run-2", status=RunStatus.WAITING_FOR_APPROVAL))

    with archive.units.read() as unit:
        assert unit.run_memory_index.owners(["run-1", "run-2", "run-3"]) == {
            "run-1": ("s1", RunStatus.FAILED),
            "run-2": ("s2", RunStatus.WAITING_FOR_APPROVAL),
        }


def test_damaged_evidence_says_so(archive: RunMemoryHarness) -> None:
    archive.keep("run-1")
    with archive.units.write() as unit:
        unit.connection.execute(sa.text("UPDATE run_memory_evidence SET request = '{torn'"))

    with pytest.raises(DamagedRecord):
        archive.service.evidence("run-1")
    assert archive.service.get("run-1").run_id == "run-1"


def test_many_are_forgotten_at_once(archive: RunMemoryHarness) -> None:
    names = [f"run-{number:04}" for number in range(510)]
    with archive.units.write() as unit:
        for name in names:
            unit.runs.add(make_run(run_id=name, status=RunStatus.COMPLETED, finished_at_ms=NOW))
        unit.connection.execute(
            sa.insert(run_memories),
            [
                {
                    "run_id": name,
                    "session_id": "s1",
                    "recorded_at_ms": NOW,
                    "semantic_capture": "skipped",
                    "stamp": "x",
                }
                for name in names
            ],
        )
        assert unit.run_memory_index.forget(names) == 510
        assert list(unit.run_memory_index.all()) == []


def test_a_pointer_tells_what_it_knows(archive: RunMemoryHarness) -> None:
    record = archive.keep("run-1", semantic_capture=SemanticCapture.PENDING)

    with archive.units.read() as unit:
        assert unit.run_memory_index.get("run-1") == pointer_to(record)
        assert unit.run_memory_index.get("run-2") is None
        [(pointer, stamp)] = unit.run_memory_index.all()
    assert pointer == Pointer(
        run_id="run-1",
        session_id="s1",
        recorded_at_ms=NOW,
        semantic_capture=SemanticCapture.PENDING,
    )
    assert stamp
