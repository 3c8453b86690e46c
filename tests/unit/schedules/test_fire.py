"""The rules around a fire: its lifecycle, its overlaps, its retries."""

import re
from itertools import product
from pathlib import Path

import pytest

from understudy.core.errors import InvalidTransition
from understudy.runs.model import RunStatus
from understudy.schedules.fire import BLOCKS, RetryPolicy
from understudy.schedules.model import OPEN, SCHEDULE, OverlapPolicy, ScheduleStatus

DOCS = Path(__file__).parents[3] / "docs" / "howto" / "schedules.md"
EXPECTED = {
    "active": "paused completed canceled",
    "paused": "active completed canceled",
    "completed": "",
    "canceled": "",
}


@pytest.mark.parametrize(("current", "target"), list(product(ScheduleStatus, ScheduleStatus)))
def test_every_pair_is_as_expected(current: ScheduleStatus, target: ScheduleStatus) -> None:
    expected = current is target or target in EXPECTED[current].split()

    assert SCHEDULE.allows(current, target) is expected
    if not expected:
        with pytest.raises(InvalidTransition) as refused:
            SCHEDULE.check(current, target)
        assert refused.value.code == "schedule_state_conflict"


def test_active_and_paused_have_not_ended() -> None:
    assert {"active", "paused"} == OPEN


def test_the_documents_show_this_machine() -> None:
    [diagram] = re.findall(r"```mermaid\n(stateDiagram-v2.*?)\n```", DOCS.read_text(), re.DOTALL)

    assert diagram == SCHEDULE.mermaid()


@pytest.mark.parametrize(
    ("policy", "unfinished", "blocked"),
    [
        (OverlapPolicy.SKIP, (), False),
        (OverlapPolicy.SKIP, (RunStatus.QUEUED,), True),
        (OverlapPolicy.SKIP, (RunStatus.WAITING_FOR_USER_QUESTION,), True),
        (OverlapPolicy.QUEUE_ONE, (), False),
        (OverlapPolicy.QUEUE_ONE, (RunStatus.RUNNING,), False),
        (OverlapPolicy.QUEUE_ONE, (RunStatus.WAITING_FOR_APPROVAL,), False),
        (OverlapPolicy.QUEUE_ONE, (RunStatus.QUEUED,), True),
        (OverlapPolicy.QUEUE_ONE, (RunStatus.RUNNING, RunStatus.QUEUED), True),
        (OverlapPolicy.PARALLEL, (RunStatus.RUNNING, RunStatus.QUEUED), False),
    ],
)
def test_what_each_overlap_policy_lets_through(
    policy: OverlapPolicy, unfinished: tuple[RunStatus, ...], blocked: bool
) -> None:
    assert BLOCKS[policy](unfinished) is blocked


def test_every_overlap_policy_has_a_rule() -> None:
    assert set(BLOCKS) == set(OverlapPolicy)


def test_the_waits_double_up_to_the_longest() -> None:
    policy = RetryPolicy()

    assert [policy.wait_ms(n) for n in (1, 2, 3, 6, 7, 8, 10_000)] == [
        *(500, 1000, 2000, 16_000),
        *(30_000, 30_000, 30_000),
    ]


def test_no_attempts_means_no_end() -> None:
    assert not RetryPolicy().is_last(1_000_000)
    assert [RetryPolicy(attempts=2).is_last(n) for n in (1, 2, 3)] == [False, True, True]
