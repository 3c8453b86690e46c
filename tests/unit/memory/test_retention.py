"""Which records go, and in which account they are counted."""

import pytest

from tests.support.factories import NOW
from understudy.core.clock import DAY_MS
from understudy.memory.policy import RunMemoryPolicy
from understudy.memory.record import Pointer, SemanticCapture
from understudy.memory.retention import newest_first, records_to_delete

POLICY = RunMemoryPolicy(retention_ms=1000, max_tracked_per_session=2, max_prompt_entries=1)
OFF = RunMemoryPolicy(
    enabled=False, retention_ms=0, max_tracked_per_session=0, max_prompt_entries=0
)


def at(age_ms: int, name: str = "", *, pending: bool = False) -> Pointer:
    return Pointer(
        run_id=name or f"run-{age_ms}",
        session_id="s1",
        recorded_at_ms=NOW - age_ms,
        semantic_capture=SemanticCapture.PENDING if pending else SemanticCapture.SKIPPED,
    )


CASES = {
    "nothing is too old or too many": (POLICY, [at(1), at(2)], [], []),
    "a record exactly as old as allowed stays": (POLICY, [at(1000)], [], []),
    "a record a moment older goes": (POLICY, [at(1001)], ["run-1001"], []),
    "the oldest go when there are too many": (
        POLICY,
        [at(1), at(2), at(3), at(4)],
        [],
        ["run-3", "run-4"],
    ),
    "what is too old and too many counts as too old": (
        POLICY,
        [at(1), at(2), at(3), at(2000)],
        ["run-2000"],
        ["run-3"],
    ),
    "what is too old takes no room": (
        POLICY,
        [at(1), at(2000), at(3000)],
        ["run-2000", "run-3000"],
        [],
    ),
    "while disabled everything is too old": (OFF, [at(0), at(1)], ["run-0", "run-1"], []),
    "of two made at once the one with the lower id goes": (
        POLICY,
        [at(5, "run-c"), at(5, "run-b"), at(5, "run-a")],
        [],
        ["run-a"],
    ),
    "what is still to be learned from is not too many": (
        POLICY,
        [at(1), at(2), at(3, pending=True), at(4)],
        [],
        ["run-4"],
    ),
    "but it can be too old": (POLICY, [at(1001, pending=True)], ["run-1001"], []),
}


@pytest.mark.parametrize(("policy", "pointers", "expired", "overflow"), CASES.values(), ids=CASES)
def test_what_goes(
    policy: RunMemoryPolicy, pointers: list[Pointer], expired: list[str], overflow: list[str]
) -> None:
    leaving = records_to_delete(newest_first(list(reversed(pointers))), policy, now_ms=NOW)

    assert [it.run_id for it in leaving.expired] == expired
    assert [it.run_id for it in leaving.overflow] == overflow
    assert list(leaving.run_ids) == expired + overflow


@pytest.mark.parametrize(("age_ms", "goes"), [(DAY_MS, False), (DAY_MS + 1, True)])
def test_what_is_still_to_be_learned_from_is_waited_for_a_day(age_ms: int, goes: bool) -> None:
    policy = RunMemoryPolicy(max_tracked_per_session=1, max_prompt_entries=1)

    leaving = records_to_delete([at(0), at(age_ms, pending=True)], policy, now_ms=NOW)

    assert bool(leaving.overflow) is goes


def test_newer_ones_that_are_not_shown_take_room() -> None:
    leaving = records_to_delete([at(3), at(4)], POLICY, now_ms=NOW, newer=1)

    assert [it.run_id for it in leaving.overflow] == ["run-4"]
