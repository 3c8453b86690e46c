"""A clock that is set back: no schedule stands still, and none fires twice for the same time."""

from typing import Any

import pytest
import sqlalchemy as sa

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import ALICE
from tests.support.schedule_harness import HOUR, MINUTE, ScheduleHarness
from understudy.runs.model import RunStatus
from understudy.schedules.model import Cron, IntervalSchedule, Once, OverlapPolicy, Schedule
from understudy.storage.unit import Units

DAY = 24 * HOUR
YEAR = 365 * DAY
EVERY_MINUTE = (IntervalSchedule(every_seconds=60), Cron(expression="0 * * * * *"))
DAILY = Cron(expression="0 0 9 * * *")


@pytest.fixture
def almanac(units: Units) -> ScheduleHarness:
    return ScheduleHarness(units)


def create(almanac: ScheduleHarness, cadence: Any) -> Schedule:
    return almanac.create(cadence, overlap_policy=OverlapPolicy.PARALLEL)


def times(almanac: ScheduleHarness, schedule: Schedule) -> list[int]:
    return [execution.scheduled_for_ms or 0 for execution in almanac.executions(schedule)]


def wait_s(almanac: ScheduleHarness, schedule: Schedule) -> float:
    """How far ahead the next time of a schedule is."""
    return ((almanac.get(schedule).due_at_ms or 0) - almanac.clock.now_ms()) / 1000


@pytest.mark.parametrize("cadence", EVERY_MINUTE, ids=["interval", "cron"])
@pytest.mark.parametrize("has_restarted", [False, True])
def test_a_schedule_does_not_stand_still(
    almanac: ScheduleHarness, cadence: Any, has_restarted: bool
) -> None:
    schedule = create(almanac, cadence)
    for _ in range(3):
        almanac.pass_ms(MINUTE)
    almanac.clock.advance(-DAY)
    later = almanac.beside() if has_restarted else almanac
    later.pass_ms(0)

    assert 0 < wait_s(later, schedule) <= 60
    for _ in range(10):
        later.pass_ms(MINUTE)
    assert len(times(later, schedule)) == 13


@pytest.mark.parametrize("expression", ["0 * * * * *", "0 */5 * * * *", "0 0 * * * *"])
def test_a_cron_time_that_was_dealt_with_does_not_fire_again(
    almanac: ScheduleHarness, expression: str
) -> None:
    schedule = create(almanac, Cron(expression=expression))
    for _ in range(40):
        almanac.pass_ms(MINUTE)
    fired = times(almanac, schedule)
    almanac.pass_ms(-30 * MINUTE)
    almanac.pass_ms(-1000)
    assert times(almanac, schedule) == fired

    for _ in range(120):
        almanac.pass_ms(MINUTE)
    again = times(almanac, schedule)
    assert len(again) == len(set(again))
    assert again == sorted(again)
    assert len(again) > len(fired)


def test_times_that_were_left_out_are_made_up_for_and_the_others_are_not(
    almanac: ScheduleHarness,
) -> None:
    schedule = create(almanac, Cron(expression="0 0 * * * *"))
    almanac.pass_ms(HOUR)
    almanac.schedules.pause(ALICE, schedule.schedule_id)
    almanac.pass_ms(2 * HOUR)
    almanac.schedules.resume(ALICE, schedule.schedule_id)
    almanac.pass_ms(HOUR)
    [first, last] = times(almanac, schedule)
    assert last - first == 3 * HOUR
    almanac.pass_ms(-5 * HOUR)
    for _ in range(20 * 6):
        almanac.pass_ms(HOUR // 20)

    between = [first + HOUR, first + 2 * HOUR]
    assert times(almanac, schedule)[2:] == [first - HOUR, *between, last + HOUR]


def test_a_clock_that_was_a_year_ahead_costs_no_year(almanac: ScheduleHarness) -> None:
    schedules = [create(almanac, cadence) for cadence in (*EVERY_MINUTE, DAILY)]
    almanac.pass_ms(YEAR)
    for run in almanac.runs():
        almanac.end(run.run_id, RunStatus.COMPLETED)
    almanac.pass_ms(-YEAR)
    for _ in range(48):
        almanac.pass_ms(HOUR)

    assert [len(times(almanac, schedule)) > 1 for schedule in schedules] == [True] * 3
    # Of two days, one time: the first was dealt with when the clock leapt over it.
    assert len(times(almanac, schedules[2])) == 2


def test_one_moment_comes_when_the_clock_is_there_again(almanac: ScheduleHarness) -> None:
    schedule = almanac.create(Once(fire_at_ms=almanac.clock.now_ms() + HOUR))
    almanac.pass_ms(0)
    almanac.pass_ms(-HOUR)

    assert wait_s(almanac, schedule) == 2 * 3600


def test_one_that_is_paused_does_not_stand_still_after_that(almanac: ScheduleHarness) -> None:
    schedule = create(almanac, IntervalSchedule(every_seconds=60))
    almanac.schedules.pause(ALICE, schedule.schedule_id)
    almanac.pass_ms(0)
    almanac.pass_ms(-DAY)
    assert almanac.get(schedule).due_at_ms is None

    almanac.schedules.resume(ALICE, schedule.schedule_id)
    assert 0 < wait_s(almanac, schedule) <= 60


def test_one_that_is_tried_again_is_tried_now(almanac: ScheduleHarness) -> None:
    schedule = create(almanac, IntervalSchedule(every_seconds=60))
    almanac.catalogue.known.clear()
    almanac.pass_ms(MINUTE)
    assert almanac.statuses(schedule) == ["retrying"]
    almanac.catalogue.known.add("a")
    almanac.pass_ms(-DAY)

    assert almanac.statuses(schedule) == ["submitted"]


def test_a_schedule_that_cannot_be_read_does_not_hold_up_the_others(
    database: UnitsOnDatabase,
) -> None:
    almanac = ScheduleHarness(database.units)
    damaged, fine = (create(almanac, IntervalSchedule(every_seconds=60)) for _ in range(2))
    almanac.pass_ms(0)
    with database.engine.begin() as connection:
        connection.execute(
            sa.text("UPDATE schedules SET cadence = '{' WHERE schedule_id = :id"),
            {"id": damaged.schedule_id},
        )
    almanac.pass_ms(-DAY)

    assert 0 < wait_s(almanac, fine) <= 60


def test_a_clock_that_goes_on_changes_no_plan(almanac: ScheduleHarness) -> None:
    schedules = [create(almanac, cadence) for cadence in (*EVERY_MINUTE, DAILY)]
    almanac.clock.advance(1)
    almanac.beside().pass_ms(0)

    assert [almanac.get(schedule) for schedule in schedules] == schedules
