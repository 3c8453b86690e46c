"""Several who promote, end and roll back at the same time, as on several daemons."""

from functools import partial

import pytest

from tests.support.factories import ALICE
from tests.support.rollout_harness import NAME, RolloutHarness
from tests.support.threads_at_once import together
from understudy.core.errors import Conflict, Invalid
from understudy.learnings.model import Kind, LearningFilter
from understudy.rollout.model import Stage
from understudy.rollout.service import RolloutDetail
from understudy.storage.unit import Units

MANY = 5


@pytest.fixture
def hand(units: Units) -> RolloutHarness:
    return RolloutHarness(units)


def test_one_name_for_many_learnings_at_once_is_one_rollout(hand: RolloutHarness) -> None:
    ids = [hand.learn(f"lrn_{number}").learning_id for number in range(MANY)]
    answers = together([partial(hand.promote, it) for it in ids])
    (begun,) = [it for it in answers if isinstance(it, RolloutDetail)]
    refused = [it for it in answers if isinstance(it, Conflict)]
    assert {it.code for it in refused} == {"skill_already_exists"}
    assert len(refused) == MANY - 1
    assert hand.get() == begun
    assert hand.happened() == ["promote"]


def test_many_names_for_one_learning_at_once_are_one_rollout(hand: RolloutHarness) -> None:
    hand.learn()
    names = [f"skill-{number}" for number in range(MANY)]
    answers = together([partial(hand.promote, skill_name=it) for it in names])
    assert len([it for it in answers if isinstance(it, RolloutDetail)]) == 1
    refused = [it for it in answers if isinstance(it, Conflict)]
    assert {it.code for it in refused} == {"already_promoted"}
    assert len(hand.audit()) == 1


def test_a_run_that_many_hand_in_at_once_counts_once(hand: RolloutHarness) -> None:
    hand.learn()
    hand.promote()
    run = hand.run()
    answers = together([partial(hand.show, "verification", run)] * MANY)
    assert {it.counts.successful_run_count for it in answers} == {1}
    assert hand.happened() == ["promote", "rollout_result"]


def test_a_learning_that_ends_while_its_skill_moves_on_never_leaves_it_in_force(
    hand: RolloutHarness,
) -> None:
    hand.learn()
    hand.bring_to(Stage.CANARY)
    hand.show("canary", hand.run())
    narrowed = LearningFilter(kind=Kind.PROCEDURE)
    promoted, *_ = together(
        [
            partial(hand.promote, status=Stage.ACTIVE),
            partial(hand.learnings.revoke_matching, ALICE, narrowed),
            partial(hand.rollouts.revoke, ALICE, NAME),
        ]
    )
    assert isinstance(promoted, RolloutDetail | Invalid)
    assert hand.get().record.status is Stage.REVOKED
    assert hand.mounted.files == {}
    assert hand.happened().count("revoke") == 1


def test_a_rollback_and_the_end_of_its_learning_leave_nothing_in_force(
    hand: RolloutHarness,
) -> None:
    hand.learn()
    hand.bring_to(Stage.ACTIVE)
    hand.rollouts.revoke(ALICE, NAME)
    together(
        [
            partial(hand.rollouts.rollback, ALICE, NAME),
            partial(hand.learnings.revoke, ALICE, "lrn_1"),
        ]
    )
    assert hand.get().record.status is Stage.REVOKED
    assert hand.mounted.files == {}


def test_of_many_rollbacks_at_once_one_is_done(hand: RolloutHarness) -> None:
    hand.learn()
    hand.bring_to(Stage.ACTIVE)
    hand.rollouts.revoke(ALICE, NAME)
    answers = together([partial(hand.rollouts.rollback, ALICE, NAME)] * MANY)
    assert len([it for it in answers if isinstance(it, RolloutDetail)]) == 1
    codes = {it.code for it in answers if isinstance(it, Conflict)}
    # Who comes after it finds the skill active, with no version before this one.
    assert codes <= {"no_rollback_snapshot", "rollout_changed_meanwhile", "already_promoted"}
    assert hand.happened().count("rollback") == 1
