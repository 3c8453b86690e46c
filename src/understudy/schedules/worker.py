"""The worker duty of schedules: fires due ones, in any number of daemons."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Final, NoReturn

import structlog

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import DamagedRecord, DatabaseUnavailable, UnderstudyError
from understudy.core.page import PageRequest
from understudy.core.principal import DAEMON
from understudy.schedules.cadence import next_fire, sooner_fire
from understudy.schedules.fire import Firing, RetryPolicy
from understudy.schedules.model import OPEN, Cron, Schedule
from understudy.work.worker import Claim, WorkerSleep

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()


AT_ONCE: Final = 200
TOPIC: Final = "schedules"
# The polling interval: clocks jump, and other daemons change schedules.
LONGEST_SLEEP_S: Final = 1.0


@dataclass(slots=True)
class ClockMark:
    """The last time read from the clock; before the first read, the schedules know one."""

    at_ms: int | None = None

    def is_ahead_of(self, now_ms: int, units: "Units") -> bool:
        """Whether the clock was set back since."""
        if self.at_ms is not None:
            return now_ms < self.at_ms
        with units.read() as unit:
            return unit.schedules.is_any_changed_after(now_ms)


def plan_anew(units: "Units", retry: RetryPolicy, *, now_ms: int) -> None:
    """Recompute next times that were planned before the clock was set back."""
    for schedule in _open_schedules(units):
        if _nearer(schedule, retry, now_ms) != schedule:
            _bring_nearer(units, schedule.schedule_id, retry, now_ms)


def was_dealt_with(unit: "Unit", schedule: Schedule) -> bool:
    """Whether the due time has an execution already, and is no retry."""
    due = schedule.next_fire_at_ms
    if due is None or schedule.retrying_id is not None or not isinstance(schedule.cadence, Cron):
        return False
    return unit.schedules.has_execution_for(schedule.schedule_id, due)


def pass_over(unit: "Unit", schedule: Schedule, *, now_ms: int) -> None:
    """Skip the due time without firing."""
    scheduled = schedule.next_fire_at_ms or now_ms
    upcoming = next_fire(schedule.cadence, scheduled_ms=scheduled, now_ms=now_ms)
    unit.schedules.update(
        replace(schedule, next_fire_at_ms=upcoming, due_at_ms=upcoming, updated_at_ms=now_ms)
    )


def _open_schedules(units: "Units") -> Iterator[Schedule]:
    cursor: str | None = None
    while True:
        request = PageRequest.parse(limit=AT_ONCE, cursor=cursor)
        with units.read() as unit:
            page = unit.schedules.page(request, statuses=sorted(OPEN))
        yield from page.items
        cursor = page.next_cursor
        if cursor is None:
            return


def _bring_nearer(units: "Units", schedule_id: str, retry: RetryPolicy, now_ms: int) -> None:
    with units.write() as unit:
        try:
            schedule = unit.schedules.get(schedule_id, lock=True)
        except DamagedRecord:
            return  # the worker closes it when it fires
        if schedule is None or schedule.status not in OPEN:
            return
        nearer = replace(_nearer(schedule, retry, now_ms), updated_at_ms=now_ms)
        unit.schedules.update(nearer)
    log.info("schedule.planned_anew", schedule_id=schedule_id, at_ms=nearer.next_fire_at_ms)


def _nearer(schedule: Schedule, retry: RetryPolicy, now_ms: int) -> Schedule:
    planned, due = schedule.next_fire_at_ms, schedule.due_at_ms
    if schedule.retrying_id is not None:
        latest = now_ms + retry.max_ms + retry.jitter_ms
        return schedule if due is None or due <= latest else replace(schedule, due_at_ms=now_ms)
    if planned is None:
        return schedule
    upcoming = sooner_fire(schedule.cadence, planned_ms=planned, now_ms=now_ms)
    # A paused schedule has a next time, but is not due.
    return replace(schedule, next_fire_at_ms=upcoming, due_at_ms=None if due is None else upcoming)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleDuty:
    """Fires due schedules; each is claimed, submitted and rescheduled in one transaction."""

    at_once: ClassVar[int] = 1
    sleep: ClassVar[WorkerSleep] = WorkerSleep(
        topics=(TOPIC,), longest_s=LONGEST_SLEEP_S, tables=("schedules",)
    )

    units: "Units"
    clock: Clock
    firing: Firing
    mark: ClockMark = field(default_factory=ClockMark)

    def claim(self, _: int) -> Claim[NoReturn]:
        """Fire due schedules; no work is left outside the claiming transaction."""
        return Claim(due_at_ms=self.fire_due())

    async def do(self, item: NoReturn) -> None:
        """Never called: `claim` returns no items."""

    def fire_due(self) -> int | None:
        """Fire due schedules, one at a time, up to a limit; returns when the next one is due."""
        now = self.clock.now_ms()
        if self.mark.is_ahead_of(now, self.units):
            plan_anew(self.units, self.firing.retry, now_ms=now)
        self.mark.at_ms = now
        for _ in range(AT_ONCE):
            due = self._next_due_ms()
            if due is None or due > self.clock.now_ms() or not self._fire_one():
                return due
        return self._next_due_ms()

    def _next_due_ms(self) -> int | None:
        with self.units.read() as unit:
            return unit.schedules.next_due_ms()

    def _fire_one(self) -> bool:
        """Claim a schedule, submit its run and store its next time, in one transaction."""
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
        """Record why a schedule could not fire, so that it does not block the others."""
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
            # Another daemon may have fired it meanwhile.
            if schedule is not None and self._is_due(schedule):
                self.firing.fail(unit, schedule, code=code, detail=detail)

    def _is_due(self, schedule: Schedule) -> bool:
        return schedule.due_at_ms is not None and schedule.due_at_ms <= self.clock.now_ms()
