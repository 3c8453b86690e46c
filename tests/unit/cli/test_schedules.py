"""Times of schedules, as they are typed and as they are shown."""

from datetime import UTC, datetime

import pytest
import typer

from understudy.cli.schedules import cadence_of, cadence_words, moment, span, span_words, when
from understudy.wire.schedules import CadenceView

NOTHING = {"at": None, "every": None, "cron": None, "timezone": None}


@pytest.mark.parametrize(
    ("typed", "cadence"),
    [
        ({"every": "15m"}, {"type": "interval", "every_seconds": 900}),
        ({"at": "1900000000000"}, {"type": "once", "fire_at_ms": 1_900_000_000_000}),
        ({"cron": "0 9 * * *"}, {"type": "cron", "expression": "0 9 * * *", "timezone": "UTC"}),
        (
            {"cron": "0 9 * * *", "timezone": "Asia/Tokyo"},
            {"type": "cron", "expression": "0 9 * * *", "timezone": "Asia/Tokyo"},
        ),
    ],
)
def test_each_way_of_saying_when(typed: dict[str, str], cadence: dict[str, object]) -> None:
    assert cadence_of(**(NOTHING | typed)) == cadence


@pytest.mark.parametrize(
    "typed",
    [{}, {"every": "1h", "cron": "* * * * *"}, {"every": "1h", "timezone": "UTC"}],
    ids=["none", "two", "timezone"],
)
def test_one_way_and_not_two(typed: dict[str, str]) -> None:
    with pytest.raises(typer.BadParameter):
        cadence_of(**(NOTHING | typed))


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("30s", 30), ("15m", 900), ("2h", 7200), ("1d", 86_400)]
)
def test_a_span_has_a_unit_or_is_in_seconds(text: str, seconds: int) -> None:
    assert span(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "1w", "-5s", "1.5h", "²s", "five"])
def test_what_is_no_span_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        span(text)


def test_a_moment_is_a_time_of_day_or_a_number() -> None:
    expected = round(datetime(2030, 1, 31, 9, tzinfo=UTC).timestamp() * 1000)

    assert moment("2030-01-31T09:00") == expected
    assert moment("2030-01-31T10:00+01:00") == expected
    assert moment(str(expected)) == expected


@pytest.mark.parametrize("text", ["", "tomorrow", "2030-13-01", "9999-12-31T23:59+99:00"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        moment(text)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(30, "30s"), (900, "15m"), (7200, "2h"), (5400, "1h 30m"), (90_061, "1d 1h 1m 1s")],
)
def test_a_span_is_shown_as_it_would_be_typed(seconds: int, words: str) -> None:
    assert span_words(seconds) == words
    assert sum(span(word) for word in words.split()) == seconds


@pytest.mark.parametrize(
    ("cadence", "words"),
    [
        ({"type": "interval", "every_seconds": 7200}, "every 2h"),
        ({"type": "once", "fire_at_ms": 1}, "once"),
        (
            {"type": "cron", "expression": "0 9 * * *", "timezone": "Europe/Berlin"},
            "0 9 * * * (Europe/Berlin)",
        ),
    ],
)
def test_a_cadence_is_shown_in_words(cadence: dict[str, object], words: str) -> None:
    assert cadence_words(CadenceView.model_validate(cadence)) == words


@pytest.mark.parametrize(
    ("second", "zone", "shown"),
    [
        (0, "Europe/Berlin", "2026-11-16 09:30 Europe/Berlin"),
        (0, None, "2026-11-16 08:30 UTC"),
        (15, "UTC", "2026-11-16 08:30:15 UTC"),
        (0, "Mars/Olympus", "2026-11-16 08:30 UTC"),
        (0, "../etc", "2026-11-16 08:30 UTC"),
    ],
)
def test_a_time_is_shown_with_its_zone(second: int, zone: str | None, shown: str) -> None:
    at_ms = round(datetime(2026, 11, 16, 8, 30, second, tzinfo=UTC).timestamp() * 1000)

    assert when(at_ms, zone) == shown


def test_no_time_is_shown_as_none_and_one_beyond_the_calendar_as_its_number() -> None:
    assert when(None, "UTC") is None
    assert when(10**18) == str(10**18)
    assert when(253_402_300_799_000, "Asia/Tokyo") == "253402300799000"
