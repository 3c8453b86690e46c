"""Turns of agents that report by OpenTelemetry: kept by trace until nothing more is expected.

Signals come late, twice and in any order. A trace is read once it is closed and quiet, or quiet for
long. What comes after that is a further run, unless it came before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import structlog

from understudy.core.clock import Clock
from understudy.core.errors import DatabaseUnavailable
from understudy.core.principal import Principal, Role
from understudy.foreign.record import ForeignTurns
from understudy.foreign.signals import Told
from understudy.foreign.trace import turn_of
from understudy.runs.taint import TaintSource

if TYPE_CHECKING:
    from understudy.storage.otlp import WaitingTrace
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()

# How long a trace is quiet before it is read: once it is closed, and otherwise. Coding agents send
# their events every five seconds, and a tool of theirs may work for minutes.
QUIET_MS: Final[Mapping[bool, int]] = {True: 3_000, False: 60_000}
QUIET_EVENTS_MS: Final[Mapping[bool, int]] = {True: 10_000, False: 600_000}
# How much of what is kept of one user's signals may wait, in characters.
MAX_WAITING_BYTES: Final = 24 * 1024 * 1024
# As many signals of a trace as are known again.
MAX_IDS: Final = 10_000
# What names texts in the place of the user that nobody typed, among what a run has read.
INJECTED: Final = "injected text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """Keeps what signals tell, and records the turns that they are."""

    units: "Units"
    clock: Clock
    turns: ForeignTurns

    def keep(self, principal: Principal, told: Sequence[Told]) -> int:
        """Keep signals for their turns; returns how many there was no room for."""
        by = {"by": [principal.role, principal.locale]}
        rows: list[dict[str, Any]] = []
        with self.units.write() as unit:
            room = MAX_WAITING_BYTES - unit.otlp.size(principal.user_id)
            for each in told:
                room -= each.size
                if room < 0:
                    break
                rows.append(
                    {
                        "user_id": principal.user_id,
                        "trace": each.trace,
                        "told_id": each.told_id,
                        "ended_ns": each.ended_ns,
                        "closes": each.closes,
                        "at_ms": self.clock.now_ms(),
                        "size": each.size,
                        "body": each.body | by,
                    }
                )
            unit.otlp.add(rows)
        return len(told) - len(rows)

    def look(self) -> int | None:
        """Record the turns of traces that are over; returns when the next one is due."""
        now = self.clock.now_ms()
        with self.units.read() as unit:
            waiting = unit.otlp.waiting()
        due = {each: each.last_at_ms + _quiet_ms(each) for each in waiting}
        for each in (it for it in waiting if due[it] <= now):
            self._settle(each)
        return min((at for at in due.values() if at > now), default=None)

    def _settle(self, waiting: "WaitingTrace") -> None:
        """Record what is kept of a trace; what cannot be read is dropped, and holds up no other."""
        user_id, trace, *_ = waiting
        try:
            with self.units.write() as unit:
                self._record(unit, user_id, trace, unit.otlp.take(user_id, trace))
        except DatabaseUnavailable:
            raise
        except Exception:
            log.exception("otlp.dropped", trace=trace)
            with self.units.write() as unit:
                unit.otlp.take(user_id, trace)

    def _record(
        self, unit: "Unit", user_id: str, trace: str, kept: Mapping[str, Mapping[str, Any]]
    ) -> None:
        read = unit.otlp.read(user_id, trace) or {"ids": [], "run_ids": [], "typed": False}
        old = frozenset(read["ids"])
        new = {told_id: each for told_id, each in kept.items() if told_id not in old}
        part = len(read["run_ids"]) + 1
        turn = turn_of([*new.values()], trace=trace, part=part, has_words=not read["typed"])
        if turn is None or turn.is_empty:
            return
        role, locale = next(iter(new.values()))["by"]
        principal = Principal(user_id=user_id, role=Role(role), locale=locale)
        recorded = self.turns.record_in(unit, principal, turn)
        if turn.injected:
            unit.runs.taint(recorded.run_id, {TaintSource.TOOL_RESULT: [INJECTED]})
        # What comes late was read before the end of the turn that is recorded already.
        late = sorted({call.name for call in turn.calls})
        for run_id in read["run_ids"] if late else ():
            if unit.runs.get(run_id) is not None:
                unit.runs.taint(run_id, {TaintSource.TOOL_RESULT: late})
        known = {
            "ids": [*read["ids"], *new][-MAX_IDS:],
            "run_ids": [*read["run_ids"], recorded.run_id],
            "typed": read["typed"] or bool(turn.typed),
        }
        unit.otlp.set_read(user_id, trace, known, at_ms=self.clock.now_ms())


def _quiet_ms(waiting: "WaitingTrace") -> int:
    quiet = QUIET_EVENTS_MS if ":" in waiting.trace else QUIET_MS
    return quiet[waiting.is_closed]
