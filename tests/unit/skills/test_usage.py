"""What became of the runs that knew of a skill."""

import time
from dataclasses import replace

from understudy.core.clock import DAY_MS
from understudy.runs.lifecycle import TERMINAL
from understudy.runs.model import RunStatus
from understudy.skills.usage import (
    OUTCOMES,
    SkillVersionUsage,
    UsesByStatus,
    day_begin,
    day_of,
    totals,
)


def used(status: RunStatus, runs: int, *, version: int = 1, at: int = 5) -> UsesByStatus:
    return UsesByStatus(ref="skl_1", version=version, status=status, runs=runs, last_at_ms=at)


def test_every_end_of_a_run_counts_for_something_and_nothing_else_does() -> None:
    assert OUTCOMES.keys() == TERMINAL


def test_figures_are_put_together_by_version_newest_first() -> None:
    found = totals(
        {("skl_1", 1): 9, ("skl_1", 2): 4},
        (
            used(RunStatus.COMPLETED, 2, at=7),
            used(RunStatus.CANCELLED, 1),
            used(RunStatus.INTERRUPTED, 2, at=6),
            used(RunStatus.RUNNING, 1, at=9),
            used(RunStatus.FAILED, 3, version=2),
        ),
    )
    first = SkillVersionUsage(
        ref="skl_1",
        version=1,
        offered=9,
        used=6,
        succeeded=2,
        abandoned=3,
        last_used_at_ms=9,
    )
    second = SkillVersionUsage(
        ref="skl_1", version=2, offered=4, used=3, failed=3, last_used_at_ms=5
    )
    assert found == (second, first)
    assert (first.ended, second.ended) == (5, 3)


def test_the_figures_of_many_skills_are_put_together_in_no_time() -> None:
    offered = {(f"skl_{number}", 1): 5 for number in range(10_000)}
    uses = tuple(replace(used(RunStatus.COMPLETED, 1), ref=ref) for ref, _ in offered)
    begun = time.process_time()

    found = totals(offered, uses)

    assert {it.used for it in found} == {1}
    assert len(found) == len(offered)
    assert time.process_time() - begun < 2


def test_a_day_begins_at_midnight_utc() -> None:
    noon = 3 * DAY_MS + DAY_MS // 2

    assert (day_of(noon), day_begin(noon)) == (3, 3 * DAY_MS)
    assert day_begin(3 * DAY_MS) == 3 * DAY_MS
    assert day_begin(0) == 0
