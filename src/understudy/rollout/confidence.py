"""How sure a few successes make us: Wilson's interval, and whether one rate is below another."""

from dataclasses import dataclass
from math import sqrt
from typing import Final

from understudy.core.records import shown_if_set

# Two-sided, 95 %.
Z_95: Final = 1.959963984540054


@dataclass(frozen=True, slots=True, kw_only=True)
class SuccessTally:
    """How many of a number of tries succeeded."""

    successes: int
    tries: int

    def __post_init__(self) -> None:
        if not 0 <= self.successes <= self.tries:
            raise ValueError(f"{self.successes} of {self.tries} is no tally")

    @shown_if_set
    @property
    def rate(self) -> float | None:
        """The share that succeeded; None where nothing was tried."""
        return self.successes / self.tries if self.tries else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceInterval:
    """Where the true rate probably is."""

    low: float
    high: float


def wilson_interval(tally: SuccessTally) -> ConfidenceInterval:
    """Wilson's score interval; everything from 0 to 1 where nothing was tried."""
    tries = tally.tries
    if not tries:
        return ConfidenceInterval(low=0.0, high=1.0)
    rate = tally.successes / tries
    square = Z_95 * Z_95 / tries
    centre = (rate + square / 2) / (1 + square)
    half = Z_95 * sqrt(rate * (1 - rate) / tries + square / (4 * tries)) / (1 + square)
    # None and all are exact; rounding must not put them a hair beside it.
    low = 0.0 if tally.successes == 0 else max(0.0, centre - half)
    high = 1.0 if tally.successes == tries else min(1.0, centre + half)
    return ConfidenceInterval(low=low, high=high)


def wilson_lower_bound(tally: SuccessTally) -> float:
    """The rate that is at least reached, as far as so many tries can tell."""
    return wilson_interval(tally).low


def is_worse(recent: SuccessTally, baseline: SuccessTally) -> bool:
    """Whether a rate is below another with confidence: their intervals do not touch.

    There is no least number of tries: the interval of a few is wide enough.
    """
    return wilson_interval(recent).high < wilson_interval(baseline).low
