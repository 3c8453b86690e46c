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
# So long something may still be learned from a record that is no longer among the newest.
PENDING_KEPT_MS: Final = DAY_MS
# How many records of a session go at most when one is added; what is left goes with the next.
PRUNED_AT_ONCE: Final = 500


def settle(unit: "Unit", run_id: str, receipt: SemanticCapture) -> None:
    """Change the receipt of a run; `NotFound` when its memory is gone."""
    index = unit.run_memory_index
    index.hold()
    pointer = index.get(run_id)
    if pointer is None:
        raise coded_error("run_memories/run_memory_not_found", run_id=run_id)
    RECEIPT.check(pointer.semantic_capture, receipt)
    if receipt is not pointer.semantic_capture:
        index.settle(run_id, receipt, stamp=_rewrite(unit, run_id, receipt))


def _rewrite(unit: "Unit", run_id: str, receipt: SemanticCapture) -> str | None:
    """The stamp of the record once it says so too; None where it cannot be written now."""
    try:
        record = unit.run_memories.get(run_id)
        if record is None:
            return None
        return unit.run_memories.put(replace(record, semantic_capture=receipt))
    except Unavailable as problem:
        log.warning("run_memory.receipt_not_written", run_id=run_id, reason=problem.detail)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Doomed:
    """What is to go, and why; what is both too old and too many counts as too old."""

    expired: tuple[Pointer, ...] = ()
    overflow: tuple[Pointer, ...] = ()

    @property
    def run_ids(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(pointer.run_id for pointer in (*self.expired, *self.overflow))


def newest_first(pointers: Sequence[Pointer]) -> list[Pointer]:
    """The order of the index: by time, then by run id, both descending."""
    return sorted(pointers, key=lambda it: (it.recorded_at_ms, it.run_id), reverse=True)


def doomed(
    pointers: Sequence[Pointer], policy: RunMemoryPolicy, *, now_ms: int, newer: int = 0
) -> Doomed:
    """What is to go of a session's pointers, newest first; so many `newer` ones are not shown."""
    room = max(policy.max_tracked_per_session - newer, 0)
    expired = tuple(it for it in pointers if policy.is_expired(it.recorded_at_ms, now_ms=now_ms))
    living = [it for it in pointers if not policy.is_expired(it.recorded_at_ms, now_ms=now_ms)]
    overflow = tuple(it for it in living[room:] if not is_awaited(it, now_ms=now_ms))
    return Doomed(expired=expired, overflow=overflow)


def is_awaited(pointer: Pointer, *, now_ms: int) -> bool:
    """Whether somebody still has to learn from it, and may still be expected to."""
    return (
        pointer.semantic_capture is SemanticCapture.PENDING
        and now_ms - pointer.recorded_at_ms <= PENDING_KEPT_MS
    )


@dataclass(frozen=True, slots=True)
class Keeper:
    """The one place that stores and removes records."""

    clock: Clock
    counters: Counters

    def keep(
        self,
        unit: "Unit",
        record: RunMemoryRecord,
        evidence: RunEvidence,
        *,
        policy: RunMemoryPolicy | None = None,
    ) -> bool:
        """Store a record, point to it, and prune its session; tells whether it is stored.

        Where the store fails, the record is to be made later, and the run ends all the same.
        """
        index = unit.run_memory_index
        index.hold()
        record = _with_earlier_receipt(index, record)
        try:
            _check_place(unit)
            stamp = unit.run_memories.put(record)
        except Unavailable as problem:
            log.warning("run_memory.postponed", run_id=record.run_id, reason=problem.detail)
            index.postpone(record.run_id, reason=problem.code, at_ms=self.clock.now_ms())
            return False
        index.add(record, stamp=stamp)
        index.keep_evidence(evidence)
        index.made_up_for(record.run_id)
        unit.after_commit(partial(self.counters.add, stored_total=1))
        self._prune(unit, record, policy or policy_in(unit))
        return True

    def forget(self, unit: "Unit", run_ids: Sequence[str]) -> None:
        """Remove records and everything that points to them."""
        unit.run_memory_index.hold()
        unit.run_memories.delete(run_ids)
        unit.run_memory_index.forget(run_ids)

    def drop_stale(
        self, unit: "Unit", *, expired: Sequence[str] = (), unreadable: Sequence[str] = ()
    ) -> None:
        """Forget what a reader found to be past its time or broken, and count it."""
        unit.run_memory_index.hold()
        stale = [*expired, *unreadable]
        _let_go(unit, stale)
        # Nobody is to meet one again, even where its file is still there.
        unit.run_memory_index.forget(stale)
        self._count(unit, pruned_ttl_total=len(expired), skipped_unreadable_total=len(unreadable))

    def _prune(self, unit: "Unit", added: RunMemoryRecord, policy: RunMemoryPolicy) -> None:
        leaving = self._doomed(unit.run_memory_index, added.session_id, policy)
        # Where the clock was set back, the newest looks like the oldest.
        gone = _let_go(unit, [run_id for run_id in leaving.run_ids if run_id != added.run_id])
        # What could not be removed keeps its pointer: the next run that ends tries again.
        unit.run_memory_index.forget(sorted(gone))
        self._count(
            unit,
            pruned_ttl_total=sum(it.run_id in gone for it in leaving.expired),
            pruned_overflow_total=sum(it.run_id in gone for it in leaving.overflow),
        )

    def _doomed(self, index: "RunMemoryIndex", session_id: str, policy: RunMemoryPolicy) -> Doomed:
        now, most = self.clock.now_ms(), policy.max_tracked_per_session
        expired = index.expired(
            before_ms=policy.expired_before_ms(now), limit=PRUNED_AT_ONCE, session_id=session_id
        )
        # Only what is past the newest can be too many, so the newest need not be read.
        past = index.in_session(session_id, limit=PRUNED_AT_ONCE, skip=most)
        return replace(doomed(past, policy, now_ms=now, newer=most), expired=expired)

    def _count(self, unit: "Unit", **amounts: int) -> None:
        if any(amounts.values()):
            unit.after_commit(partial(self.counters.add, **amounts))


def _check_place(unit: "Unit") -> None:
    """Do not begin a new place beside one that is only away for a while."""
    if not unit.run_memories.is_there() and unit.run_memory_index.counts().records:
        raise coded_error("run_memories/run_memory_store_gone")


def _with_earlier_receipt(index: "RunMemoryIndex", record: RunMemoryRecord) -> RunMemoryRecord:
    """What was settled for this run stays settled."""
    earlier = index.get(record.run_id)
    if earlier is None or earlier.semantic_capture is SemanticCapture.PENDING:
        return record
    return replace(record, semantic_capture=earlier.semantic_capture)


def _let_go(unit: "Unit", run_ids: Sequence[str]) -> set[str]:
    """Remove records as far as that works, and tell which are gone; the next start sees to the rest."""
    gone = set()
    for run_id in run_ids:
        try:
            unit.run_memories.delete([run_id])
        except Unavailable as problem:
            log.warning("run_memory.left", run_id=run_id, reason=problem.detail)
        else:
            gone.add(run_id)
    return gone
