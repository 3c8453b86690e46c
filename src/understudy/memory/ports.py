"""The port to the store of run memories, which are files or rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from understudy.memory.record import RunMemoryRecord

# The kind of run memories in the term index.
TERM_KIND: Final = "run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One entry of a scan of the store."""

    # Its path relative to the store; None where records are rows.
    path: str | None
    # The run id in its name; None for a foreign name.
    run_id: str | None
    # Whether it is in the canonical place of that run.
    is_canonical: bool = True
    # Whether it is in the legacy place; it moves unless the canonical place is taken.
    is_legacy: bool = False
    # Changes with the content, so that an unchanged record need not be read again.
    stamp: str = ""


class RunMemoryStore(Protocol):
    """Records by run: files on one machine, rows where several share a database.

    Raises `Unavailable` where the store itself fails, and `DamagedRecord` for one that is damaged
    or belongs to another run.
    """

    def put(self, record: RunMemoryRecord) -> str:
        """Store a record, replacing an older one; answers its stamp."""
        ...

    def get(self, run_id: str) -> RunMemoryRecord | None:
        """The record of a run; None when there is none."""
        ...

    def readable(self, run_ids: Sequence[str]) -> dict[str, RunMemoryRecord]:
        """The records of these runs, without those that are missing or damaged."""
        ...

    def delete(self, run_ids: Sequence[str]) -> None:
        """Delete records; a missing one is ignored."""
        ...

    def is_there(self) -> bool:
        """Whether the store exists; before the first record it may not."""
        ...

    def scan(self) -> Iterable[Found]:
        """Every entry of the store, also foreign ones."""
        ...

    def holds_just(self, stamps: Mapping[str, str]) -> bool:
        """Whether there are only the records of these runs, all unchanged since their stamp."""
        ...

    def set_aside(self, found: Found) -> None:
        """Hide an entry until the unit commits or rolls back."""
        ...

    def put_back(self, found: Found) -> None:
        """Restore an entry that was set aside, after a rollback."""
        ...

    def discard(self, found: Found) -> None:
        """Delete an entry that was set aside, after the commit."""
        ...

    def left_aside(self) -> Iterable[Found]:
        """Entries that a crash left set aside, under their former names."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexCounts:
    """Counts of the index."""

    records: int
    sessions: int
    scopes: int
    stale: int
    postponed: int
