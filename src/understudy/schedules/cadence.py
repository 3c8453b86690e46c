"""When a schedule fires: its first time, the next one, and whether that is worth waiting for."""

from typing import Final

from understudy.core.errors import coded_error
from understudy.schedules.cron import check_cron, next_cron
from understudy.schedules.model import Cadence, Cron, IntervalSchedule, Once

MIN_INTERVAL_S: Final = 5
MAX_INTERVAL_S: Final = 10 * 366 * 24 * 3600
# The clocks of two machines differ; what was meant to be now is not refused for it.
MAX_PAST_MS: Final = 60_000
# The end of the year 9999, where calendars end.
LAST_MS: Final = 253_402_300_799_000


def check_cadence(cadence: Cadence, *, now_ms: int) -> None:
    """Refuse a cadence that cannot be kept, naming the field."""
    match cadence:
        case Once() if not now_ms - MAX_PAST_MS <= cadence.fire_at_ms <= LAST_MS:
            way = "" if cadence.fire_at_ms < now_ms else ":beyond_calendar"
            raise coded_error(f"schedules/invalid_fire_at{way}", pointer="/cadence/fire_at_ms")
        case IntervalSchedule() if not MIN_INTERVAL_S <= cadence.every_seconds <= MAX_INTERVAL_S:
            raise coded_error(
                "schedules/invalid_interval",
                pointer="/cadence/every_seconds",
                min_interval_s=MIN_INTERVAL_S,
                max_interval_s=MAX_INTERVAL_S,
            )
        case Cron():
            check_cron(cadence, now_ms=now_ms)


def first_fire(cadence: Cadence, *, now_ms: int) -> int | None:
    """The first time of a new schedule."""
    match cadence:
        case Once():
            return cadence.fire_at_ms
        case IntervalSchedule():
            return now_ms + cadence.every_seconds * 1000
        case Cron():
            return next_cron(cadence, now_ms)


def next_fire(cadence: Cadence, *, scheduled_ms: int, now_ms: int) -> int | None:
    """The first time after `scheduled_ms` that is yet to come; None when there is none.

    An interval keeps its beat, however late it fired, unless the clock was set back meanwhile.
    """
    match cadence:
        case Once():
            return None
        case IntervalSchedule():
            step = cadence.every_seconds * 1000
            if now_ms < scheduled_ms:
                return now_ms + step
            beats = (now_ms - scheduled_ms) // step + 1
            return scheduled_ms + beats * step
        case Cron():
            return next_cron(cadence, max(scheduled_ms, now_ms))


def sooner_fire(cadence: Cadence, *, planned_ms: int, now_ms: int) -> int:
    """The time planned, or the one that comes before it on a clock that was set back."""
    match cadence:
        case Once():
            return planned_ms
        case IntervalSchedule():
            return min(planned_ms, now_ms + cadence.every_seconds * 1000)
        case Cron():
            upcoming = next_cron(cadence, now_ms)
            return planned_ms if upcoming is None else min(planned_ms, upcoming)
