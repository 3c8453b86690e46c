"""Which sessions a canary is offered to."""

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from tests.support.factories import make_session
from tests.support.rollout_factories import make_definition, make_rollout
from understudy.review.policy import PromotionSettings
from understudy.rollout.canary_share import CanaryShare, is_in_share, share_of
from understudy.rollout.evidence import Counts, EvidenceSums
from understudy.rollout.model import Stage
from understudy.storage.unit import Unit

SESSIONS = [f"session_{number}" for number in range(4_000)]
SECRET = "one" * 20
ONE = make_definition(version="1").fingerprint
OTHER = make_definition(version="2").fingerprint


def drawn(percent: int, fingerprint: str = ONE) -> set[str]:
    return {it for it in SESSIONS if is_in_share(SECRET, fingerprint, it, percent)}


@pytest.mark.parametrize("percent", [1, 10, 50, 90])
def test_a_share_is_about_as_large_as_it_says(percent: int) -> None:
    assert len(drawn(percent)) / len(SESSIONS) == pytest.approx(percent / 100, abs=0.03)


def test_nobody_is_in_no_share_and_everybody_in_all() -> None:
    assert drawn(0) == set()
    assert drawn(100) == set(SESSIONS)


def test_a_larger_share_holds_all_of_a_smaller_one() -> None:
    assert drawn(10) < drawn(20) < drawn(100)


def test_another_definition_draws_other_sessions() -> None:
    both = drawn(50) & drawn(50, OTHER)
    assert len(both) / len(SESSIONS) == pytest.approx(0.25, abs=0.03)


def drawn_by(secret: str, number: int) -> bool:
    return is_in_share(secret, "f" * 64, f"session_{number}", 20)


def test_nobody_can_tell_who_is_drawn_without_the_secret() -> None:
    other = [it for it in SESSIONS if is_in_share("other" * 12, ONE, it, 50)]
    both = drawn(50) & {*other}
    assert len(both) / len(SESSIONS) == pytest.approx(0.25, abs=0.03)


def test_no_release_draws_other_sessions_than_the_one_before() -> None:
    found = [number for number in range(40) if drawn_by(SECRET, number)]
    assert found == [0, 6, 12, 14, 29, 30, 39]


@pytest.mark.parametrize("stage", Stage)
def test_only_canaries_and_active_skills_are_offered(stage: Stage) -> None:
    shares = {Stage.ACTIVE: 100, Stage.CANARY: 30}
    assert share_of(make_rollout(status=stage), 30) == shares.get(stage, 0)


def test_a_canary_that_is_held_is_offered_to_nobody() -> None:
    canary = make_rollout(status=Stage.CANARY)
    sums = {canary.skill_name: EvidenceSums()}
    share = CanaryShare(policy_of=lambda _unit: PromotionSettings(canary_share_percent=100))
    session = make_session()
    unit = cast("Unit", SimpleNamespace(rollouts=SimpleNamespace(sums_of=lambda _rollouts: sums)))

    assert share(unit, canary, session)
    assert not share(unit, canary, None)
    sums[canary.skill_name] = EvidenceSums(every=Counts(canary_failure_count=1))
    assert not share(unit, canary, session)
    sums[canary.skill_name] = EvidenceSums()
    assert not share(unit, replace(canary, held_reason="canary run run_1 failed"), session)
