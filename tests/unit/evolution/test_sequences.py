"""Steps that an agent takes again and again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.evolution.usage_rules import (
    MAX_STEPS,
    MIN_CALLS,
    MIN_RUNS,
    MIN_STEPS,
    MIN_TOOLS,
    MOST,
    RunTools,
    overlap,
    repeated_steps,
)

REPORT = ("list_files", "read_file", "shell", "write_file", "send_mail")


def runs_of(*tools: tuple[str, ...], agent_id: str = "clerk") -> list[RunTools]:
    return [
        RunTools(run_id=f"run_{agent_id}_{at}", agent_id=agent_id, tools=each)
        for at, each in enumerate(tools)
    ]


def test_the_same_steps_in_several_runs_are_found() -> None:
    [found] = repeated_steps(runs_of(REPORT, REPORT, ("probe",), REPORT))

    assert (found.agent_id, found.steps) == ("clerk", REPORT)
    assert found.run_ids == ("run_clerk_0", "run_clerk_1", "run_clerk_3")


def test_they_may_stand_among_other_steps() -> None:
    before, after = (("ask_user", *REPORT), (*REPORT, "probe"))
    [found] = repeated_steps(runs_of(before, REPORT, after))

    assert found.steps == REPORT


def test_how_often_a_step_is_repeated_makes_no_difference() -> None:
    many = ("list_files", *["read_file"] * 7, "shell", "write_file", "write_file", "send_mail")

    assert [each.steps for each in repeated_steps(runs_of(REPORT, many, many))] == [REPORT]


@pytest.mark.parametrize(
    "tools",
    [
        pytest.param([REPORT, REPORT], id="too few runs"),
        pytest.param([("a", "b", "c", "a")] * 5, id="too few calls"),
        pytest.param([("read_file",) * 40] * 5, id="one tool alone"),
        pytest.param([("a", *["b"] * 30)] * 5, id="two steps"),
        pytest.param([(), (), ()], id="no calls"),
    ],
)
def test_what_is_quickly_done_anew_is_not_worth_a_skill(tools: list[tuple[str, ...]]) -> None:
    assert repeated_steps(runs_of(*tools)) == ()


def test_each_agent_is_looked_at_alone() -> None:
    mixed = [
        *runs_of(REPORT, REPORT, agent_id="one"),
        *runs_of(REPORT, REPORT, REPORT, agent_id="two"),
    ]
    assert [each.agent_id for each in repeated_steps(mixed)] == ["two"]


def test_a_part_of_what_was_told_is_not_told_as_well() -> None:
    other = ("search_files", "edit_file", "shell", "edit_file", "probe")
    found = repeated_steps(runs_of(REPORT, REPORT, REPORT, other, other, other))

    assert {each.steps for each in found} == {REPORT, other}


@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=30).map(tuple), max_size=8))
def test_what_is_found_is_always_within_the_bounds(tools: list[tuple[str, ...]]) -> None:
    found = repeated_steps(runs_of(*tools))

    assert len(found) <= MOST
    for each in found:
        assert MIN_STEPS <= len(each.steps) <= MAX_STEPS
        assert len(set(each.steps)) >= MIN_TOOLS
        assert len(set(each.run_ids)) == len(each.run_ids) >= MIN_RUNS
        assert all(one != other for one, other in zip(each.steps, each.steps[1:], strict=False))
    assert repeated_steps(runs_of(*tools)) == found


def test_the_bounds_are_those_of_a_task_that_takes_many_calls() -> None:
    assert (MIN_CALLS, MIN_RUNS) == (5, 3)


def test_overlap_is_having_a_piece_in_common() -> None:
    assert overlap(tuple("abc"), tuple("xabc"))
    assert overlap(tuple("abcde"), tuple("cdefg"))
    assert not overlap(tuple("abcd"), tuple("cdef"))
    assert not overlap(tuple("abc"), tuple("axbxc"))
