"""Use cases of run memory: read, delete, settle, set the policy, sweep, report status."""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

import structlog

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import UnderstudyError, coded_error
from understudy.core.principal import Principal
from understudy.memory.maintenance import Maintenance, enforce_policy
from understudy.memory.policy import RUN_MEMORY_POLICY, RunMemoryPolicy, policy_in
from understudy.memory.record import (
    CaptureState,
    Pointer,
    RunCapture,
    RunEvidence,
    RunMemoryRecord,
    SemanticCapture,
    doubt,
)
from understudy.memory.report import MaintenanceTrigger, report_json
from understudy.memory.retention import Keeper, newest_first, records_to_delete, settle
from understudy.runtime.policy import PolicyKind, VersionedPolicy
from understudy.runtime.service import Revision

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()

SWEEP_BATCH: Final = 200
MAX_SWEPT: Final = 100_000
# The most records that a dry run names.
MAX_NAMED: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMemoryDryRun:
    """The records that a policy would delete at once."""

    kept_count: int
    expired_count: int
    # Those beyond the limit of a session.
    overflow_count: int
    # The first of these.
    run_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMemoryService(VersionedPolicy[RunMemoryPolicy]):
    """Run memories and their policy."""

    kind: ClassVar[PolicyKind[RunMemoryPolicy]] = RUN_MEMORY_POLICY

    units: "Units"
    clock: Clock
    keeper: Keeper
    maintenance: Maintenance

    def get(self, run_id: str) -> RunMemoryRecord:
        """The record of a run, or `NotFound`, also if it is expired."""
        with self.units.read() as unit:
            pointer = self._require(unit, run_id)
            record = unit.run_memories.get(run_id)
        if record is None:
            raise coded_error("run_memories/run_memory_not_found", run_id=run_id)
        wrong = doubt(record, session_id=pointer.session_id)
        if wrong is not None:
            raise coded_error(
                "storage/record_damaged:run_memory_unusable", run_id=run_id, wrong=wrong
            )
        # A file is rewritten before the commit that settles the receipt; the index has what is
        # committed.
        return replace(record, semantic_capture=pointer.semantic_capture)

    def capture(self, run_id: str) -> RunCapture:
        """The state of a run's capture, or `NotFound`."""
        with self.units.read() as unit:
            return capture_of(unit, self._require(unit, run_id))

    def evidence(self, run_id: str) -> RunEvidence:
        """The evidence of a run, or `NotFound`."""
        with self.units.read() as unit:
            self._require(unit, run_id)
            evidence = unit.run_memory_index.evidence(run_id)
        if evidence is None:
            raise coded_error("run_memories/run_memory_not_found", run_id=run_id)
        return evidence

    def forget(self, principal: Principal, run_id: str) -> None:
        """Delete the record of a run, its evidence and index entries; the run stays."""
        with self.units.write() as unit:
            index = unit.run_memory_index
            index.hold(alone=True)
            # A postponed record is cancelled.
            was_postponed = index.clear_postponed(run_id)
            if index.get(run_id) is None and not was_postponed:
                raise coded_error("run_memories/run_memory_not_found", run_id=run_id)
            self.keeper.forget(unit, [run_id])
            at_ms = self.clock.now_ms()
            unit.audit.add(audit.done(principal, "run_memories.forget", run_id, at_ms=at_ms))

    def settle(self, run_id: str, receipt: SemanticCapture) -> None:
        """Settle the capture receipt of a run, in the index and in the record."""
        with self.units.write() as unit:
            settle(unit, run_id, receipt)

    def set_policy(
        self,
        principal: Principal,
        given: Mapping[str, Any],
        *,
        expected_revision: int | None = None,
    ) -> tuple[RunMemoryPolicy, Revision]:
        """Set the policy; records that it does not allow are deleted when this returns.

        The same policy again makes no revision, and retries failed deletions.
        """
        last = self.maintenance.last()
        # No `super()`: a dataclass with slots is another class than the one written here.
        changed = VersionedPolicy.set_policy(
            self, principal, given, expected_revision=expected_revision
        )
        if last.is_failed and self.maintenance.last() is last:
            with self.units.write() as unit:
                enforce_policy(unit, self.maintenance, policy_in(unit))
        return changed

    def dry_run(self, given: Mapping[str, Any]) -> RunMemoryDryRun:
        """The records that a policy would delete; nothing is changed."""
        policy, now = self.read(given), self.clock.now_ms()
        with self.units.read() as unit:
            known: dict[str, list[Pointer]] = defaultdict(list)
            for pointer, _ in unit.run_memory_index.all():
                known[pointer.session_id].append(pointer)
        found = [
            records_to_delete(newest_first(pointers), policy, now_ms=now)
            for pointers in known.values()
        ]
        leaving = tuple(run_id for each in found for run_id in each.run_ids)
        return RunMemoryDryRun(
            kept_count=sum(map(len, known.values())) - len(leaving),
            expired_count=sum(len(each.expired) for each in found),
            overflow_count=sum(len(each.overflow) for each in found),
            run_ids=leaving[:MAX_NAMED],
        )

    def is_settled(self) -> bool:
        """Whether a start finds all records as they were left; writers go on meanwhile."""
        # What fails here fails in `startup` as well, which reports it.
        with suppress(Exception), self.units.read() as unit:
            return self.maintenance.agrees(unit, policy_in(unit), MaintenanceTrigger.STARTUP)
        return False

    def startup(self) -> None:
        """Rebuild the index; a failure is reported and does not stop the daemon."""
        source = MaintenanceTrigger.STARTUP
        try:
            with self.units.exclusively(), self.units.write() as unit:
                report = self.maintenance.rebuild(unit, policy_in(unit), source)
        except Exception as problem:
            known = isinstance(problem, UnderstudyError)
            log.exception("run_memory.maintenance_failed", reason=str(problem), exc_info=not known)
            if self.maintenance.last().source is None:
                self.maintenance.failed(source, problem)
        else:
            quiet = log.info if report.pruned_count else log.debug
            tell = log.error if report.is_failed else quiet
            tell("run_memory.checked", **_counts(report_json(report)))

    def sweep(self) -> int:
        """Delete expired records in batches; answers how many."""
        swept = 0
        while swept < MAX_SWEPT:
            with self.units.write() as unit:
                unit.run_memory_index.hold(alone=True)
                before_ms = policy_in(unit).expired_before_ms(self.clock.now_ms())
                expired = unit.run_memory_index.expired(before_ms=before_ms, limit=SWEEP_BATCH)
                self.keeper.drop_stale(unit, expired=[it.run_id for it in expired])
            swept += len(expired)
            if len(expired) < SWEEP_BATCH:
                break
        return swept

    def status(self, now_ms: int) -> dict[str, Any]:
        """The status of run memory."""
        with self.units.read() as unit:
            policy = policy_in(unit)
            counts = unit.run_memory_index.counts(before_ms=policy.expired_before_ms(now_ms))
        return {
            "policy": RUN_MEMORY_POLICY.to_json(policy),
            "maintenance": report_json(self.maintenance.last()),
            "indexed_session_count": counts.sessions,
            "indexed_record_count": counts.records,
            "indexed_scope_count": counts.scopes,
            "stale_indexed_record_count": counts.stale,
            "postponed_record_count": counts.postponed,
            "metrics": self.keeper.counters.snapshot(),
        }

    def _require(self, unit: "Unit", run_id: str) -> Pointer:
        pointer = unit.run_memory_index.get(run_id)
        now = self.clock.now_ms()
        if pointer is None or policy_in(unit).is_expired(pointer.recorded_at_ms, now_ms=now):
            raise coded_error("run_memories/run_memory_not_found", run_id=run_id)
        return pointer


def capture_of(unit: "Unit", pointer: Pointer) -> RunCapture:
    """The capture of a run; what older daemons settled is known by the receipt alone."""
    stored = unit.run_memory_index.capture(pointer.run_id)
    if stored is not None:
        return stored
    match pointer.semantic_capture:
        case SemanticCapture.PENDING:
            attempts, error = unit.capture_queue.tries(pointer.run_id)
            state = CaptureState.FAILED if attempts and error else CaptureState.PENDING
            return RunCapture(state=state, attempts=attempts, reason=error)
        case SemanticCapture.COMPLETED:
            return RunCapture(state=CaptureState.COMPLETED)
        case SemanticCapture.SKIPPED:
            return RunCapture(state=CaptureState.OFF)


def _counts(shown: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in shown.items() if name != "diagnostics"}
