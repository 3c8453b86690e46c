"""What became of the runs that used a promoted skill."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from understudy.rollout.confidence import SuccessTally
from understudy.rollout.stages import Stage
from understudy.runs.model import RunStatus
from understudy.skills.usage import OUTCOMES


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
