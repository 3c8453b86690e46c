"""How the runs that used a promoted skill ended, and what a success rate says with confidence."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import sqrt
from typing import Final

from understudy.core.records import shown_if_set
from understudy.rollout.model import Stage
from understudy.runs.model import RunStatus
from understudy.skills.usage import OUTCOMES

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


class SkillOutcome(StrEnum):
    """How a skill was carried out for a run that used it."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    # Somebody stopped it, or nobody carried it out, which says nothing of the skill.
    ABANDONED = "abandoned"


# Where several sidechains tell of one use, the first of these that any of them tells.
_WORST_FIRST: Final = (SkillOutcome.FAILED, SkillOutcome.ABANDONED, SkillOutcome.SUCCEEDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillUse:
    """That a run used a definition, and when it first did."""

    skill_name: str
    fingerprint: str
    run_id: str
    session_id: str
    used_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UseOutcome:
    """What became of one run that used a definition, however often it did."""

    skill_name: str
    fingerprint: str
    run_id: str
    session_id: str
    # The session above all that are above it.
    root_session_id: str
    # Where the rollout stood when this was noted.
    stage: Stage
    outcome: SkillOutcome
    used_at_ms: int
    ended_at_ms: int
    # The run of the sidechain that this rests on.
    carrying_run_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeCounts:
    """How many runs that used a definition ended how."""

    succeeded: int = 0
    failed: int = 0
    abandoned: int = 0


def outcome_of(statuses: Sequence[RunStatus]) -> SkillOutcome | None:
    """What the sidechains that carried a skill out for a run amount to; None while one goes on.

    How the run itself ends says nothing of the skill: it may fail over something else, and it may
    go on as if nothing had happened.
    """
    ended = {SkillOutcome(OUTCOMES[status]) for status in statuses if status in OUTCOMES}
    if any(status not in OUTCOMES for status in statuses):
        return None
    return next((outcome for outcome in _WORST_FIRST if outcome in ended), SkillOutcome.ABANDONED)


def tally_of(outcomes: Iterable[UseOutcome]) -> SuccessTally:
    """How many of those that say something succeeded."""
    speaking = [it for it in outcomes if it.outcome is not SkillOutcome.ABANDONED]
    good = sum(it.outcome is SkillOutcome.SUCCEEDED for it in speaking)
    return SuccessTally(successes=good, tries=len(speaking))
