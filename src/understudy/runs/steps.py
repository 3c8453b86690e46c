"""The steps of a run: done once, written to the journal in the same breath, never done again.

A step is named by its key. When a run is taken up again after a crash, the journal tells which
steps are done and what they answered; only the one that was in flight happens again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from understudy.core.clock import Clock
from understudy.runs.model import Run
from understudy.runs.patience import patiently
from understudy.runs.ports import DebugRequest, RunUnit
from understudy.sessions.journal import JournalEvent, NewEvent
from understudy.sessions.ports import Units


class Superseded(Exception):
    """Another execution of this run has begun; this one may write nothing more."""


@dataclass(slots=True)
class Steps:
    """What one execution of a run has done, and how it writes what it does."""

    units: Units[RunUnit]
    clock: Clock
    run: Run
    done: dict[str, JournalEvent] = field(default_factory=dict)

    def find(self, key: str) -> JournalEvent | None:
        """The event of a step that is done."""
        return self.done.get(key)

    async def write(
        self, events: Sequence[NewEvent], *, capture: DebugRequest | None = None
    ) -> tuple[JournalEvent, ...]:
        """Append events of this run, or raise `Superseded` when it is no longer ours."""
        written = await patiently(self._write, events, capture)
        self.remember(written)
        return written

    def remember(self, events: Iterable[JournalEvent]) -> None:
        """Take note of events that stand in the journal."""
        self.done.update({event.key: event for event in events if event.key is not None})

    def _write(
        self, events: Sequence[NewEvent], capture: DebugRequest | None
    ) -> tuple[JournalEvent, ...]:
        with self.units.write() as unit:
            if not unit.runs.owns(self.run.run_id, self.run.attempt):
                raise Superseded(self.run.run_id)
            if capture is not None:
                unit.debug.add(capture)
            if not events:
                return ()
            return unit.journal.append(self.run.session_id, events, at_ms=self.clock.now_ms())
