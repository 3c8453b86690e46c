"""The fire times of a schedule: once, at intervals, or by a cron expression."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from itertools import pairwise
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from understudy.core.errors import coded_error
from understudy.schedules.model import Cadence, Cron, IntervalSchedule, Once

MIN_INTERVAL_S: Final = 5
MAX_INTERVAL_S: Final = 10 * 366 * 24 * 3600
# Clock skew: a time that was meant to be now is not refused.
MAX_PAST_MS: Final = 60_000
# The end of the year 9999, the limit of `datetime`.
LAST_MS: Final = 253_402_300_799_000
MIN_GAP_S: Final = 5
MAX_EXPRESSION_CHARS: Final = 200
# Listed as time zones, but different on each machine, or no zone at all.
NO_TIMEZONES: Final = frozenset({"localtime", "posixrules", "Factory"})
_SECOND: Final = timedelta(seconds=1)


def check_cadence(cadence: Cadence, *, now_ms: int) -> None:
    """Validate a cadence; the error names the field."""
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
    """The first fire time of a new schedule."""
    match cadence:
        case Once():
            return cadence.fire_at_ms
        case IntervalSchedule():
            return now_ms + cadence.every_seconds * 1000
        case Cron():
            return next_cron(cadence, now_ms)


def next_fire(cadence: Cadence, *, scheduled_ms: int, now_ms: int) -> int | None:
    """The first future fire time after `scheduled_ms`; None without one.

    An interval stays in phase however late it fired, unless the clock was set back.
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
    """The planned time, or an earlier one on a clock that was set back."""
    match cadence:
        case Once():
            return planned_ms
        case IntervalSchedule():
            return min(planned_ms, now_ms + cadence.every_seconds * 1000)
        case Cron():
            upcoming = next_cron(cadence, now_ms)
            return planned_ms if upcoming is None else min(planned_ms, upcoming)


def check_cron(cron: Cron, *, now_ms: int) -> None:
    """Refuse a cron expression that does not parse, never fires or fires too often."""
    if cron.timezone not in _timezones():
        raise coded_error(
            "schedules/invalid_timezone", pointer="/cadence/timezone", timezone=cron.timezone[:64]
        )
    if len(cron.expression) > MAX_EXPRESSION_CHARS:
        raise coded_error(
            "schedules/invalid_cron",
            pointer="/cadence/expression",
            why=f"it may have at most {MAX_EXPRESSION_CHARS} characters",
        )
    try:
        parsed = CronSim(cron.expression, datetime(2000, 1, 1))  # noqa: DTZ001 - a wall clock
    except CronSimError as problem:
        raise coded_error(
            "schedules/invalid_cron", pointer="/cadence/expression", why=str(problem).lower()
        ) from None
    if _fires_too_often(parsed):
        raise coded_error(
            "schedules/invalid_cron",
            pointer="/cadence/expression",
            why=f"there must be at least {MIN_GAP_S} seconds from one time to the next",
        )
    if next_cron(cron, now_ms) is None:
        raise coded_error(
            "schedules/invalid_cron", pointer="/cadence/expression", why="there is no such time"
        )


def next_cron(cron: Cron, after_ms: int) -> int | None:
    """The next fire time of a cron expression, in whole seconds; None without one."""
    zone = ZoneInfo(cron.timezone)
    after = datetime.fromtimestamp(after_ms // 1000, UTC)
    keeps_pace = _keeps_pace(cron.expression)
    start = _start(after.astimezone(zone), keeps_pace=keeps_pace)
    best: datetime | None = None
    for wall in _matches(cron.expression, start):
        moments = _moments(wall, zone, keeps_pace=keeps_pace)
        later = [moment for moment in (*moments, best) if moment is not None and moment > after]
        best = min(later, default=None)
        # First passes are in wall-clock order, so no later match can be earlier.
        if moments and moments[0] > after:
            break
    return None if best is None else round(best.timestamp()) * 1000


def _matches(expression: str, start: datetime) -> Iterator[datetime]:
    """The matching wall-clock times after a start."""
    try:
        yield from CronSim(expression, start)
    except OverflowError:
        return  # the calendar ends with the year 9999


def _start(local: datetime, *, keeps_pace: bool) -> datetime:
    """The wall-clock time to search from: a repeated hour is searched again."""
    wall = local.replace(tzinfo=None, fold=0)
    if not keeps_pace or local.fold:
        return wall
    return wall - max(_repeated(local), timedelta(0))


def _repeated(local: datetime) -> timedelta:
    """How far the clock goes back at a repeated wall-clock time (DST); 0 without a repeat."""
    first, second = local.replace(fold=0).utcoffset(), local.replace(fold=1).utcoffset()
    return (first or timedelta(0)) - (second or timedelta(0))


def _moments(wall: datetime, zone: tzinfo, *, keeps_pace: bool) -> tuple[datetime, ...]:
    """The fire times for a wall-clock time, in order: none, one or two at a DST change."""
    local = wall.replace(tzinfo=zone)
    first, second = local.astimezone(UTC), local.replace(fold=1).astimezone(UTC)
    if second < first:
        return () if keeps_pace else (_leap(second, first, zone),)
    return (first, second) if keeps_pace and second > first else (first,)


def _leap(before: datetime, after: datetime, zone: tzinfo) -> datetime:
    """The moment of the DST gap between two others, by bisection."""
    offset = before.astimezone(zone).utcoffset()
    while after - before > _SECOND:
        middle = before + (after - before) // (2 * _SECOND) * _SECOND
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return after


def _keeps_pace(expression: str) -> bool:
    return expression.split()[-4].startswith("*")


def _fires_too_often(parsed: CronSim) -> bool:
    seconds = sorted(parsed.seconds)
    within = (later - earlier for earlier, later in pairwise(seconds))
    if any(gap < MIN_GAP_S for gap in within):
        return True
    across = seconds[0] + 60 - seconds[-1]
    return across < MIN_GAP_S and any(
        (minute + 1) % 60 in parsed.minutes for minute in parsed.minutes
    )


@cache
def _timezones() -> frozenset[str]:
    return frozenset(available_timezones()) - NO_TIMEZONES
