"""A rollback from an active skill, and to a version that the caller names."""

import pytest

from tests.support.factories import ALICE
from tests.support.rollout_harness import MARKER, NAME, RolloutHarness
from understudy.core.errors import Conflict
from understudy.rollout.guards import RolloutAction, actions_of
from understudy.rollout.model import Rollout, Stage
from understudy.storage.unit import Units

FIRST, SECOND, THIRD = (f"{word} {MARKER}." for word in ("First", "Second", "Third"))


@pytest.fixture
def hand(units: Units) -> RolloutHarness:
    """A skill that was active as version 1.0 and is active as 2.0."""
    stagehand = RolloutHarness(units)
    stagehand.learn("lrn_1")
    stagehand.learn("lrn_2")
    stagehand.bring_to(Stage.ACTIVE, "lrn_1", instructions=FIRST, version="1.0")
    stagehand.rollouts.revoke(ALICE, NAME, reason="a newer one comes")
    stagehand.bring_to(Stage.ACTIVE, "lrn_2", instructions=SECOND, version="2.0")
    return stagehand


def number_of(hand: RolloutHarness, instructions: str) -> str:
    """The number in the history of the last active revision with these instructions."""
    with hand.units.read() as unit:
        active = unit.rollouts.active_snapshots(NAME, limit=50)
    return str(
        next(it.number for it in active if it.record.definition.instructions == instructions)
    )


def back(hand: RolloutHarness, to_version: str | None = None) -> Rollout:
    return hand.rollouts.rollback(ALICE, NAME, reason="worse", to_version=to_version).record


def refusal(hand: RolloutHarness, to_version: str | None = None) -> Conflict:
    before, events = hand.get(), hand.happened()
    with pytest.raises(Conflict) as told:
        back(hand, to_version)
    assert (hand.get(), hand.happened()) == (before, events)
    return told.value


def test_an_active_skill_goes_back_to_the_version_before_in_one_call(hand: RolloutHarness) -> None:
    restored = back(hand)

    assert (restored.status, restored.definition.instructions) == (Stage.ACTIVE, FIRST)
    assert (restored.source_learning_id, restored.revoked_reason) == ("lrn_1", None)
    told = [(it.event, it.from_status, it.to_status, it.reason) for it in hand.get().events[-2:]]
    assert told == [
        ("revoke", "active", "revoked", "worse"),
        ("rollback", "revoked", "active", "worse"),
    ]
    assert hand.mounted.files == {NAME: FIRST}


def test_a_preview_names_the_version_and_the_change_and_changes_nothing(
    hand: RolloutHarness,
) -> None:
    before, events = hand.get(), hand.happened()

    seen = hand.rollouts.rollback_preview(NAME)

    assert (hand.get(), hand.happened()) == (before, events)
    assert str(seen.target) == number_of(hand, FIRST)
    assert [each.version for each in seen.versions] == ["1.0"]
    assert (seen.diff.from_number, seen.diff.to_number) == (before.record.revision, seen.target)
    [file] = seen.diff.files
    assert f"-{SECOND}" in str(file.diff)
    assert f"+{FIRST}" in str(file.diff)
    assert back(hand).definition.instructions == FIRST


@pytest.mark.one_database
@pytest.mark.parametrize("to_version", [None, "2.0", "9"])
def test_a_preview_is_refused_as_its_rollback_would_be(
    hand: RolloutHarness, to_version: str | None
) -> None:
    if to_version is None:
        back(hand)
    told = refusal(hand, to_version)

    with pytest.raises(Conflict) as seen:
        hand.rollouts.rollback_preview(NAME, to_version=to_version)

    assert (seen.value.code, seen.value.detail) == (told.code, told.detail)


@pytest.mark.one_database
def test_the_version_that_a_rollback_left_is_reached_by_its_name_alone(
    hand: RolloutHarness,
) -> None:
    back(hand)

    told = refusal(hand)
    assert told.code == "no_rollback_snapshot"
    assert f"{number_of(hand, SECOND)} (2.0)" in told.detail
    assert back(hand, "2.0").definition.instructions == SECOND


@pytest.mark.one_database
@pytest.mark.parametrize("is_active", [True, False], ids=["active", "revoked"])
@pytest.mark.parametrize("way", ["number", "label", "place"])
def test_any_earlier_active_version_can_be_named(
    hand: RolloutHarness, way: str, is_active: bool
) -> None:
    hand.rollouts.revoke(ALICE, NAME)
    hand.bring_to(Stage.ACTIVE, "lrn_2", instructions=THIRD, version="3.0")
    if not is_active:
        hand.rollouts.revoke(ALICE, NAME)

    ways = {"number": number_of(hand, FIRST), "label": "1.0", "place": "1"}
    restored = back(hand, ways[way])

    assert (restored.status, restored.definition.instructions) == (Stage.ACTIVE, FIRST)
    assert hand.mounted.files == {NAME: FIRST}


@pytest.mark.one_database
def test_a_version_that_was_never_active_is_refused_with_those_that_were(
    hand: RolloutHarness,
) -> None:
    # Revision 3 was a draft, and there is no third version.
    for wanted in ("3", "9.9", "0", "9" * 40, "-1", "a\0b"):
        told = refusal(hand, wanted)
        assert told.code == "rollback_version_not_found"
        assert f"{number_of(hand, FIRST)} (1.0)" in told.detail


@pytest.mark.one_database
@pytest.mark.parametrize("way", ["number", "label", "place"])
@pytest.mark.parametrize("is_noted", [False, True])
def test_the_version_that_is_active_is_nothing_to_go_back_to(
    hand: RolloutHarness, way: str, is_noted: bool
) -> None:
    if is_noted:
        hand.show("verification", hand.run())
    ways = {"number": str(hand.get().record.revision), "label": "2.0", "place": "2"}

    told = refusal(hand, ways[way])

    assert told.code == "rollback_refused"
    assert "is active already" in told.detail


def test_no_version_comes_back_whose_own_learning_is_revoked(hand: RolloutHarness) -> None:
    hand.learnings.revoke(ALICE, "lrn_1")

    assert refusal(hand).code == "no_rollback_snapshot"
    told = refusal(hand, "1.0")
    assert (told.code, told.params["learning_id"]) == ("rollback_refused", "lrn_1")
    assert hand.mounted.files == {NAME: SECOND}


@pytest.mark.one_database
def test_a_demoted_version_comes_back_by_its_name_alone(hand: RolloutHarness) -> None:
    hand.demote("2 of 9 runs succeeded")
    hand.bring_to(Stage.ACTIVE, "lrn_2", instructions=THIRD, version="3.0")

    assert back(hand).definition.instructions == FIRST
    assert back(hand, "2.0").definition.instructions == SECOND


@pytest.mark.one_database
def test_an_active_skill_that_the_daemon_holds_for_review_can_be_rolled_back(
    hand: RolloutHarness,
) -> None:
    active = hand.get().record
    with hand.units.write() as unit:
        changes = hand.transactions.within(unit, "daemon")
        held = changes.hold_for_review(active, "worse than its baseline")
        changes.tell()
    assert RolloutAction.ROLLBACK in actions_of(held)

    restored = back(hand)

    assert (restored.definition.instructions, restored.held_reason) == (FIRST, None)
