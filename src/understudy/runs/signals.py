"""What one run has to tell another without waiting for it: written down, done a moment later.

A run that ends holds its own row and the journal. Waiting there for the row of another run, which
may be waiting for the journal, would stop both.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


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


def leave_word(unit: "Unit", run_id: str, session_id: str, *, at_ms: int) -> None:
    """Have those above and below told of a run that ended without being read."""
    parent_id = unit.sidechains.parent_of(session_id)
    if parent_id is not None:
        unit.signals.add(SignalKind.LOOK, parent_id, at_ms=at_ms)
    for below in unit.sidechains.unfinished_runs(unit.sidechains.spawned_by(run_id)):
        unit.signals.add(SignalKind.STOP, below, at_ms=at_ms)
