"""Retention of run memories: store them, drop what is over the limits, settle capture receipts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import structlog

from understudy.core.clock import DAY_MS, Clock
from understudy.core.errors import Unavailable, coded_error
from understudy.memory.policy import RunMemoryPolicy, policy_in
from understudy.memory.record import RECEIPT, Pointer, RunEvidence, RunMemoryRecord, SemanticCapture
from understudy.memory.report import Counters

if TYPE_CHECKING:
    from understudy.storage.run_memory_index import RunMemoryIndex
    from understudy.storage.unit import Unit

log = structlog.get_logger()
# How long a record with a pending receipt is exempt from the limit of its session.
PENDING_KEPT_MS: Final = DAY_MS
# The most records of a session that are pruned when one is added.
PRUNED_AT_ONCE: Final = 500


def settle(unit: "Unit", run_id: str, receipt: SemanticCapture) -> None:
    """Settle the capture receipt of a run; `NotFound` if its record is deleted."""
    pointer = held_pointer(unit, run_id)
    if pointer is None:
        raise coded_error("run_memories/run_memory_not_found", run_id=run_id)
    settle_held(unit, pointer, receipt)


def held_pointer(unit: "Unit", run_id: str) -> Pointer | None:
    """The pointer to the record of a run; it stays as it is until the unit ends."""
    unit.run_memory_index.hold()
    return unit.run_memory_index.get(run_id, lock=True)


def settle_held(unit: "Unit", pointer: Pointer, receipt: SemanticCapture) -> None:
    """Settle the capture receipt of a run whose pointer this unit holds."""
    RECEIPT.check(pointer.semantic_capture, receipt)
    if receipt is not pointer.semantic_capture:
        stamp = _rewrite(unit, pointer.run_id, receipt)
        unit.run_memory_index.settle(pointer.run_id, receipt, stamp=stamp)


def _rewrite(unit: "Unit", run_id: str, receipt: SemanticCapture) -> str | None:
    """The stamp of the rewritten record; None if it cannot be written now."""
    try:
        record = unit.run_memories.get(run_id)
        if record is None:
            return None
        return unit.run_memories.put(replace(record, semantic_capture=receipt))
    except Unavailable as problem:
        log.warning("run_memory.receipt_not_written", run_id=run_id, reason=problem.detail)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsToDelete:
    """Records to delete; one that is both expired and over the limit counts as expired."""

    expired: tuple[Pointer, ...] = ()
    overflow: tuple[Pointer, ...] = ()

    @property
    def run_ids(self) -> tuple[str, ...]:
        """The run ids of all records to delete."""
        return tuple(pointer.run_id for pointer in (*self.expired, *self.overflow))


def newest_first(pointers: Sequence[Pointer]) -> list[Pointer]:
    """The order of the index: by time, then by run id, both descending."""
    return sorted(pointers, key=lambda it: (it.recorded_at_ms, it.run_id), reverse=True)


def records_to_delete(
    pointers: Sequence[Pointer], policy: RunMemoryPolicy, *, now_ms: int, newer: int = 0
) -> RecordsToDelete:
    """The records to delete of a session, newest first; `newer` ones precede `pointers`."""
    room = max(policy.max_tracked_per_session - newer, 0)
    expired = tuple(it for it in pointers if policy.is_expired(it.recorded_at_ms, now_ms=now_ms))
    living = [it for it in pointers if not policy.is_expired(it.recorded_at_ms, now_ms=now_ms)]
    overflow = tuple(it for it in living[room:] if not is_awaited(it, now_ms=now_ms))
    return RecordsToDelete(expired=expired, overflow=overflow)


def is_awaited(pointer: Pointer, *, now_ms: int) -> bool:
    """Whether a record is still to be captured, within `PENDING_KEPT_MS`."""
    return (
        pointer.semantic_capture is SemanticCapture.PENDING
        and now_ms - pointer.recorded_at_ms <= PENDING_KEPT_MS
    )


@dataclass(frozen=True, slots=True)
class Keeper:
    """Stores and deletes records together with their index entries."""

    clock: Clock
    counters: Counters

    def keep(
        self,
        unit: "Unit",
        record: RunMemoryRecord,
        evidence: RunEvidence,
        *,
        policy: RunMemoryPolicy | None = None,
        is_first: bool = False,
    ) -> bool:
        """Store and index a record, and prune its session; False if the store failed.

        `is_first` where the run ends in this unit, which holds the records: nothing was stored or
        postponed for it before.

        A record that could not be stored is made later; its run ends all the same.
        """
        index = unit.run_memory_index
        # The record and the end of a run are one transaction, so there is none before it.
        earlier = None if is_first else held_pointer(unit, record.run_id)
        record = _with_earlier_receipt(earlier, record)
        try:
            _check_place(unit)
            stamp = unit.run_memories.put(record)
        except Unavailable as problem:
            log.warning("run_memory.postponed", run_id=record.run_id, reason=problem.detail)
            index.postpone(record.run_id, reason=problem.code, at_ms=self.clock.now_ms())
            return False
        index.add(record, stamp=stamp, is_new=earlier is None)
        index.keep_evidence(evidence)
        if not is_first:
            index.clear_postponed(record.run_id)
        unit.after_commit(partial(self.counters.add, stored_total=1))
        self._prune(unit, record, policy or policy_in(unit))
        return True

    def forget(self, unit: "Unit", run_ids: Sequence[str]) -> None:
        """Delete records and their index entries."""
        unit.run_memory_index.hold(alone=True)
        unit.run_memories.delete(run_ids)
        unit.run_memory_index.forget(run_ids)

    def drop_stale(
        self, unit: "Unit", *, expired: Sequence[str] = (), unreadable: Sequence[str] = ()
    ) -> None:
        """Delete records that a reader found expired or unreadable, and count them."""
        unit.run_memory_index.hold()
        claimed = unit.run_memory_index.claim([*expired, *unreadable])
        _let_go(unit, sorted(claimed))
        # The index entry goes even if the file cannot be deleted.
        unit.run_memory_index.forget(sorted(claimed))
        self._count(
            unit,
            pruned_ttl_total=len(claimed.intersection(expired)),
            skipped_unreadable_total=len(unreadable),
        )

    def _prune(self, unit: "Unit", added: RunMemoryRecord, policy: RunMemoryPolicy) -> None:
        leaving = self._doomed(unit.run_memory_index, added.session_id, policy)
        # After the clock was set back, the new record sorts as the oldest.
        others = [run_id for run_id in leaving.run_ids if run_id != added.run_id]
        gone = _let_go(unit, sorted(unit.run_memory_index.claim(others)))
        # A record that is in use or could not be deleted keeps its index entry: the next prune
        # retries.
        unit.run_memory_index.forget(sorted(gone))
        self._count(
            unit,
            pruned_ttl_total=sum(it.run_id in gone for it in leaving.expired),
            pruned_overflow_total=sum(it.run_id in gone for it in leaving.overflow),
        )

    def _doomed(
        self, index: "RunMemoryIndex", session_id: str, policy: RunMemoryPolicy
    ) -> RecordsToDelete:
        now, most = self.clock.now_ms(), policy.max_tracked_per_session
        # Records within both limits need not be read.
        expired, past = index.over_limits(
            session_id,
            before_ms=policy.expired_before_ms(now),
            beyond=most,
            limit=PRUNED_AT_ONCE,
        )
        return replace(records_to_delete(past, policy, now_ms=now, newer=most), expired=expired)

    def _count(self, unit: "Unit", **amounts: int) -> None:
        if any(amounts.values()):
            unit.after_commit(partial(self.counters.add, **amounts))


def _check_place(unit: "Unit") -> None:
    """Refuse to write while the store is gone but indexed, such as an unmounted volume."""
    if not unit.run_memories.is_there() and unit.run_memory_index.counts().records:
        raise coded_error("run_memories/run_memory_store_gone")


def _with_earlier_receipt(earlier: Pointer | None, record: RunMemoryRecord) -> RunMemoryRecord:
    """The record with the receipt that was settled for this run before."""
    if earlier is None or earlier.semantic_capture is SemanticCapture.PENDING:
        return record
    return replace(record, semantic_capture=earlier.semantic_capture)


def _let_go(unit: "Unit", run_ids: Sequence[str]) -> set[str]:
    """Delete records one by one; answers the deleted ones. Maintenance deletes the rest."""
    gone = set()
    for run_id in run_ids:
        try:
            unit.run_memories.delete([run_id])
        except Unavailable as problem:
            log.warning("run_memory.left", run_id=run_id, reason=problem.detail)
        else:
            gone.add(run_id)
    return gone
