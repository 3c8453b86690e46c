"""How the command line tells of the uses of a promoted skill."""

from typing import Any

from tests.support.rollout_factories import make_evidence, make_rollout
from understudy.api.routes.rollouts import rollout_view
from understudy.cli.rollouts import MOST_EVIDENCE, pairs
from understudy.rollout.evidence import Counts
from understudy.rollout.model import Stage
from understudy.rollout.outcome import OutcomeCounts, SuccessTally
from understudy.rollout.regression import Uses
from understudy.rollout.service import RolloutDetail

UNUSED: dict[str, Any] = {
    "offered_percent": 100,
    "canary": OutcomeCounts(),
    "active": OutcomeCounts(),
    "baseline": SuccessTally(successes=0, tries=0),
    "recent": SuccessTally(successes=0, tries=0),
}


def shown(**uses: Any) -> dict[str, object]:
    rollout = make_rollout(status=Stage.ACTIVE)
    detail = RolloutDetail(record=rollout, counts=Counts(), uses=Uses(**(UNUSED | uses)))
    return dict(pairs(rollout_view(detail)))


def test_a_skill_that_nobody_used_has_no_figures() -> None:
    assert shown()["uses in force"] is None
    assert shown()["offered to"] == "100 % of sessions"


def test_what_it_did_lately_stands_beside_its_baseline() -> None:
    told = shown(
        active=OutcomeCounts(succeeded=8, failed=1, abandoned=2),
        baseline=SuccessTally(successes=5, tries=5),
        recent=SuccessTally(successes=3, tries=4),
    )

    assert told["uses in force"] == (
        "8 succeeded, 1 failed, 2 abandoned; lately 3 of 4, baseline 5 of 5"
    )


def test_how_many_runs_executed_it_is_said_of_all_runs_and_not_of_the_verifying_alone() -> None:
    counts = Counts(
        successful_run_count=1,
        distinct_session_count=1,
        executed_run_count=2,
        canary_success_count=1,
        canary_failure_count=1,
    )
    detail = RolloutDetail(record=make_rollout(), counts=counts, uses=Uses(**UNUSED))
    told = dict(pairs(rollout_view(detail)))

    assert told["verified"] == "1 run in 1 session"
    assert told["carried out by"] == "2 of 3 runs"
    assert shown()["carried out by"] is None


def test_an_active_skill_that_is_held_can_be_released() -> None:
    def actions(**fields: Any) -> list[str]:
        record = make_rollout(**fields)
        view = rollout_view(RolloutDetail(record=record, counts=Counts(), uses=Uses(**UNUSED)))
        return [*view.actions]

    assert "release" not in actions(status=Stage.ACTIVE)
    assert "release" in actions(status=Stage.ACTIVE, held_reason="it does worse")
    assert "hold" not in actions(status=Stage.CANARY, held_reason="a run failed")


def test_of_much_evidence_the_newest_is_listed_and_the_rest_counted() -> None:
    rollout = make_rollout()
    evidence = tuple(make_evidence(rollout, f"run_{at}") for at in range(200))
    counts = Counts(successful_run_count=5000, canary_success_count=3)
    detail = RolloutDetail(record=rollout, counts=counts, evidence=evidence, uses=Uses(**UNUSED))

    lines = dict(pairs(rollout_view(detail)))["evidence"]

    assert isinstance(lines, list)
    assert len(lines) == MOST_EVIDENCE + 1
    assert lines[0] == "4983 earlier runs, then"
    assert lines[-1].startswith("run_199 ")
