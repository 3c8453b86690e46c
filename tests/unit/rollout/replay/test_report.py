"""What a replay amounts to."""

import json
from itertools import product
from typing import Any

import pytest

from understudy.rollout.outcome import SuccessTally, wilson_lower_bound
from understudy.rollout.replay.report import (
    JudgedBy,
    ReplayedCase,
    ReplayedRun,
    ReplayReport,
    ReplayVerdict,
    report_json,
    tally_in,
)

OK, FAILED, UNKNOWN = ReplayVerdict.SUCCEEDED, ReplayVerdict.FAILED, ReplayVerdict.UNDECIDED


def fared(verdict: ReplayVerdict, run_id: str = "run_1", **fields: Any) -> ReplayedRun:
    return ReplayedRun(run_id=run_id, verdict=verdict, judged_by=JudgedBy.MARKER, **fields)


def case(
    recorded: ReplayVerdict, without: ReplayVerdict, with_: ReplayVerdict, run_id: str = "run_1"
) -> ReplayedCase:
    return ReplayedCase(
        recorded=fared(recorded, run_id), without_skill=fared(without), with_skill=fared(with_)
    )


@pytest.mark.parametrize(("recorded", "without"), [*product(ReplayVerdict, ReplayVerdict)])
def test_what_succeeds_with_the_skill_is_no_regression(
    recorded: ReplayVerdict, without: ReplayVerdict
) -> None:
    assert not case(recorded, without, OK).is_regression


@pytest.mark.parametrize("with_", [FAILED, UNKNOWN])
def test_what_worked_or_may_have_and_is_not_known_to_work_now_is_one(with_: ReplayVerdict) -> None:
    assert not case(FAILED, FAILED, with_).is_regression
    for before in product(ReplayVerdict, ReplayVerdict):
        if before != (FAILED, FAILED):
            assert case(*before, with_).is_regression, before


def test_a_clean_replay_in_which_something_succeeds_passes() -> None:
    report = ReplayReport(cases=(case(FAILED, FAILED, OK), case(FAILED, FAILED, FAILED)))

    assert (report.is_clean, report.failed_because, report.regressions) == (True, None, ())


def test_a_replay_in_which_nothing_succeeds_shows_nothing() -> None:
    report = ReplayReport(cases=(case(FAILED, FAILED, FAILED),))

    assert (report.is_clean, report.failed_because) == (True, "no case succeeded with the skill")


def test_one_regression_is_one_too_many() -> None:
    report = ReplayReport(cases=(case(OK, OK, OK), case(OK, OK, FAILED, "run_2")))

    assert report.regressions == ("run_2",)
    assert report.failed_because == "1 of 2 cases went worse with the skill"


def test_the_report_adds_up_each_side() -> None:
    much: dict[str, Any] = {
        "tool_calls": 2,
        "unrecorded_calls": 1,
        "input_tokens": 30,
        "output_tokens": 4,
    }
    cases = tuple(
        ReplayedCase(
            recorded=fared(OK, f"run_{number}"),
            without_skill=fared(FAILED, took_ms=500, **much),
            with_skill=fared(OK if number else UNKNOWN, tool_calls=1, took_ms=100),
        )
        for number in range(3)
    )

    kept = json.loads(json.dumps(report_json(ReplayReport(cases=cases))))

    assert kept["without_skill"] == {
        "successes": 0,
        "tries": 3,
        "tool_calls": 6,
        "unrecorded_calls": 3,
        "input_tokens": 90,
        "output_tokens": 12,
        "took_ms": 1500,
    }
    assert (kept["with_skill"]["successes"], kept["with_skill"]["took_ms"]) == (2, 300)
    assert kept["recorded"]["successes"] == 3
    assert kept["wilson_lower_bound"] == wilson_lower_bound(SuccessTally(successes=2, tries=3))
    assert kept["wilson_lower_bound"] < 2 / 3 < kept["wilson_upper_bound"]
    assert (kept["regressions"], kept["is_clean"]) == (["run_0"], False)
    assert [each["is_regression"] for each in kept["cases"]] == [True, False, False]
    assert kept["cases"][0]["with_skill"]["verdict"] == "undecided"
    assert tally_in(kept) == SuccessTally(successes=2, tries=3)


@pytest.mark.parametrize(
    "torn",
    [
        {},
        {"with_skill": None},
        {"with_skill": {}},
        {"with_skill": {"successes": 3, "tries": 2}},
        {"with_skill": {"successes": True, "tries": 2}},
        {"with_skill": {"successes": "1", "tries": 2}},
    ],
)
def test_a_report_that_does_not_tell_counts_for_nothing(torn: dict[str, Any]) -> None:
    assert tally_in(torn) == SuccessTally(successes=0, tries=0)
