"""What run memory needs from outside: where records are kept, and the index over them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Protocol

from understudy.core.errors import Unavailable
from understudy.core.page import Page, PageRequest
from understudy.memory.record import Evidence, Pointer, RunMemoryRecord, SemanticCapture
from understudy.runs.model import RunStatus
from understudy.runs.ports import RunUnit
from understudy.sessions.ports import Units

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


class RunMemoryIndex(Protocol):
    """Which records there are: by session, by scope and by the words in them."""

    def hold(self) -> None:
        """Let nobody else change run memories until the unit ends."""
        ...

    def add(self, record: RunMemoryRecord, *, stamp: str = "") -> None:
        """Point to a record, in place of an older pointer to the same run."""
        ...

    def forget(self, run_ids: Sequence[str]) -> int:
        """Drop pointers, and the evidence kept with them; tells how many there were."""
        ...

    def get(self, run_id: str) -> Pointer | None: ...

    def in_session(self, session_id: str, *, limit: int, skip: int = 0) -> tuple[Pointer, ...]:
        """The pointers of a session past so many, newest first, ties by run id descending."""
        ...

    def page(
        self, request: PageRequest, *, since_ms: int, session_id: str | None = None
    ) -> Page[Pointer]:
        """The pointers to records made since a time, of a session or of all, in the same order."""
        ...

    def in_scopes(self, scope_keys: Sequence[str], *, limit: int) -> tuple[Pointer, ...]:
        """The pointers of records in any of these scopes, in the same order."""
        ...

    def expired(
        self, *, before_ms: int, limit: int, session_id: str | None = None
    ) -> tuple[Pointer, ...]:
        """Pointers to records made before a time, of one session or of all, oldest first."""
        ...

    def all(self) -> Iterable[tuple[Pointer, str]]:
        """Every pointer with the stamp of its record; with none where the run says otherwise."""
        ...

    def settle(self, run_id: str, receipt: SemanticCapture, *, stamp: str | None = None) -> None:
        """Note how far learning from a run has come, and the stamp if its record changed."""
        ...

    def waiting(self, *, limit: int) -> tuple[str, ...]:
        """Runs whose receipt is pending, oldest first."""
        ...

    def counts(self, *, before_ms: int | None = None) -> "IndexCounts":
        """How much is indexed; stale is what was recorded before that time."""
        ...

    def keep_evidence(self, evidence: Evidence) -> None: ...

    def evidence(self, run_id: str) -> Evidence | None: ...

    def postpone(self, run_id: str, *, reason: str, at_ms: int) -> None:
        """Note that the record of a run could not be kept and is to be made later."""
        ...

    def postponed(self, *, limit: int) -> tuple[str, ...]:
        """Runs whose record is still to be made."""
        ...

    def made_up_for(self, run_id: str) -> bool:
        """Note that this is no longer to be done; tells whether it was."""
        ...

    def owners(self, run_ids: Sequence[str]) -> Mapping[str, tuple[str, RunStatus]]:
        """Session and status of those of these runs that exist."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexCounts:
    """How much is indexed."""

    records: int
    sessions: int
    scopes: int
    stale: int
    postponed: int


class MemoryUnit(RunUnit, Protocol):
    """One transaction over everything run memory touches."""

    @property
    def run_memories(self) -> RunMemoryStore: ...

    @property
    def run_memory_index(self) -> RunMemoryIndex: ...

    def afterwards(self, act: Callable[[], None]) -> None:
        """Have something done once this unit has committed, and not if it does not."""
        ...

    def otherwise(self, act: Callable[[BaseException], None]) -> None:
        """Have something done if this unit comes to nothing, once it is over; it is given why."""
        ...


class MemoryUnits(Units[MemoryUnit], Protocol):
    """Opens transactions."""

    def exclusively(self) -> AbstractContextManager[None]:
        """Do something at start that only one daemon may do at a time."""
        ...


def store_gone() -> Unavailable:
    """The error for a store that is away although something is known to be in it."""
    return Unavailable(
        "run_memory_store_gone",
        domain="run_memories",
        detail="the place that run memories are kept in is gone",
    )
