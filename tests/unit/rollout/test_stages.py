"""The stages of a rollout, pair by pair."""

from itertools import product

import pytest

from understudy.core.errors import InvalidTransition
from understudy.rollout.guards import GUARDS
from understudy.rollout.model import LIVE, NEXT, ROLLOUT, Stage

PAIRS = [*product(Stage, Stage)]
# What may follow what, a stage itself left out.
STEPS = {
    ("draft", "verified"),
    ("draft", "revoked"),
    ("verified", "draft"),
    ("verified", "canary"),
    ("verified", "active"),
    ("verified", "revoked"),
    ("canary", "draft"),
    ("canary", "active"),
    ("canary", "revoked"),
    ("active", "revoked"),
    ("revoked", "draft"),
    ("revoked", "active"),
}
# What promoting does not do: a skill is taken back and rolled back by other means.
NOT_BY_PROMOTING = {("revoked", "active"), *((stage, "revoked") for stage in Stage)}


@pytest.mark.parametrize(("current", "target"), PAIRS)
def test_a_stage_follows_another_only_where_the_table_says_so(
    current: Stage, target: Stage
) -> None:
    if current is target or (current, target) in STEPS:
        ROLLOUT.check(current, target)
    else:
        with pytest.raises(InvalidTransition):
            ROLLOUT.check(current, target)


@pytest.mark.parametrize(("current", "target"), PAIRS)
def test_promoting_takes_every_step_but_taking_back_and_rolling_back(
    current: Stage, target: Stage
) -> None:
    is_step = ROLLOUT.allows(current, target) and (current, target) not in NOT_BY_PROMOTING
    assert ((current, target) in GUARDS) is is_step


def test_advancing_leads_from_draft_to_active_and_no_further() -> None:
    way = [Stage.DRAFT]
    while way[-1] in NEXT:
        way.append(NEXT[way[-1]])
    assert way == [Stage.DRAFT, Stage.VERIFIED, Stage.CANARY, Stage.ACTIVE]
    assert all((current, target) in GUARDS for current, target in NEXT.items())


def test_everything_but_what_was_taken_back_is_live() -> None:
    assert set(Stage) - {"revoked"} == LIVE
    assert not ROLLOUT.terminal
