"""Run memories with sane defaults, and run memory as a daemon puts it together."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.factories import ADMIN, NOW, ODD_TEXTS, make_run
from understudy.core.bell import Bell
from understudy.core.ids import new_id
from understudy.memory.maintenance import Maintenance, policy_hook
from understudy.memory.record import (
    Pointer,
    RunEvidence,
    RunMemory,
    RunMemoryRecord,
    SemanticCapture,
    record_json,
)
from understudy.memory.report import Counters, Report
from understudy.memory.retention import Keeper
from understudy.memory.service import RunMemoryService
from understudy.runs.model import RunStatus
from understudy.runtime.service import RuntimeService
from understudy.storage.run_memory_files import FileRunMemories
from understudy.storage.unit import Units
from understudy.testing.clock import FrozenClock

# Odd texts without those that no database takes, and no capture keeps.
KEPT_TEXTS = {
    name: text for name, text in ODD_TEXTS.items() if name not in {"NUL", "lone surrogates"}
}


def make_record(
    run_id: str | None = None, session_id: str = "s1", **fields: Any
) -> RunMemoryRecord:
    """The record of a completed run that said hello."""
    beside = {
        "scope_keys": fields.pop("scope_keys", (f"session:{session_id}", "workspace:default")),
        "semantic_capture": fields.pop("semantic_capture", SemanticCapture.SKIPPED),
    }
    values: dict[str, Any] = {
        "run_id": run_id or new_id("run"),
        "recorded_at_ms": NOW,
        "status": RunStatus.COMPLETED,
        "summary": "Request: hello\nResult: hi",
        "request_preview": "hello",
        "outcome_preview": "hi",
    }
    return RunMemoryRecord(session_id=session_id, memory=RunMemory(**(values | fields)), **beside)


def make_evidence(run_id: str, **fields: Any) -> RunEvidence:
    """What learning reads of a run that said hello."""
    return RunEvidence(run_id=run_id, **({"request": "hello", "outcome": "hi"} | fields))


@dataclass
class RunMemoryHarness:
    """Run memory on the database of a test."""

    units: Units
    clock: FrozenClock = field(default_factory=lambda: FrozenClock(NOW))
    counters: Counters = field(default_factory=Counters)
    keeper: Keeper = field(init=False)
    maintenance: Maintenance = field(init=False)
    runtime: RuntimeService = field(init=False)
    service: RunMemoryService = field(init=False)

    def __post_init__(self) -> None:
        self.keeper = Keeper(self.clock, self.counters)
        self.maintenance = Maintenance(self.clock, self.counters)
        self.runtime = RuntimeService(self.units, self.clock, (policy_hook(self.maintenance),))
        self.service = RunMemoryService(
            units=self.units,
            clock=self.clock,
            runtime=self.runtime,
            keeper=self.keeper,
            maintenance=self.maintenance,
        )

    def again(self) -> "RunMemoryHarness":
        """The same as after a restart, before it has looked at anything."""
        return RunMemoryHarness(self.units, self.clock)

    def end_run(self, run_id: str, session_id: str = "s1", **fields: Any) -> None:
        """A run that has ended, with nothing kept of it."""
        values: dict[str, Any] = {
            "status": RunStatus.COMPLETED,
            "finished_at_ms": self.clock.now_ms(),
        }
        with self.units.write() as unit:
            unit.runs.add(make_run(session_id, run_id=run_id, **(values | fields)))

    def keep(self, run_id: str, session_id: str = "s1", **fields: Any) -> RunMemoryRecord:
        """A run that ends now and is remembered, if that can be."""
        self.end_run(run_id, session_id)
        record = make_record(
            run_id, session_id, **({"recorded_at_ms": self.clock.now_ms()} | fields)
        )
        with self.units.write() as unit:
            self.keeper.keep(unit, record, make_evidence(run_id))
        return record

    def keep_some(self, *run_ids: str, session_id: str = "s1") -> None:
        """Runs that end one after another, a second apart."""
        for run_id in run_ids:
            self.clock.advance(1000)
            self.keep(run_id, session_id)

    def set_policy(self, **given: Any) -> None:
        """Another policy, as an admin sets it."""
        self.service.set_policy(ADMIN, given)

    def start(self) -> Report:
        """What every start does, and what it reports."""
        if not self.service.is_settled():
            self.service.startup()
        return self.maintenance.last()

    def pointers(self, session_id: str = "s1") -> list[str]:
        """What the index knows of a session, newest first."""
        with self.units.read() as unit:
            return _ids(unit.run_memory_index.in_session(session_id, limit=1000))

    def in_scope(self, key: str = "workspace:default") -> list[str]:
        """What the index knows of a scope, newest first."""
        with self.units.read() as unit:
            return _ids(unit.run_memory_index.in_scopes([key], limit=1000))

    def found_by(self, term: str) -> list[str]:
        """Which records hold a word."""
        with self.units.read() as unit:
            found = unit.term_index.candidates(
                "run", scopes=["workspace:default"], terms=[term], limit=1000
            )
            return sorted(it.source_id for it in found)

    def stored(self) -> list[str]:
        """Whose records are in the store."""
        with self.units.read() as unit:
            return sorted(str(found.run_id) for found in unit.run_memories.scan())


def _ids(pointers: Sequence[Pointer]) -> list[str]:
    return [pointer.run_id for pointer in pointers]


def archive_of(units: Units, home: Path) -> RunMemoryHarness:
    """Run memory as a daemon keeps it there: files beside SQLite, rows in PostgreSQL."""
    if units.engine.dialect.name == "sqlite":
        files = FileRunMemories(home / "run-memories")
        units = Units(
            units.engine, enqueue=lambda *_: None, bell=Bell(), run_memories=lambda _: files
        )
    return RunMemoryHarness(units)


def safe_file(home: Path, run_id: str) -> Path:
    """Where the record of a run is, as a file."""
    return home / "run-memories" / "__safe" / f"id-{run_id.encode().hex()}.json"


def write_file(path: Path, record: RunMemoryRecord) -> None:
    """A record as somebody else left it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record_json(record)))
