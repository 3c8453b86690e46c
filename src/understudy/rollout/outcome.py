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
    """The successes among a number of tries."""

    successes: int
    tries: int

    def __post_init__(self) -> None:
        if not 0 <= self.successes <= self.tries:
            raise ValueError(f"{self.successes} of {self.tries} is no tally")

    @shown_if_set
    @property
    def rate(self) -> float | None:
        """The success rate; None without tries."""
        return self.successes / self.tries if self.tries else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceInterval:
    """The bounds of the true success rate."""

    low: float
    high: float


def wilson_interval(tally: SuccessTally) -> ConfidenceInterval:
    """Wilson's score interval; 0 to 1 without tries."""
    tries = tally.tries
    if not tries:
        return ConfidenceInterval(low=0.0, high=1.0)
    rate = tally.successes / tries
    square = Z_95 * Z_95 / tries
    centre = (rate + square / 2) / (1 + square)
    half = Z_95 * sqrt(rate * (1 - rate) / tries + square / (4 * tries)) / (1 + square)
    # Exact at no success and at full success, where rounding would be off by a hair.
    low = 0.0 if tally.successes == 0 else max(0.0, centre - half)
    high = 1.0 if tally.successes == tries else min(1.0, centre + half)
    return ConfidenceInterval(low=low, high=high)


def wilson_lower_bound(tally: SuccessTally) -> float:
    """The lower bound of the success rate."""
    return wilson_interval(tally).low


def is_worse(recent: SuccessTally, baseline: SuccessTally) -> bool:
    """Whether a success rate is below another with confidence: the intervals do not overlap.

    No minimum of tries is needed: few tries have a wide interval.
    """
    return wilson_interval(recent).high < wilson_interval(baseline).low


class SkillOutcome(StrEnum):
    """How the execution of a skill for a run ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    # The execution was cancelled or never started, which says nothing about the skill.
    ABANDONED = "abandoned"


# Of several sidechains of one use the worst outcome counts.
_WORST_FIRST: Final = (SkillOutcome.FAILED, SkillOutcome.ABANDONED, SkillOutcome.SUCCEEDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillUse:
    """The use of a definition by a run, and the time of the first use."""

    skill_name: str
    fingerprint: str
    run_id: str
    session_id: str
    used_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UseOutcome:
    """The outcome of one run that used a definition, however often it did."""

    skill_name: str
    fingerprint: str
    run_id: str
    session_id: str
    # The root session of the sidechains.
    root_session_id: str
    # The stage of the rollout when the outcome was recorded.
    stage: Stage
    outcome: SkillOutcome
    used_at_ms: int
    ended_at_ms: int
    # The sidechain run that the outcome comes from.
    carrying_run_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeCounts:
    """The number of runs that used a definition, by outcome."""

    succeeded: int = 0
    failed: int = 0
    abandoned: int = 0


def outcome_of(statuses: Sequence[RunStatus]) -> SkillOutcome | None:
    """The outcome of the sidechains that executed a skill for a run; None while one is not over.

    The status of the run itself is no outcome: it may fail for other reasons, or succeed although
    the skill failed.
    """
    ended = {SkillOutcome(OUTCOMES[status]) for status in statuses if status in OUTCOMES}
    if any(status not in OUTCOMES for status in statuses):
        return None
    return next((outcome for outcome in _WORST_FIRST if outcome in ended), SkillOutcome.ABANDONED)


def tally_of(outcomes: Iterable[UseOutcome]) -> SuccessTally:
    """The success tally of outcomes that are not abandoned."""
    speaking = [it for it in outcomes if it.outcome is not SkillOutcome.ABANDONED]
    good = sum(it.outcome is SkillOutcome.SUCCEEDED for it in speaking)
    return SuccessTally(successes=good, tries=len(speaking))
