"""What the runs of one use amount to together."""

import pytest

from understudy.rollout.outcome import SkillOutcome, outcome_of
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import RunStatus
from understudy.skills.usage import OUTCOMES

COMPLETED, FAILED, CANCELLED = RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED


@pytest.mark.parametrize(
    ("statuses", "outcome"),
    [
        ((COMPLETED,), SkillOutcome.SUCCEEDED),
        ((COMPLETED, COMPLETED), SkillOutcome.SUCCEEDED),
        ((COMPLETED, FAILED), SkillOutcome.FAILED),
        ((FAILED, COMPLETED), SkillOutcome.FAILED),
        ((FAILED, CANCELLED), SkillOutcome.FAILED),
        ((COMPLETED, CANCELLED), SkillOutcome.ABANDONED),
        ((RunStatus.INTERRUPTED, COMPLETED), SkillOutcome.ABANDONED),
        ((COMPLETED, RunStatus.RUNNING), None),
        ((FAILED, RunStatus.WAITING_FOR_APPROVAL), None),
    ],
)
def test_the_worst_of_them_counts_once_all_are_over(
    statuses: tuple[RunStatus, ...], outcome: SkillOutcome | None
) -> None:
    assert outcome_of(statuses) is outcome


@pytest.mark.parametrize("status", RunStatus)
def test_every_run_that_has_ended_has_an_outcome(status: RunStatus) -> None:
    assert (outcome_of([status]) is not None) is (status in TERMINAL)


def test_what_nobody_carried_out_says_nothing() -> None:
    assert outcome_of([]) is SkillOutcome.ABANDONED


def test_outcomes_are_those_of_all_skills() -> None:
    assert set(OUTCOMES.values()) == {str(outcome) for outcome in SkillOutcome}
