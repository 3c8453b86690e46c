"""A record that cannot be read costs its own skill, and keeps nothing else in force."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa

from tests.support.factories import ALICE
from tests.support.rollout_harness import NAME, RolloutHarness
from understudy.core.errors import Conflict, DamagedRecord, Invalid, NotFound
from understudy.core.page import PageRequest
from understudy.learnings.model import Kind, LearningFilter, LearningStatus
from understudy.rollout.model import Stage
from understudy.rollout.source_learnings import ExpiredSources
from understudy.storage.unit import Units

PAGE = PageRequest(limit=10)


@pytest.fixture
def hand(units: Units) -> RolloutHarness:
    stagehand = RolloutHarness(units)
    stagehand.learn(expires_at_ms=stagehand.clock.now_ms() + 1_000_000)
    return stagehand


def damage(hand: RolloutHarness, *statements: str) -> None:
    with hand.units.write() as unit:
        for statement in ("UPDATE rollouts SET body = '{'", *statements):
            unit.connection.execute(sa.text(statement))
    with pytest.raises(DamagedRecord):
        hand.get()


def expire(hand: RolloutHarness) -> None:
    hand.clock.advance(2_000_000)
    assert ExpiredSources(units=hand.units, transactions=hand.transactions).look() == 1


ENDINGS: dict[str, Callable[[RolloutHarness], object]] = {
    "by its name": lambda hand: hand.rollouts.revoke(ALICE, NAME),
    "with its learning": lambda hand: hand.learnings.revoke(ALICE, "lrn_1"),
    "with many learnings": lambda hand: hand.learnings.revoke_matching(
        ALICE, LearningFilter(kind=Kind.PROCEDURE)
    ),
    "with the time of its learning": expire,
}


@pytest.mark.parametrize("end", ENDINGS.values(), ids=ENDINGS)
def test_what_cannot_be_read_ends_by_what_is_left_of_it(
    hand: RolloutHarness, end: Callable[[RolloutHarness], object]
) -> None:
    before = hand.bring_to(Stage.ACTIVE).record
    damage(hand)

    end(hand)

    record = hand.get().record
    assert (record.status, record.revision) == (Stage.REVOKED, before.revision + 1)
    assert record.definition == before.definition
    assert (hand.happened()[-1], hand.mounted.files) == ("revoke", {})
    assert (hand.audit()[-1].action, hand.audit()[-1].resource_id) == ("rollouts.revoke", NAME)


def test_a_learning_ends_though_its_skill_cannot_be_read(hand: RolloutHarness) -> None:
    hand.bring_to(Stage.CANARY)
    damage(hand)
    hand.learnings.revoke(ALICE, "lrn_1")
    assert hand.learnings.get("lrn_1").status is LearningStatus.REVOKED


def test_what_was_read_again_comes_back_as_it_was(hand: RolloutHarness) -> None:
    before = hand.bring_to(Stage.ACTIVE).record
    damage(hand)
    hand.rollouts.revoke(ALICE, NAME)
    back = hand.rollouts.rollback(ALICE, NAME).record
    assert (back.status, back.definition) == (Stage.ACTIVE, before.definition)


@pytest.mark.parametrize("torn", ["DELETE FROM rollout_definitions", "SELECT 1"])
def test_what_is_lost_is_promoted_anew_and_never_rolled_back_to(
    hand: RolloutHarness, torn: str
) -> None:
    hand.promote()
    damage(hand, torn, "UPDATE rollouts SET fingerprint = 'another'")

    lost = hand.rollouts.revoke(ALICE, NAME).record

    assert (lost.status, lost.definition.is_lost) == (Stage.REVOKED, True)
    with pytest.raises(Conflict):
        hand.rollouts.rollback(ALICE, NAME)
    assert hand.promote().record.status is Stage.DRAFT
    assert not hand.rollouts.history(NAME, PAGE).items


def test_what_was_held_is_still_held_when_it_is_promoted_anew(hand: RolloutHarness) -> None:
    hand.promote()
    hand.rollouts.hold(ALICE, NAME, reason="wait")
    damage(hand)
    hand.rollouts.revoke(ALICE, NAME)
    assert hand.promote().record.held_reason == "it was held, and why cannot be read"


@pytest.mark.parametrize("act", ["promote", "rollback"])
def test_what_was_damaged_after_it_was_revoked_is_written_over(
    hand: RolloutHarness, act: str
) -> None:
    hand.bring_to(Stage.ACTIVE)
    hand.rollouts.revoke(ALICE, NAME)
    damage(hand)
    with pytest.raises(Invalid) as told:
        hand.rollouts.revoke(ALICE, NAME)
    assert told.value.code == "rollout_revoked"

    if act == "promote":
        assert hand.promote(instructions="Do it otherwise.").record.status is Stage.DRAFT
    else:
        assert hand.rollouts.rollback(ALICE, NAME).record.status is Stage.ACTIVE
    assert hand.get().record.is_live


def test_one_under_way_is_not_written_over(hand: RolloutHarness) -> None:
    hand.bring_to(Stage.VERIFIED)
    damage(hand)
    with pytest.raises(DamagedRecord):
        hand.promote(instructions="Do it otherwise.")
    with pytest.raises(DamagedRecord):
        hand.rollouts.rollback(ALICE, NAME)


def test_what_is_not_there_is_not_found(hand: RolloutHarness) -> None:
    for act in (hand.rollouts.revoke, hand.rollouts.rollback):
        with pytest.raises(NotFound):
            act(ALICE, "none")
    with hand.units.read() as unit:
        assert unit.rollouts.remnant("none") is None
