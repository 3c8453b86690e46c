"""Status names the rollouts that somebody should look at, and no longer than that."""

from pathlib import Path

import pytest

from tests.support.factories import ALICE, NOW
from tests.support.mounted_rollouts import MountedRollouts
from tests.support.rollout_harness import NAME
from understudy.daemon.rollout_status import DEMOTED_SHOWN_MS, ENDING_SHOWN_MS, RolloutStatus
from understudy.rollout.model import Stage
from understudy.storage.unit import Units


@pytest.fixture
def scenery(units: Units, tmp_path: Path) -> MountedRollouts:
    return MountedRollouts(units, tmp_path / "home", looks_around=False)


def flagged(scenery: MountedRollouts) -> list[tuple[str, str]]:
    hand = scenery.hand
    status = RolloutStatus(
        units=scenery.units,
        keeper=scenery.keeper,
        unreadable=tuple,
        counted=hand.counters.snapshot,
        clock=hand.clock,
    )
    return [(it["code"], it["name"]) for it in status()["flagged"]]


def test_one_that_is_held_is_named_until_it_is_released(scenery: MountedRollouts) -> None:
    scenery.hand.learn()
    scenery.hand.bring_to(Stage.CANARY)
    assert flagged(scenery) == []

    scenery.hand.rollouts.hold(ALICE, NAME)
    scenery.hand.clock.advance(DEMOTED_SHOWN_MS + 1)
    assert flagged(scenery) == [("rollout_held", NAME)]

    scenery.hand.rollouts.release(ALICE, NAME)
    assert flagged(scenery) == []


def test_one_that_was_demoted_is_named_for_a_week(scenery: MountedRollouts) -> None:
    scenery.activate()

    scenery.hand.demote("it does worse")

    assert flagged(scenery) == [("rollout_demoted", NAME)]
    scenery.hand.clock.advance(DEMOTED_SHOWN_MS + 1)
    assert flagged(scenery) == []


def test_one_that_was_rolled_back_is_no_longer_named(scenery: MountedRollouts) -> None:
    scenery.activate()
    scenery.hand.demote("it does worse")

    scenery.hand.rollouts.rollback(ALICE, NAME)

    assert flagged(scenery) == []


def test_one_whose_learning_ends_soon_is_named_in_time(scenery: MountedRollouts) -> None:
    ends = NOW + ENDING_SHOWN_MS + 1000
    scenery.hand.learn(expires_at_ms=ends)
    scenery.hand.learn("lrn_2")
    scenery.hand.bring_to(Stage.ACTIVE)
    scenery.hand.promote("lrn_2", skill_name="lasting")
    assert flagged(scenery) == []

    scenery.hand.clock.advance(1000)
    assert flagged(scenery) == [("rollout_source_ends", NAME)]

    scenery.hand.rollouts.revoke(ALICE, NAME)
    assert flagged(scenery) == []
