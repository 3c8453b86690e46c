"""How often a server is tried, and how much it may say."""

import pytest

from understudy.mcp_client.connection import LONGEST_S, STEADY_S, Backoff
from understudy.mcp_client.rate_limits import (
    MAX_BYTES_PER_S,
    MAX_LINES_PER_MINUTE,
    MAX_LINES_PER_S,
    FloodError,
    IntakeLimit,
)


class Time:
    """A time that passes when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_each_failure_in_a_row_doubles_the_wait_up_to_a_minute() -> None:
    backoff = Backoff(Time())
    waits = []
    for _ in range(9):
        backoff.failed(lived_s=0)
        waits.append(backoff.wait_s())

    assert waits == [1, 2, 4, 8, 16, 32, LONGEST_S, LONGEST_S, LONGEST_S]


def test_the_wait_passes() -> None:
    time = Time()
    backoff = Backoff(time)
    assert backoff.wait_s() <= 0
    backoff.failed(lived_s=0)
    time.now += 1

    assert backoff.wait_s() <= 0


@pytest.mark.parametrize(("lived_s", "wait_s"), [(STEADY_S, 1), (STEADY_S - 1, 4)])
def test_a_server_that_did_well_for_a_while_begins_anew(lived_s: float, wait_s: float) -> None:
    backoff = Backoff(Time())
    for _ in range(2):
        backoff.failed(lived_s=0)
    backoff.failed(lived_s=lived_s)

    assert backoff.wait_s() == wait_s


def test_a_wait_can_be_forgotten() -> None:
    backoff = Backoff(Time())
    for _ in range(5):
        backoff.failed(lived_s=0)
    backoff.forget()
    assert backoff.wait_s() <= 0

    backoff.failed(lived_s=0)

    assert backoff.wait_s() == 1


@pytest.mark.parametrize(
    "pieces", [[b"x" * MAX_BYTES_PER_S, b"x"], [b"\n" * MAX_LINES_PER_S, b"\n"]]
)
def test_more_in_a_second_than_anybody_asked_for_is_a_flood(pieces: list[bytes]) -> None:
    intake = IntakeLimit(now=Time())
    intake.take(pieces[0])
    with pytest.raises(FloodError):
        intake.take(pieces[1])


def test_every_second_counts_for_itself() -> None:
    time = Time()
    intake = IntakeLimit(now=time)
    for _ in range(10):
        intake.take(b"\n" * MAX_LINES_PER_S)
        time.now += 1


def test_a_steady_stream_that_fills_no_second_is_a_flood_within_a_minute() -> None:
    time = Time()
    intake = IntakeLimit(now=time)
    for _ in range(40):
        intake.take(b"\n" * (MAX_LINES_PER_MINUTE // 40))
        time.now += 1
    with pytest.raises(FloodError):
        intake.take(b"\n")


def test_a_minute_that_is_over_counts_no_more() -> None:
    time = Time()
    intake = IntakeLimit(now=time)
    for _ in range(200):
        intake.take(b"\n" * (MAX_LINES_PER_MINUTE // 60))
        time.now += 1
