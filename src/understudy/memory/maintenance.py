"""Maintenance of run memories: at startup and on a policy change, delete what may not be kept."""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

import structlog

from understudy.core.batches import batches
from understudy.core.clock import Clock
from understudy.core.errors import Unavailable, UnderstudyError, coded_error
from understudy.memory.consistency import Orphan, Survey, is_settled, survey
from understudy.memory.policy import RUN_MEMORY_POLICY, RunMemoryPolicy
from understudy.memory.ports import Found
from understudy.memory.record import Pointer, RunMemoryRecord
from understudy.memory.report import (
    Counters,
    MaintenanceAction,
    MaintenanceReason,
    MaintenanceTrigger,
    Report,
    ReportTally,
)
from understudy.runtime.service import Revision

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

log = structlog.get_logger()

MESSAGES: Final = {
    MaintenanceReason.TTL_EXPIRED: "past its time",
    MaintenanceReason.SESSION_OVERFLOW: "beyond what a session may have",
}

NOTHING: Final = Found(path=None, run_id=None)


@dataclass(slots=True)
class Maintenance:
    """Rebuilds the index of run memories, and keeps the report of the last rebuild."""

    clock: Clock
    counters: Counters
    _last: Report = field(default_factory=Report)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def last(self) -> Report:
        """The report of the last rebuild."""
        with self._lock:
            return self._last

    def agrees(self, unit: "Unit", policy: RunMemoryPolicy, source: MaintenanceTrigger) -> bool:
        """Whether a rebuild has nothing to change; this is reported as one, and needs no lock."""
        tally = ReportTally(self.clock.now_ms(), source)
        if not is_settled(unit, policy, now_ms=tally.checked_at_ms):
            return False
        self._hold(tally.report(index_rebuilt=True))
        return True

    def rebuild(self, unit: "Unit", policy: RunMemoryPolicy, source: MaintenanceTrigger) -> Report:
        """Delete records that may not be kept, and index all others.

        Raises `Unavailable` with nothing changed if the store cannot be listed or a record cannot
        be deleted. At startup a failed deletion is only reported, so that one bad file does not
        block the rebuild.
        """
        tally = ReportTally(self.clock.now_ms(), source)
        work = _Rebuild(unit, policy, tally, goes_on=source is MaintenanceTrigger.STARTUP)
        unit.after_commit(partial(self._done, work))
        unit.after_rollback(partial(self._undone, work))
        try:
            work.do()
        except BaseException:
            # Under the lock: to a reader, a record that is set aside would be lost.
            work.put_back()
            raise
        return tally.report(index_rebuilt=True)

    def failed(self, source: MaintenanceTrigger, problem: Exception) -> None:
        """Report a failure before the scan."""
        tally = ReportTally(self.clock.now_ms(), source)
        tally.add(
            MaintenanceAction.REPLACE_INDEX, MaintenanceReason.INDEX_REPLACE_FAILED, _told(problem)
        )
        self._hold(tally.report(index_rebuilt=False))

    def _hold(self, report: Report) -> None:
        with self._lock:
            self._last = report

    def _done(self, work: "_Rebuild") -> None:
        work.discard()
        report = work.tally.report(index_rebuilt=True)
        self._hold(report)
        self.counters.add(
            pruned_ttl_total=report.pruned_ttl_count,
            pruned_overflow_total=report.pruned_overflow_count,
            pruned_orphan_total=report.pruned_orphan_file_count,
        )

    def _undone(self, work: "_Rebuild", problem: BaseException) -> None:
        tally = work.tally
        work.put_back()
        tally.take_back()
        if not work.has_told:
            tally.add(
                MaintenanceAction.REPLACE_INDEX,
                MaintenanceReason.INDEX_REPLACE_FAILED,
                f"the change was not committed: {_told(problem)}",
                run_id=work.at.run_id,
                path=work.at.path,
            )
        self._hold(tally.report(index_rebuilt=False))


@dataclass(slots=True)
class _Rebuild:
    """One rebuild, from the scan to the index."""

    unit: "Unit"
    policy: RunMemoryPolicy
    tally: ReportTally
    # Whether a failed deletion is only reported.
    goes_on: bool
    # The record in work, for the report of an unexpected error.
    at: Found = NOTHING
    # Whether the error that ended the rebuild is in the report already.
    has_told: bool = False
    # Records set aside, which are deleted after the commit.
    _aside: list[Found] = field(default_factory=list)
    _gone: set[str] = field(default_factory=set)

    def do(self) -> None:
        """Scan, delete, index; answers the report."""
        self.unit.run_memory_index.hold(alone=True)
        found = self._survey()
        if found is None:
            return
        for orphan in found.orphans:
            self._remove_orphan(orphan, found)
        leaving = found.records_to_delete(self.policy, now_ms=self.tally.checked_at_ms)
        self._remove(leaving.expired, found, MaintenanceReason.TTL_EXPIRED)
        self._remove(leaving.overflow, found, MaintenanceReason.SESSION_OVERFLOW)
        self._agree(found)
        self.at = NOTHING

    def discard(self) -> None:
        """Delete the records that were set aside."""
        for found in self._aside:
            self._try(MaintenanceAction.DELETE_FILE, self.unit.run_memories.discard, found)

    def put_back(self) -> None:
        """Restore the records that were set aside."""
        while self._aside:
            self._put_back(self._aside.pop())

    def _put_back(self, found: Found) -> None:
        try:
            self.unit.run_memories.put_back(found)
        except Unavailable as problem:
            # The next rebuild restores it: the index still points there.
            log.warning("run_memory.left_aside", run_id=found.run_id, reason=problem.detail)

    def _survey(self) -> Survey | None:
        """What the store, the index and the runs hold; None where there is nothing to change."""
        now = self.tally.checked_at_ms
        try:
            if is_settled(self.unit, self.policy, now_ms=now):
                return None
            self._settle_leftovers()
            return survey(self.unit, now_ms=now)
        except Unavailable as problem:
            self.tally.add(MaintenanceAction.SCAN, MaintenanceReason.SCAN_FAILED, problem.detail)
            self.has_told = True
            raise

    def _settle_leftovers(self) -> None:
        """Delete or restore records that a crash left set aside, as the index says."""
        for found in self.unit.run_memories.left_aside():
            run_id = found.run_id
            if run_id is not None and self.unit.run_memory_index.get(run_id) is not None:
                self._put_back(found)
            else:
                self._try(MaintenanceAction.DELETE_FILE, self.unit.run_memories.discard, found)

    def _remove(self, pointers: Iterable[Pointer], seen: Survey, reason: MaintenanceReason) -> None:
        for pointer in pointers:
            run_id = pointer.run_id
            self._gone.add(run_id)
            record = seen.record_of(run_id)
            if self._set_aside(MaintenanceAction.DELETE_RECORD, record, goes_on=self.goes_on):
                self.tally.add(
                    MaintenanceAction.DELETE_RECORD, reason, MESSAGES[reason], run_id=run_id
                )

    def _remove_orphan(self, orphan: Orphan, seen: Survey) -> None:
        found = orphan.found
        goes_on = self.goes_on or not self._is_in_place_of_expired(found, seen)
        if self._set_aside(MaintenanceAction.DELETE_FILE, found, goes_on=goes_on):
            self.tally.add(
                MaintenanceAction.DELETE_FILE,
                MaintenanceReason.ORPHAN_FILE,
                orphan.message,
                run_id=found.run_id,
                path=found.path,
            )

    def _is_in_place_of_expired(self, found: Found, seen: Survey) -> bool:
        """Whether it stands in the place of a record that is to be deleted."""
        pointer = None if found.is_legacy else seen.indexed.get(found.run_id or "")
        now = self.tally.checked_at_ms
        return pointer is not None and self.policy.is_expired(pointer.recorded_at_ms, now_ms=now)

    def _set_aside(self, action: MaintenanceAction, found: Found, *, goes_on: bool) -> bool:
        problem = self._try(action, self.unit.run_memories.set_aside, found)
        if problem is None:
            self._aside.append(found)
        elif not goes_on:
            self.has_told = True
            raise problem
        return problem is None

    def _try(
        self, action: MaintenanceAction, act: Callable[[Found], None], found: Found
    ) -> Unavailable | None:
        self.at = found
        try:
            act(found)
        except Unavailable as problem:
            reason = MaintenanceReason.DELETE_FAILED
            self.tally.add(action, reason, problem.detail, run_id=found.run_id, path=found.path)
            return problem
        return None

    def _agree(self, found: Survey) -> None:
        """Update the index by its difference to the records that are left."""
        left = {pointer.run_id for pointer in found.pointers()} - self._gone
        self.unit.run_memory_index.forget(sorted(found.indexed.keys() - left))
        for some in batches([run_id for run_id in found.changed if run_id in left]):
            for run_id, record in self.unit.run_memories.readable(some).items():
                self._point(record, found.changed[run_id][1])

    def _point(self, record: RunMemoryRecord, found: Found) -> None:
        self.at = found
        try:
            # A record under its legacy name moves.
            stamp = self.unit.run_memories.put(record) if found.is_legacy else found.stamp
        except Unavailable as problem:
            self.tally.add(
                MaintenanceAction.REPLACE_INDEX,
                MaintenanceReason.INDEX_REPLACE_FAILED,
                problem.detail,
                run_id=record.run_id,
                path=found.path,
            )
            if not self.goes_on:
                self.has_told = True
                raise
        else:
            self.unit.run_memory_index.add(record, stamp=stamp)


def _told(problem: BaseException) -> str:
    """The message of an error; of an unexpected one its type, as its text may quote content."""
    return problem.detail if isinstance(problem, UnderstudyError) else type(problem).__name__


def policy_hook(maintenance: Maintenance) -> Callable[["Unit", Revision, Revision], None]:
    """The hook that the runtime service calls in the transaction of a new revision."""

    def enforce(unit: "Unit", before: Revision, after: Revision) -> None:
        setting = RUN_MEMORY_POLICY.setting
        if before.document.get(setting) == after.document.get(setting):
            return
        enforce_policy(unit, maintenance, RUN_MEMORY_POLICY.stored(after.document))

    return enforce


def enforce_policy(unit: "Unit", maintenance: Maintenance, policy: RunMemoryPolicy) -> None:
    """Enforce a policy in the transaction that changes it, or refuse the change."""
    try:
        maintenance.rebuild(unit, policy, MaintenanceTrigger.RUNTIME_POLICY)
    except Unavailable as problem:
        raise coded_error(
            "runtime/run_memory_maintenance_failed", problem=problem.detail
        ) from problem
