"""What run memory needs from outside: where the records are kept."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from understudy.memory.record import RunMemoryRecord

# What the index of terms calls run memories.
TERM_KIND: Final = "run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Something that a scan of the store came upon."""

    # What it calls itself, relative to the store; None where records are rows.
    path: str | None
    # The run whose record it is; None for a name that is not one.
    run_id: str | None
    # Whether it is where the record of that run belongs.
    is_canonical: bool = True
    # Whether it is where records belonged before; one that has no other place moves.
    is_legacy: bool = False
    # Changes whenever the content does, so that what was read before need not be read again.
    stamp: str = ""


class RunMemoryStore(Protocol):
    """Records by run: files on one machine, rows where several share a database.

    Raises `Unavailable` where the store itself fails, and `DamagedRecord` for one that is torn or
    is the record of another run.
    """

    def put(self, record: RunMemoryRecord) -> str:
        """Keep a record, in place of an older one; answers its stamp."""
        ...

    def get(self, run_id: str) -> RunMemoryRecord | None:
        """The record of a run; None when there is none."""
        ...

    def readable(self, run_ids: Sequence[str]) -> dict[str, RunMemoryRecord]:
        """The records of these runs, without those that are missing or damaged."""
        ...

    def delete(self, run_ids: Sequence[str]) -> None:
        """Remove records; one that is not there is fine."""
        ...

    def is_there(self) -> bool:
        """Whether there is a place for records at all; before the first one there may be none."""
        ...

    def scan(self) -> Iterable[Found]:
        """Everything that is there, also what does not belong."""
        ...

    def set_aside(self, found: Found) -> None:
        """Take something from its place until the unit is over and says what becomes of it."""
        ...

    def put_back(self, found: Found) -> None:
        """Have what was set aside where it was, after a unit that came to nothing."""
        ...

    def discard(self, found: Found) -> None:
        """Remove for good what was set aside, after a unit that committed."""
        ...

    def left_aside(self) -> Iterable[Found]:
        """What a crash left set aside, as it was before."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexCounts:
    """How much is indexed."""

    records: int
    sessions: int
    scopes: int
    stale: int
    postponed: int
