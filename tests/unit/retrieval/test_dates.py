"""A question may name a time, in several ways of writing."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.retrieval.dates import Period, period_of

NOW = 1_700_000_000_000  # 14 November 2023, a Tuesday


def ms(year: int, month: int, day: int) -> int:
    return round(datetime(year, month, day, tzinfo=UTC).timestamp() * 1000)


def spoken(text: str) -> Period:
    period = period_of(text, NOW)
    assert period is not None
    return period


@pytest.mark.parametrize(
    "text",
    [
        "on 9 June, 2023",
        "on the 9th of June 2023",
        "on June 9, 2023",
        "Jun 9th 2023",
        "2023-06-09",
        "2023/6/9",
        "ngày 9 tháng 6 năm 2023",
        "2023年6月9日",
    ],
)
def test_a_day_is_read_as_people_write_it(text: str) -> None:
    period = spoken(f"what happened {text}?")

    assert (period.start_ms, period.end_ms) == (ms(2023, 6, 9), ms(2023, 6, 10))


@pytest.mark.parametrize("text", ["in June 2023", "tháng 6 năm 2023", "2023年6月"])
def test_a_month_is_read_too(text: str) -> None:
    assert (spoken(text).start_ms, spoken(text).end_ms) == (ms(2023, 6, 1), ms(2023, 7, 1))


def test_december_ends_with_the_year() -> None:
    assert spoken("December 2022").end_ms == ms(2023, 1, 1)


def test_a_year_is_read_too() -> None:
    assert (spoken("in 2022").start_ms, spoken("in 2022").end_ms) == (
        ms(2022, 1, 1),
        ms(2023, 1, 1),
    )


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("today", ms(2023, 11, 14), ms(2023, 11, 15)),
        ("hôm qua", ms(2023, 11, 13), ms(2023, 11, 14)),
        ("last week", ms(2023, 11, 6), ms(2023, 11, 13)),
        ("this week", ms(2023, 11, 13), ms(2023, 11, 20)),
        ("上个月", ms(2023, 10, 1), ms(2023, 11, 1)),
        ("this month", ms(2023, 11, 1), ms(2023, 12, 2)),
    ],
)
def test_near_times_are_counted_from_now(text: str, start: int, end: int) -> None:
    assert (spoken(text).start_ms, spoken(text).end_ms) == (start, end)


@pytest.mark.parametrize("text", ["yesterday", "nothing of the kind", "port 5433", "32 June 2023x"])
def test_no_time_is_read_where_none_is_said(text: str) -> None:
    assert period_of(text) is None


def test_now_beyond_all_calendars_is_no_time() -> None:
    assert period_of("yesterday", 10**20) is None
    assert period_of("no time at all", NOW) is None


def test_a_day_that_does_not_exist_is_at_least_its_year() -> None:
    assert spoken("31 February 2023").end_ms > ms(2023, 2, 28)


def test_people_speak_of_it_for_a_while_afterwards() -> None:
    period = spoken("9 June 2023")
    fits = [period.fit(ms(2023, 6, day)) for day in (8, 9, 12, 30)]

    assert fits[0] == fits[3] == 0
    assert fits[1] == 1
    assert 0 < fits[2] < 1


@given(st.text(max_size=100), st.integers())
def test_any_text_at_any_time_is_read(text: str, now_ms: int) -> None:
    period_of(text + " last month", now_ms)
