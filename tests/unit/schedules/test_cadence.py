"""When schedules fire: tables of times, also where clocks are changed."""

from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.core.errors import Invalid
from understudy.schedules.cadence import (
    LAST_MS,
    MAX_INTERVAL_S,
    check_cadence,
    first_fire,
    next_cron,
    next_fire,
    sooner_fire,
)
from understudy.schedules.model import Cadence, Cron, IntervalSchedule, Once

NOW = 1_700_000_000_000  # 2023-11-14 22:13:20 UTC


def at(text: str, zone: str = "UTC") -> int:
    """A wall-clock time as milliseconds; `+1` at its end means its second pass."""
    wall, _, second = text.partition("+")
    moment = datetime.fromisoformat(wall).replace(tzinfo=ZoneInfo(zone), fold=int(second or 0))
    return round(moment.timestamp() * 1000)


def shown(ms: int | None, zone: str = "UTC") -> str | None:
    if ms is None:
        return None
    local = datetime.fromtimestamp(ms / 1000, UTC).astimezone(ZoneInfo(zone))
    return f"{local:%Y-%m-%d %H:%M:%S}" + ("+1" if local.fold else "")


def fires(expression: str, zone: str, after: str, count: int) -> list[str | None]:
    cron, ms = Cron(expression=expression, timezone=zone), at(after, zone)
    found = []
    for _ in range(count):
        ms = next_cron(cron, ms) or 0
        found.append(shown(ms, zone))
    return found


@pytest.mark.parametrize(
    ("expression", "after", "expected"),
    [
        ("*/15 * * * * *", "2026-01-01 00:00:00", "2026-01-01 00:00:15"),
        ("0 * * * * *", "2026-01-01 00:00:00", "2026-01-01 00:01:00"),
        ("* * * * *", "2026-01-01 00:00:00", "2026-01-01 00:01:00"),
        ("0 30 9 * * MON-FRI", "2026-01-02 09:30:00", "2026-01-05 09:30:00"),
        ("30 9 * * 1-5", "2026-01-02 09:30:00", "2026-01-05 09:30:00"),
        ("0 0 0 29 2 *", "2026-01-01 00:00:00", "2028-02-29 00:00:00"),
        ("0 0 12 L * *", "2026-02-01 00:00:00", "2026-02-28 12:00:00"),
        ("0 0 0 1 1 *", "2026-01-01 00:00:00", "2027-01-01 00:00:00"),
        ("5 4 3 2 JAN *", "2025-12-31 00:00:00", "2026-01-02 03:04:05"),
        ("0 0 8 * * MON#1", "2026-01-01 00:00:00", "2026-01-05 08:00:00"),
        # Either day will do when both are named.
        ("0 0 0 13 * FRI", "2026-01-01 00:00:00", "2026-01-02 00:00:00"),
    ],
)
def test_a_cron_expression_fires_at_its_next_time(
    expression: str, after: str, expected: str
) -> None:
    assert fires(expression, "UTC", after, 1) == [expected]


@pytest.mark.parametrize(
    ("expression", "zone", "after", "expected"),
    [
        # Clocks leap from 02:00 to 03:00: what falls into the gap fires right after it, once.
        (
            "0 30 2 * * *",
            "Europe/Berlin",
            "2026-03-28 02:30:00",
            ["2026-03-29 03:00:00", "2026-03-30 02:30:00"],
        ),
        (
            "0 0,15,45 2 * * *",
            "America/New_York",
            "2026-03-08 01:00:00",
            ["2026-03-08 03:00:00", "2026-03-09 02:00:00"],
        ),
        # A time of day keeps its wall clock through both changes.
        (
            "0 0 9 * * *",
            "America/New_York",
            "2026-03-07 09:00:00",
            ["2026-03-08 09:00:00", "2026-03-09 09:00:00"],
        ),
        # Clocks go back from 03:00 to 02:00: what comes twice fires the first time.
        (
            "0 30 2 * * *",
            "Europe/Berlin",
            "2026-10-25 00:00:00",
            ["2026-10-25 02:30:00", "2026-10-26 02:30:00"],
        ),
        # … also when we look between the two passes, or in the second one.
        ("0 30 2 * * *", "Europe/Berlin", "2026-10-25 02:30:00", ["2026-10-26 02:30:00"]),
        ("0 30 2 * * *", "Europe/Berlin", "2026-10-25 02:10:00+1", ["2026-10-26 02:30:00"]),
        # Half an hour back, at Lord Howe: 02:00 becomes 01:30.
        (
            "0 45 1 * * *",
            "Australia/Lord_Howe",
            "2026-04-05 00:00:00",
            ["2026-04-05 01:45:00", "2026-04-06 01:45:00"],
        ),
        # Half an hour ahead: 02:00 becomes 02:30.
        (
            "0 15 2 * * *",
            "Australia/Lord_Howe",
            "2026-10-03 12:00:00",
            ["2026-10-04 02:30:00", "2026-10-05 02:15:00"],
        ),
        # Midnight itself can be missing.
        (
            "0 0 0 * * *",
            "Africa/Cairo",
            "2026-04-23 12:00:00",
            ["2026-04-24 01:00:00", "2026-04-25 00:00:00"],
        ),
        # Samoa left out a whole day.
        (
            "0 0 12 * * *",
            "Pacific/Apia",
            "2011-12-29 12:00:00",
            ["2011-12-31 00:00:00", "2011-12-31 12:00:00"],
        ),
        # A pace is kept through both passes of an hour, and adds nothing after a gap.
        (
            "0 */30 * * * *",
            "Europe/Berlin",
            "2026-10-25 02:00:00",
            [
                "2026-10-25 02:30:00",
                "2026-10-25 02:00:00+1",
                "2026-10-25 02:30:00+1",
                "2026-10-25 03:00:00",
            ],
        ),
        (
            "0 15 * * * *",
            "Europe/Berlin",
            "2026-03-29 01:00:00",
            ["2026-03-29 01:15:00", "2026-03-29 03:15:00"],
        ),
    ],
)
def test_clocks_that_are_changed_neither_lose_nor_double_a_fire(
    expression: str, zone: str, after: str, expected: list[str]
) -> None:
    assert fires(expression, zone, after, len(expected)) == expected


def test_a_fraction_of_a_second_does_not_fire_twice() -> None:
    cron = Cron(expression="*/5 * * * * *")

    assert next_cron(cron, at("2026-01-01 00:00:05") + 999) == at("2026-01-01 00:00:10")
    assert next_cron(cron, at("2026-01-01 00:00:05") - 1) == at("2026-01-01 00:00:05")


ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo")
FIELD = st.sampled_from(("*", "*/7", "0", "5", "1-3", "0,20"))
EXPRESSIONS = st.builds(
    lambda minute, hour, day: f"0 {minute} {hour} {day} * *",
    FIELD,
    FIELD,
    st.sampled_from(("*", "*/2", "1", "L")),
)


@given(
    expression=EXPRESSIONS,
    zone=st.sampled_from(ZONES),
    after_ms=st.integers(at("2024-01-01 00:00:00"), at("2030-01-01 00:00:00")),
)
def test_cron_times_only_ever_go_up(expression: str, zone: str, after_ms: int) -> None:
    cron = Cron(expression=expression, timezone=zone)
    times = [after_ms]
    for _ in range(5):
        times.append(next_cron(cron, times[-1]) or 0)

    assert all(earlier < later for earlier, later in pairwise(times))


@given(
    expression=EXPRESSIONS,
    zone=st.sampled_from(ZONES),
    after_ms=st.integers(at("2024-01-01 00:00:00"), at("2030-01-01 00:00:00")),
    earlier_ms=st.integers(1, 3 * 3600 * 1000),
)
def test_nothing_lies_between_a_moment_and_its_next_time(
    expression: str, zone: str, after_ms: int, earlier_ms: int
) -> None:
    cron = Cron(expression=expression, timezone=zone)
    found = next_cron(cron, after_ms) or 0

    # Looking from any moment before it, and after the one before, gives the same time.
    assert next_cron(cron, max(after_ms, found - earlier_ms)) == found


@given(
    every=st.integers(5, MAX_INTERVAL_S),
    scheduled_ms=st.integers(0, LAST_MS),
    late_ms=st.integers(0, 10**12),
)
def test_an_interval_keeps_its_beat_and_only_ever_goes_up(
    every: int, scheduled_ms: int, late_ms: int
) -> None:
    now = scheduled_ms + late_ms
    upcoming = next_fire(
        IntervalSchedule(every_seconds=every), scheduled_ms=scheduled_ms, now_ms=now
    )

    assert upcoming is not None
    assert upcoming > now
    assert (upcoming - scheduled_ms) % (every * 1000) == 0
    assert upcoming - now <= every * 1000


@given(
    every=st.integers(5, MAX_INTERVAL_S),
    planned_ms=st.integers(0, LAST_MS),
    back_ms=st.integers(1, 10**12),
)
def test_an_interval_is_never_further_ahead_than_one_step(
    every: int, planned_ms: int, back_ms: int
) -> None:
    interval, now = IntervalSchedule(every_seconds=every), planned_ms - back_ms
    step = every * 1000

    assert next_fire(interval, scheduled_ms=planned_ms, now_ms=now) == now + step
    assert now < sooner_fire(interval, planned_ms=planned_ms, now_ms=now) <= now + step
    assert sooner_fire(interval, planned_ms=now - 1, now_ms=now) == now - 1


def test_a_time_of_day_comes_sooner_on_a_clock_that_is_set_back() -> None:
    daily = Cron(expression="0 0 9 * * *")
    planned = at("2027-03-04 09:00:00")

    assert sooner_fire(daily, planned_ms=planned, now_ms=at("2027-03-03 09:00:00")) == planned
    found = sooner_fire(daily, planned_ms=planned, now_ms=at("2026-01-01 10:00:00"))
    assert shown(found) == "2026-01-02 09:00:00"
    # What is due or over is not put off.
    assert sooner_fire(daily, planned_ms=planned, now_ms=planned + 1) == planned


def test_one_moment_stays_where_it_is_when_the_clock_is_set_back() -> None:
    assert sooner_fire(Once(fire_at_ms=NOW), planned_ms=NOW, now_ms=NOW - 10**9) == NOW


def test_the_first_time_is_the_moment_one_interval_from_now_or_the_next_of_the_expression() -> None:
    assert first_fire(Once(fire_at_ms=NOW + 7), now_ms=NOW) == NOW + 7
    assert first_fire(IntervalSchedule(every_seconds=5), now_ms=NOW) == NOW + 5000
    assert shown(first_fire(Cron(expression="0 0 0 * * *"), now_ms=NOW)) == "2023-11-15 00:00:00"


def test_one_moment_has_no_next_time() -> None:
    assert next_fire(Once(fire_at_ms=NOW), scheduled_ms=NOW, now_ms=NOW) is None


@pytest.mark.parametrize(
    ("cadence", "pointer"),
    [
        (Cron(expression="0 0 0 31 2 *"), "/cadence/expression"),
        (Cron(expression="0 0 0 30 2 *"), "/cadence/expression"),
        # The 1st or 21st, if it is the last Monday: never.
        (Cron(expression="0 0 0 */20 * 1L"), "/cadence/expression"),
        (Cron(expression=""), "/cadence/expression"),
        (Cron(expression="@daily"), "/cadence/expression"),
        (Cron(expression="* * * *"), "/cadence/expression"),
        (Cron(expression="0 0 0 * * * *"), "/cadence/expression"),
        (Cron(expression="61 * * * * *"), "/cadence/expression"),
        (Cron(expression="0 0 24 * * *"), "/cadence/expression"),
        (Cron(expression="0 5-1 * * * *"), "/cadence/expression"),
        (Cron(expression="0 */0 * * * *"), "/cadence/expression"),
        (Cron(expression="0 0 0 * * XXX"), "/cadence/expression"),
        (Cron(expression="0 0 0 * * ²L"), "/cadence/expression"),
        (Cron(expression="0 " + "1," * 200 + "1 * * * *"), "/cadence/expression"),
        # Less than five seconds apart.
        (Cron(expression="* * * * * *"), "/cadence/expression"),
        (Cron(expression="*/4 * * * * *"), "/cadence/expression"),
        (Cron(expression="0,58 * * * * *"), "/cadence/expression"),
        (Cron(expression="0,58 0,59 * * * *"), "/cadence/expression"),
        (Cron(expression="0 0 0 * * *", timezone="Mars/Olympus"), "/cadence/timezone"),
        (Cron(expression="0 0 0 * * *", timezone=""), "/cadence/timezone"),
        (Cron(expression="0 0 0 * * *", timezone="Europe"), "/cadence/timezone"),
        # Another time on each machine.
        (Cron(expression="0 0 0 * * *", timezone="localtime"), "/cadence/timezone"),
        (Cron(expression="0 0 0 * * *", timezone="posixrules"), "/cadence/timezone"),
        (Cron(expression="0 0 0 * * *", timezone="Factory"), "/cadence/timezone"),
        (Cron(expression="0 0 0 * * *", timezone="../../etc/passwd"), "/cadence/timezone"),
        (IntervalSchedule(every_seconds=4), "/cadence/every_seconds"),
        (IntervalSchedule(every_seconds=-5), "/cadence/every_seconds"),
        (IntervalSchedule(every_seconds=MAX_INTERVAL_S + 1), "/cadence/every_seconds"),
        (Once(fire_at_ms=NOW - 60_001), "/cadence/fire_at_ms"),
        (Once(fire_at_ms=NOW // 1000), "/cadence/fire_at_ms"),
        (Once(fire_at_ms=LAST_MS + 1), "/cadence/fire_at_ms"),
    ],
    ids=str,
)
def test_a_cadence_that_cannot_be_kept_is_refused_by_its_field(
    cadence: Cadence, pointer: str
) -> None:
    with pytest.raises(Invalid) as refused:
        check_cadence(cadence, now_ms=NOW)

    assert [error.pointer for error in refused.value.errors] == [pointer]
    assert refused.value.domain == "schedules"


@pytest.mark.parametrize(
    "cadence",
    [
        Cron(expression="*/5 * * * * *"),
        Cron(expression="0,55 * * * * *"),
        # Two seconds over the minute, but no two minutes in a row.
        Cron(expression="0,58 */10 * * * *"),
        Cron(expression="  0   0 0 *\t* sun  ", timezone="Asia/Kathmandu"),
        Cron(expression="0 0 0 29 2 *"),
        IntervalSchedule(every_seconds=5),
        Once(fire_at_ms=NOW - 60_000),
        Once(fire_at_ms=NOW + 1),
    ],
    ids=str,
)
def test_a_cadence_that_can_be_kept_is_taken(cadence: Cadence) -> None:
    check_cadence(cadence, now_ms=NOW)


def test_the_calendar_ends_without_an_error() -> None:
    assert next_cron(Cron(expression="0 0 0 1 1 *"), LAST_MS - 1000) is None
