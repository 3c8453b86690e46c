"""What each step of a rollout asks for, and how it says so."""

from dataclasses import replace

import pytest

from tests.support.rollout_factories import make_rollout
from understudy.review.policy import PromotionSettings
from understudy.rollout.evidence import Counts
from understudy.rollout.guards import GUARDS, RolloutCase, missing
from understudy.rollout.model import Stage
from understudy.rollout.replay.report import ReplayStanding

ROLLOUT = make_rollout()
PROVEN = Counts(
    successful_run_count=1,
    distinct_session_count=1,
    canary_success_count=1,
)
READY = RolloutCase(rollout=ROLLOUT, counts=PROVEN, rules=PromotionSettings())
TO_ACTIVE = ("needs_verification", "needs_canary", "canary_failed", "needs_replay", "rollout_held")
NOTHING = replace(
    READY,
    rollout=make_rollout(held_reason="wait"),
    counts=Counts(canary_failure_count=2),
    rules=PromotionSettings(require_replay=True),
)
# What each step asks for, where nothing at all speaks for it.
ASKED = {
    ("draft", "draft"): (),
    ("draft", "verified"): ("needs_verification", "rollout_held"),
    ("verified", "draft"): (),
    ("verified", "verified"): ("needs_verification",),
    ("verified", "canary"): ("needs_verification", "rollout_held"),
    ("verified", "active"): TO_ACTIVE,
    ("canary", "draft"): (),
    ("canary", "canary"): ("needs_verification",),
    ("canary", "active"): TO_ACTIVE,
    ("active", "active"): (),
    ("revoked", "draft"): (),
}


@pytest.mark.parametrize("step", GUARDS)
def test_each_step_asks_for_what_the_table_says(step: tuple[Stage, Stage]) -> None:
    assert tuple(it.code for it in missing(*step, NOTHING)) == ASKED[step]


@pytest.mark.parametrize("step", GUARDS)
def test_what_is_proven_takes_every_step(step: tuple[Stage, Stage]) -> None:
    assert missing(*step, READY) == ()


def words(case: RolloutCase) -> list[str]:
    return [it.detail for it in missing(Stage.CANARY, Stage.ACTIVE, case)]


def test_a_reason_names_the_definition_that_it_is_about() -> None:
    start = ROLLOUT.fingerprint[:12]
    assert words(replace(READY, counts=replace(PROVEN, canary_success_count=0))) == [
        f"needs one successful canary for fingerprint {start}…"
    ]
    assert words(replace(READY, counts=replace(PROVEN, canary_failure_count=2))) == [
        f"2 canary runs failed for fingerprint {start}…; take it back to draft and mend it"
    ]


def test_a_policy_may_ask_for_several_runs_in_several_sessions() -> None:
    strict = replace(READY, rules=PromotionSettings(min_successes=3, min_sessions=2))
    start = ROLLOUT.fingerprint[:12]
    few = replace(PROVEN, successful_run_count=2, distinct_session_count=2)
    assert words(replace(strict, counts=few)) == [
        f"needs 3 accepted verifications in 2 sessions for fingerprint {start}…; there are 2 in 2"
    ]
    crowded = replace(PROVEN, successful_run_count=3, distinct_session_count=1)
    assert len(words(replace(strict, counts=crowded))) == 1
    enough = replace(PROVEN, successful_run_count=3, distinct_session_count=2)
    assert words(replace(strict, counts=enough)) == []


def test_sessions_alone_ask_for_as_many_runs() -> None:
    case = replace(READY, rules=PromotionSettings(min_sessions=2))
    assert words(case)[0].startswith("needs 2 accepted verifications in 2 sessions")


def test_a_replay_counts_only_where_the_policy_asks_for_one() -> None:
    case = replace(READY, rules=PromotionSettings(require_replay=True))
    assert [it.code for it in missing(Stage.CANARY, Stage.ACTIVE, case)] == ["needs_replay"]
    vouched = ReplayStanding(is_vouched_for=True)
    assert words(replace(case, replays=vouched)) == []
    assert missing(Stage.DRAFT, Stage.VERIFIED, case) == ()


def test_a_recorded_run_that_went_worse_is_named_until_it_went_better() -> None:
    case = replace(
        READY,
        rules=PromotionSettings(require_replay=True),
        replays=ReplayStanding(is_vouched_for=True, regressions=("run_1", "run_2")),
    )
    (said,) = words(case)
    assert said.startswith("run run_1, run_2 went worse in a replay for fingerprint ")
    assert words(replace(case, rules=PromotionSettings())) == []
