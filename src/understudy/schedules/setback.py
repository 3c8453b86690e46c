"""What becomes of schedules when the clock is set back: none stands still, none fires twice."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import structlog

from understudy.core.errors import DamagedRecord
from understudy.core.page import PageRequest
from understudy.schedules.cadence import next_fire, sooner_fire
from understudy.schedules.firing import RetryPolicy
from understudy.schedules.lifecycle import OPEN
from understudy.schedules.model import Cron, Schedule

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()

AT_ONCE: Final = 200


@dataclass(slots=True)
class ClockMark:
    """The time that the clock has shown last."""

    at_ms: int | None = None

    def is_ahead_of(self, now_ms: int) -> bool:
        """Whether the clock was set back since; before the first look, it may have been."""
        return self.at_ms is None or now_ms < self.at_ms


def plan_anew(units: "Units", retry: RetryPolicy, *, now_ms: int) -> None:
    """Bring nearer what was planned by a clock that has been set back since."""
    for schedule in _open_schedules(units):
        if _nearer(schedule, retry, now_ms) != schedule:
            _bring_nearer(units, schedule.schedule_id, retry, now_ms)


def was_dealt_with(unit: "Unit", schedule: Schedule) -> bool:
    """Whether the time that is due has been there before, and was not left to be tried again."""
    due = schedule.next_fire_at_ms
    if due is None or schedule.retrying_id is not None or not isinstance(schedule.cadence, Cron):
        return False
    return unit.schedules.has_execution_for(schedule.schedule_id, due)


def pass_over(unit: "Unit", schedule: Schedule, *, now_ms: int) -> None:
    """Go on to the next time without firing."""
    scheduled = schedule.next_fire_at_ms or now_ms
    upcoming = next_fire(schedule.cadence, scheduled_ms=scheduled, now_ms=now_ms)
    unit.schedules.update(replace(schedule, next_fire_at_ms=upcoming, due_at_ms=upcoming))


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
            return  # who fires it closes it
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
    # One that is paused has a next time, but nobody looks at it.
    return replace(schedule, next_fire_at_ms=upcoming, due_at_ms=None if due is None else upcoming)
