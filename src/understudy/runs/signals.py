"""What one run has to tell another without waiting for it: written down, done a moment later.

A run that ends holds its own row and the journal. Waiting there for the row of another run, which
may be waiting for the journal, would stop both.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from understudy.sessions.sidechains import HasSidechains


class SignalKind(StrEnum):
    """What is to be done."""

    LOOK = "look"  # a session: something happened below it, or its run waited long enough
    STOP = "stop"  # a run: the one that it worked for has ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """Something that is still to be done; doing it twice does no harm."""

    number: int
    kind: SignalKind
    target: str


class SignalStore(Protocol):
    """Signals in the order in which they were given."""

    def add(
        self, kind: SignalKind, target: str, *, at_ms: int, due_at_ms: int | None = None
    ) -> None:
        """Write down what is to be done; with `due_at_ms`, not before then."""
        ...

    def waiting(self, *, now_ms: int, limit: int) -> tuple[Signal, ...]:
        """The oldest ones that are to be done by now."""
        ...

    def remove(self, number: int) -> None: ...


class HasSignals(HasSidechains, Protocol):
    """A unit of work that keeps signals."""

    @property
    def signals(self) -> SignalStore: ...


def leave_word(unit: HasSignals, run_id: str, session_id: str, *, at_ms: int) -> None:
    """Have those above and below told of a run that ended without being read."""
    parent_id = unit.sidechains.parent_of(session_id)
    if parent_id is not None:
        unit.signals.add(SignalKind.LOOK, parent_id, at_ms=at_ms)
    for below in unit.sidechains.unfinished_runs(unit.sidechains.spawned_by(run_id)):
        unit.signals.add(SignalKind.STOP, below, at_ms=at_ms)
