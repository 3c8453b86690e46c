"""Consistency of run memories: compares the store with the index, the runs and the policy."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from understudy.core.batches import batches
from understudy.core.errors import coded_error
from understudy.memory.policy import RunMemoryPolicy
from understudy.memory.ports import Found
from understudy.memory.record import Pointer, RunMemoryRecord, doubt_at_start, pointer_to
from understudy.memory.retention import RecordsToDelete, newest_first, records_to_delete
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import RunStatus

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

GONE: Final = (
    "run memories are known and the place they were kept in is gone; put it back, or make an empty"
    " one to let them go, and start again"
)
Owner = tuple[str, RunStatus]
UNREADABLE: Final = "the record cannot be read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """A stored record that belongs to no run, and why."""

    found: Found
    message: str


@dataclass(slots=True, kw_only=True)
class Survey:
    """The result of comparing store, index and runs."""

    # The pointers of the index, by run id.
    indexed: Mapping[str, Pointer] = field(default_factory=dict)
    # Pointers whose record is unchanged since it was read, with its place in the store.
    unchanged: dict[str, tuple[Pointer, Found]] = field(default_factory=dict)
    # Pointers to sound records that are new or changed, with their place in the store.
    changed: dict[str, tuple[Pointer, Found]] = field(default_factory=dict)
    orphans: list[Orphan] = field(default_factory=list)

    def pointers(self) -> Iterator[Pointer]:
        """The pointers to all sound records."""
        for sound in (self.unchanged, self.changed):
            yield from (pointer for pointer, _ in sound.values())

    def record_of(self, run_id: str) -> Found:
        """The place in the store of the sound record of a run."""
        return (self.unchanged.get(run_id) or self.changed[run_id])[1]

    def records_to_delete(self, policy: RunMemoryPolicy, *, now_ms: int) -> RecordsToDelete:
        """The records that the policy no longer allows, of all sessions."""
        by_session: dict[str, list[Pointer]] = defaultdict(list)
        for pointer in self.pointers():
            by_session[pointer.session_id].append(pointer)
        found = [
            records_to_delete(newest_first(pointers), policy, now_ms=now_ms)
            for pointers in by_session.values()
        ]
        return RecordsToDelete(
            expired=tuple(pointer for each in found for pointer in each.expired),
            overflow=tuple(pointer for each in found for pointer in each.overflow),
        )


def is_settled(unit: "Unit", policy: RunMemoryPolicy, *, now_ms: int) -> bool:
    """Whether a rebuild has nothing to change: most starts find everything as it was left."""
    if unit.run_memory_index.is_any_over(
        before_ms=policy.expired_before_ms(now_ms), beyond=policy.max_tracked_per_session
    ):
        return False
    stamps = unit.run_memory_index.stamps()
    return all(stamps.values()) and unit.run_memories.holds_just(stamps)


def survey(unit: "Unit", *, now_ms: int) -> Survey:
    """Scan the store; raises `Unavailable` when it cannot be listed."""
    # Canonical places come first, so that a duplicate elsewhere is recognised.
    things = sorted(unit.run_memories.scan(), key=lambda found: not found.is_canonical)
    known = {pointer.run_id: (pointer, stamp) for pointer, stamp in unit.run_memory_index.all()}
    if known and not things and not unit.run_memories.is_there():
        raise coded_error("run_memories/run_memory_scan_failed", known=len(known), gone=GONE)
    result = Survey(indexed={run_id: pointer for run_id, (pointer, _) in known.items()})
    doubtful: dict[str, Found] = {}
    for found in things:
        run_id = found.run_id
        if run_id is None or not (found.is_canonical or found.is_legacy):
            result.orphans.append(Orphan(found=found, message="not the name of a run memory"))
        elif run_id in doubtful or run_id in result.unchanged:
            result.orphans.append(Orphan(found=found, message="the run has another record"))
        elif found.stamp and run_id in known and known[run_id][1] == found.stamp:
            result.unchanged[run_id] = (known[run_id][0], found)
        else:
            doubtful[run_id] = found
    for some in batches(tuple(doubtful)):
        _judge(unit, {run_id: doubtful[run_id] for run_id in some}, result, now_ms)
    return result


def _judge(unit: "Unit", doubtful: Mapping[str, Found], result: Survey, now_ms: int) -> None:
    """Read new and changed records, and sort sound ones from orphans."""
    owners = unit.run_memory_index.owners(tuple(doubtful))
    records = unit.run_memories.readable(
        [run_id for run_id, (_, status) in owners.items() if status in TERMINAL]
    )
    for run_id, found in doubtful.items():
        record = records.get(run_id)
        wrong = _unsound(owners.get(run_id), record, now_ms)
        if wrong is None and record is not None:
            result.changed[run_id] = (pointer_to(record), found)
        else:
            result.orphans.append(Orphan(found=found, message=wrong or UNREADABLE))


def _unsound(owner: Owner | None, record: RunMemoryRecord | None, now_ms: int) -> str | None:
    """Why a record is not sound; None if it is."""
    if owner is None:
        return "there is no such run"
    session_id, status = owner
    if status not in TERMINAL:
        return "the run has not ended"
    if record is None:
        return UNREADABLE
    return doubt_at_start(record, session_id=session_id, now_ms=now_ms)
