"""The steps of a run: done once, written to the journal in the same breath, never done again.

A step is named by its key. When a run is taken up again after a crash, the journal tells which
steps are done and what they answered; only the one that was in flight happens again.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.runs.model import Run
from understudy.runs.stops import RunTakenOver
from understudy.sessions.journal import EventKind, JournalEvent, NewEvent
from understudy.work.db_retry import retry_while_db_down

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# Writes something beside the events of a step.
Also = Callable[["Unit"], None]


@dataclass(slots=True)
class Steps:
    """What one execution of a run has done, and how it writes what it does."""

    units: "Units"
    clock: Clock
    run: Run
    done: dict[str, JournalEvent] = field(default_factory=dict)

    def find(self, key: str) -> JournalEvent | None:
        """The event of a step that is done; `DamagedRecord` when it can no longer be read."""
        event = self.done.get(key)
        if event is not None and event.kind is EventKind.DAMAGED:
            raise coded_error("runs/record_damaged")
        return event

    async def write(
        self, events: Sequence[NewEvent], *, also: Also | None = None
    ) -> tuple[JournalEvent, ...]:
        """Append events of this run, or raise `RunTakenOver` when it is no longer ours.

        `also` writes what belongs to them in the same transaction.
        """
        tries = 0

        def write() -> tuple[JournalEvent, ...]:
            nonlocal tries
            tries += 1
            return self._write(events, also, is_repeat=tries > 1)

        written = await retry_while_db_down(write)
        self.remember(written)
        return written

    def remember(self, events: Iterable[JournalEvent]) -> None:
        """Take note of events that stand in the journal."""
        self.done.update({event.key: event for event in events if event.key is not None})

    def _write(
        self, events: Sequence[NewEvent], also: Also | None, *, is_repeat: bool
    ) -> tuple[JournalEvent, ...]:
        with self.units.write() as unit:
            if not unit.runs.owns(self.run.run_id, self.run.attempt):
                raise RunTakenOver(self.run.run_id)
            # The first try may have been committed without our hearing of it.
            if is_repeat and (stored := self._stored(unit, events)):
                return stored
            if also is not None:
                also(unit)
            if not events:
                return ()
            return unit.journal.append(self.run.session_id, events, at_ms=self.clock.now_ms())

    def _stored(self, unit: "Unit", events: Sequence[NewEvent]) -> tuple[JournalEvent, ...]:
        keys = [event.key for event in events if event.key is not None]
        return unit.journal.by_keys(self.run.session_id, keys) if keys else ()


def executed_calls(done: Iterable[JournalEvent]) -> int:
    """How many tool calls of a run reached their tool, whatever it made of them."""
    return sum(1 for result in _results(done) if result.data.get("executed"))


def counted_calls(done: Iterable[JournalEvent]) -> int:
    """The same with those that the model got wrong: a mistake is an attempt, a refusal is none."""
    return sum(1 for result in _results(done) if _counts(result))


def _results(done: Iterable[JournalEvent]) -> Iterator[JournalEvent]:
    return (event for event in done if event.kind is EventKind.TOOL_RESULT)


def _counts(result: JournalEvent) -> bool:
    refused = result.data.get("refused")
    # Journals of an older version tell only whether the tool ran.
    return bool(result.data.get("executed")) if refused is None else not refused
