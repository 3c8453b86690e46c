"""The worker that fires schedules when they are due; any number of daemons may run one at once."""

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import structlog

from understudy.core import audit
from understudy.core.bell import Bell
from understudy.core.clock import Clock
from understudy.core.errors import DamagedRecord, DatabaseUnavailable, UnderstudyError
from understudy.core.principal import DAEMON
from understudy.schedules.firing import Firing
from understudy.schedules.model import Schedule
from understudy.schedules.setback import ClockMark, pass_over, plan_anew, was_dealt_with

if TYPE_CHECKING:
    from understudy.storage.unit import Units

log = structlog.get_logger()

TOPIC: Final = "schedules"
# Clocks jump, and other daemons change schedules: nobody sleeps longer than this.
LONGEST_SLEEP_S: Final = 1.0
SHORTEST_SLEEP_S: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleWorker:
    """Looks for what is due, and submits it."""

    units: "Units"
    clock: Clock
    firing: Firing
    bell: Bell
    mark: ClockMark = field(default_factory=ClockMark)

    async def run(self) -> None:
        """Fire what is due, for ever."""
        while True:
            seen = {TOPIC: self.bell.count(TOPIC)}
            due = await asyncio.to_thread(self.fire_due)
            await self.bell.wait(seen, timeout_s=self._sleep_s(due))

    def fire_due(self) -> int | None:
        """Fire everything that is due, one at a time; answers when to look again."""
        now = self.clock.now_ms()
        if self.mark.is_ahead_of(now):
            plan_anew(self.units, self.firing.retry, now_ms=now)
        self.mark.at_ms = now
        while True:
            with self.units.read() as unit:
                due = unit.schedules.next_due_ms()
            if due is None or due > self.clock.now_ms() or not self._fire_one():
                return due

    def _fire_one(self) -> bool:
        """Claim a schedule, submit its run and write down its next time: all of it, or nothing."""
        schedule_id: str | None = None
        try:
            with self.units.write() as unit:
                schedule_id = unit.schedules.claim_due(self.clock.now_ms())
                if schedule_id is None:
                    return False
                schedule = unit.schedules.get(schedule_id)
                if schedule is None or not self._is_due(schedule):
                    return True
                if was_dealt_with(unit, schedule):
                    pass_over(unit, schedule, now_ms=self.clock.now_ms())
                else:
                    self.firing.fire(unit, schedule)
        except DatabaseUnavailable:
            raise
        except Exception as problem:
            if schedule_id is None:
                raise
            self._note_failure(schedule_id, problem)
        return True

    def _note_failure(self, schedule_id: str, problem: Exception) -> None:
        """What was begun is undone by now; one that cannot fire must not hold up the others."""
        if isinstance(problem, UnderstudyError):
            code, detail = problem.code, problem.detail
            log.warning("schedule.failed", schedule_id=schedule_id, reason=detail)
        else:
            code = "schedule_crashed"
            detail = f"the daemon failed unexpectedly ({type(problem).__name__}); its log says how"
            log.error("schedule.crashed", schedule_id=schedule_id, exc_info=problem)
        with self.units.write() as unit:
            try:
                schedule = unit.schedules.get(schedule_id, lock=True)
            except DamagedRecord as damaged:
                now = self.clock.now_ms()
                unit.schedules.cancel_unread(schedule_id, reason=damaged.code, at_ms=now)
                unit.audit.add(audit.done(DAEMON, "schedules.cancel", schedule_id, at_ms=now))
                return
            # Somebody else may have had more luck meanwhile.
            if schedule is not None and self._is_due(schedule):
                self.firing.fail(unit, schedule, code=code, detail=detail)

    def _is_due(self, schedule: Schedule) -> bool:
        return schedule.due_at_ms is not None and schedule.due_at_ms <= self.clock.now_ms()

    def _sleep_s(self, due: int | None) -> float:
        if due is None:
            return LONGEST_SLEEP_S
        seconds = (due - self.clock.now_ms()) / 1000
        return min(max(seconds, SHORTEST_SLEEP_S), LONGEST_SLEEP_S)
