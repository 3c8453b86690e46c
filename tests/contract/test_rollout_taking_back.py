"""Taking skills back, with or without their learnings, and having them in force again."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa

from tests.support.factories import ALICE, NOW
from tests.support.rollout_harness import ASKED, MARKER, NAME, RolloutHarness
from understudy.core.errors import Conflict, Invalid
from understudy.core.page import PageRequest
from understudy.core.principal import Principal
from understudy.learnings.events import LearningNotice, Listeners
from understudy.learnings.model import Kind, Learning, LearningFilter, LearningStatus
from understudy.learnings.service import LearningService, Replacement
from understudy.rollout.model import Stage
from understudy.rollout.source_learnings import LinkedRollouts
from understudy.storage.schema import rollout_definitions, rollout_snapshots
from understudy.storage.unit import Unit, Units

pytestmark = pytest.mark.one_database

SECRET = "clientSecret: " + "hunter2" * 2
ANOTHER = "Check scheduler the other way round"


@pytest.fixture
def hand(units: Units) -> RolloutHarness:
    stagehand = RolloutHarness(units)
    stagehand.learn()
    return stagehand


def supersede(hand: RolloutHarness, learning_id: str = "lrn_1") -> None:
    wanted = Replacement(content=ANOTHER, kind=Kind.PROCEDURE)
    hand.learnings.supersede(ALICE, learning_id, wanted)


ENDINGS: dict[str, Callable[[RolloutHarness], object]] = {
    "revoked": lambda hand: hand.learnings.revoke(ALICE, "lrn_1"),
    "superseded": supersede,
    "revoked with others": lambda hand: hand.learnings.revoke_matching(
        ALICE, LearningFilter(kind=Kind.PROCEDURE)
    ),
}


def refused(code: str, act: Callable[[], object]) -> None:
    with pytest.raises(Conflict) as told:
        act()
    assert told.value.code == code


@pytest.mark.every_database
@pytest.mark.parametrize("end", ENDINGS.values(), ids=ENDINGS)
def test_a_learning_that_ends_takes_its_skill_along(
    hand: RolloutHarness, end: Callable[[RolloutHarness], object]
) -> None:
    hand.bring_to(Stage.ACTIVE)
    assert hand.mounted.files
    end(hand)
    record = hand.get().record
    assert (record.status, record.revoked_at_ms) == (Stage.REVOKED, hand.clock.now_ms())
    assert record.revoked_reason == "its source learning is no longer in force"
    assert hand.mounted.files == {}
    assert hand.happened()[-1] == "revoke"
    told = [it.data["what"] for it in hand.told()]
    assert "rollout_revoke" in told
    assert told[-1] != "rollout_revoke"


def test_if_the_learning_cannot_end_the_skill_stays_in_force(
    hand: RolloutHarness, units: Units
) -> None:
    def refuse(_unit: Unit, _by: Principal, _learning: Learning) -> tuple[LearningNotice, ...]:
        raise Conflict("learning_busy", domain="learnings")

    before = hand.bring_to(Stage.ACTIVE)
    linked = LinkedRollouts(transactions=hand.transactions)
    stubborn = LearningService(units, hand.clock, Listeners(linked=(linked, refuse)))
    refused("learning_busy", lambda: stubborn.revoke(ALICE, "lrn_1"))
    assert hand.get() == before
    assert list(hand.mounted.files) == [NAME]


def test_a_learning_without_a_skill_ends_as_ever(hand: RolloutHarness) -> None:
    hand.bring_to(Stage.VERIFIED)
    hand.rollouts.revoke(ALICE, NAME)
    happened = hand.happened()
    assert hand.learnings.revoke(ALICE, "lrn_1").status is LearningStatus.REVOKED
    assert hand.happened() == happened


def test_a_revoked_skill_says_why_and_stays_as_it_was_revoked_first(hand: RolloutHarness) -> None:
    hand.bring_to(Stage.ACTIVE)
    detail = hand.rollouts.revoke(ALICE, NAME, reason=" too slow ")
    assert (detail.record.status, detail.record.revoked_reason) == (Stage.REVOKED, "too slow")
    assert detail.events[-1].reason == "too slow"
    assert hand.mounted.files == {}
    hand.clock.advance(5)
    with pytest.raises(Invalid) as told:
        hand.rollouts.revoke(ALICE, NAME, reason="again")
    assert told.value.code == "rollout_revoked"
    assert hand.get() == detail
    # The learning is known all the same.
    assert hand.learnings.get("lrn_1").status is LearningStatus.ACTIVE


def test_a_secret_in_a_reason_changes_nothing(hand: RolloutHarness) -> None:
    before = hand.bring_to(Stage.CANARY)
    service = hand.rollouts
    for act in (service.revoke, service.rollback, service.hold, service.release):
        with pytest.raises(Invalid) as told:
            act(ALICE, NAME, reason=SECRET)
        assert told.value.code == "secret_reason"
    assert hand.get() == before
    assert service.revoke(ALICE, NAME, reason="  ").record.revoked_reason is None


def test_a_rollback_puts_a_skill_in_force_as_it_last_was(hand: RolloutHarness) -> None:
    active = hand.bring_to(Stage.ACTIVE)
    hand.rollouts.revoke(ALICE, NAME)
    back = hand.rollouts.rollback(ALICE, NAME, reason="missed")
    assert back.record.status is Stage.ACTIVE
    assert back.record.definition == active.record.definition
    assert (back.record.revoked_at_ms, back.record.revoked_reason) == (None, None)
    assert back.counts == active.counts
    assert back.events[-1].event == "rollback"
    assert (back.events[-1].from_status, back.events[-1].reason) == ("revoked", "missed")
    assert hand.mounted.files == {NAME: ASKED.instructions}


def test_there_is_no_way_back_to_what_never_was(hand: RolloutHarness) -> None:
    hand.bring_to(Stage.CANARY)
    refused("rollback_refused", lambda: hand.rollouts.rollback(ALICE, NAME))
    hand.rollouts.revoke(ALICE, NAME)
    refused("no_rollback_snapshot", lambda: hand.rollouts.rollback(ALICE, NAME))
    assert hand.mounted.files == {}


@pytest.mark.parametrize("end", ENDINGS.values(), ids=ENDINGS)
def test_nothing_is_in_force_again_whose_learning_is_not(
    hand: RolloutHarness, end: Callable[[RolloutHarness], object]
) -> None:
    hand.bring_to(Stage.ACTIVE)
    end(hand)
    refused("rollback_refused", lambda: hand.rollouts.rollback(ALICE, NAME))
    assert hand.get().record.status is Stage.REVOKED
    assert hand.mounted.files == {}


def test_a_rollback_asks_for_the_learning_of_the_snapshot_and_not_of_the_record(
    hand: RolloutHarness,
) -> None:
    hand.learn("lrn_2")
    first, second = f"First {MARKER}.", f"Second {MARKER}."
    hand.bring_to(Stage.ACTIVE, "lrn_1", instructions=first)
    hand.learnings.revoke(ALICE, "lrn_1")
    hand.bring_to(Stage.ACTIVE, "lrn_2", instructions=second)
    hand.rollouts.revoke(ALICE, NAME)
    # The record is of lrn_2, which stands; so is the newest snapshot.
    assert hand.rollouts.rollback(ALICE, NAME).record.definition.instructions == second
    hand.rollouts.revoke(ALICE, NAME)
    hand.learnings.revoke(ALICE, "lrn_2")
    refused("rollback_refused", lambda: hand.rollouts.rollback(ALICE, NAME))
    # And the other way round: the record's learning stands, and no snapshot's does.
    hand.learn("lrn_3")
    hand.promote("lrn_3", instructions=f"Third {MARKER}.")
    hand.rollouts.revoke(ALICE, NAME)
    refused("rollback_refused", lambda: hand.rollouts.rollback(ALICE, NAME))
    assert hand.mounted.files == {}


def test_a_rollback_passes_over_snapshots_whose_learning_is_gone(hand: RolloutHarness) -> None:
    hand.learn("lrn_2")
    first = hand.bring_to(Stage.ACTIVE, "lrn_1", instructions=f"First {MARKER}.")
    hand.rollouts.revoke(ALICE, NAME)
    hand.bring_to(Stage.ACTIVE, "lrn_2", instructions=f"Second {MARKER}.")
    hand.learnings.revoke(ALICE, "lrn_2")
    back = hand.rollouts.rollback(ALICE, NAME)
    assert back.record.source_learning_id == "lrn_1"
    assert back.record.definition == first.record.definition
    assert back.counts == first.counts


def test_a_rollback_gives_no_learning_a_second_live_skill(hand: RolloutHarness) -> None:
    hand.bring_to(Stage.ACTIVE)
    hand.rollouts.revoke(ALICE, NAME)
    hand.promote(skill_name="another")
    refused("already_promoted", lambda: hand.rollouts.rollback(ALICE, NAME))


def test_what_spoke_for_one_attempt_never_speaks_for_a_later_one(hand: RolloutHarness) -> None:
    """Also not after a rollback, from which other attempts begin."""
    other = {"instructions": "Something else."}
    hand.bring_to(Stage.ACTIVE)
    hand.rollouts.revoke(ALICE, NAME)
    hand.bring_to(Stage.VERIFIED, **other)
    hand.rollouts.revoke(ALICE, NAME)
    hand.rollouts.rollback(ALICE, NAME)
    hand.rollouts.revoke(ALICE, NAME)
    detail = hand.promote(**other)
    assert (detail.evidence, detail.counts.successful_run_count) == ((), 0)


def test_a_demoted_skill_is_taken_back_and_an_older_one_comes_in_its_place(
    hand: RolloutHarness,
) -> None:
    hand.bring_to(Stage.ACTIVE, instructions=f"First {MARKER}.")
    hand.rollouts.revoke(ALICE, NAME)
    hand.bring_to(Stage.ACTIVE, instructions=f"Second {MARKER}.")
    demoted = hand.demote("2 of 9 runs succeeded")
    assert (demoted.record.status, demoted.record.is_demoted) == (Stage.REVOKED, True)
    assert (demoted.events[-1].event, demoted.events[-1].actor) == ("demote", "daemon")
    assert hand.mounted.files == {}
    assert hand.demote("again") == demoted
    back = hand.rollouts.rollback(ALICE, NAME)
    assert back.record.definition.instructions == f"First {MARKER}."
    assert not back.record.is_demoted


def test_what_was_demoted_stays_passed_over_whatever_was_tried_since(hand: RolloutHarness) -> None:
    hand.bring_to(Stage.ACTIVE, instructions=f"First {MARKER}.")
    hand.rollouts.revoke(ALICE, NAME)
    hand.bring_to(Stage.ACTIVE, instructions=f"Second {MARKER}.")
    hand.demote("2 of 9 runs succeeded")
    hand.promote(instructions=f"Third {MARKER}.")
    hand.rollouts.revoke(ALICE, NAME)
    back = hand.rollouts.rollback(ALICE, NAME)
    assert back.record.definition.instructions == f"First {MARKER}."


@pytest.mark.every_database
def test_a_demoted_skill_comes_back_where_there_was_never_another(hand: RolloutHarness) -> None:
    active = hand.bring_to(Stage.ACTIVE)
    hand.demote("worse")
    assert hand.rollouts.rollback(ALICE, NAME).record.definition == active.record.definition


@pytest.mark.every_database
def test_everything_that_happened_is_told_in_its_order(hand: RolloutHarness) -> None:
    hand.bring_to(Stage.ACTIVE)
    hand.rollouts.revoke(ALICE, NAME)
    hand.rollouts.rollback(ALICE, NAME)
    expected = [
        ("promote", None, "draft", None),
        ("rollout_result", "draft", "draft", True),
        ("promote", "draft", "verified", None),
        ("promote", "verified", "canary", None),
        ("rollout_result", "canary", "canary", True),
        ("promote", "canary", "active", None),
        ("revoke", "active", "revoked", None),
        ("rollback", "revoked", "active", None),
    ]
    shown = [(it.event, it.from_status, it.to_status, it.success) for it in hand.get().events]
    assert shown == expected
    # Whoever opens the database later finds the same, page by page.
    later = RolloutHarness(hand.units)
    first = later.rollouts.events(NAME, PageRequest(limit=5))
    assert [it.event for it in first.items] == [event for event, *_ in expected[:5]]
    assert first.next_cursor is not None
    verbs = [
        "promote",
        "result",
        "promote",
        "promote",
        "result",
        "promote",
        "revoke",
        "rollback",
    ]
    assert [it.action for it in hand.audit()] == [f"rollouts.{verb}" for verb in verbs]
    assert all(it.recorded_at_ms > NOW for it in first.items)


@pytest.mark.every_database
def test_the_history_shows_each_state_that_was_left(hand: RolloutHarness) -> None:
    hand.bring_to(Stage.ACTIVE)
    hand.rollouts.revoke(ALICE, NAME)
    history = hand.rollouts.history(NAME, PageRequest()).items
    # A run that speaks for it is a change as well.
    stages = ["active", "canary", "canary", "verified", "draft", "draft"]
    assert [it.record.status for it in history] == stages
    assert [it.number for it in history] == [6, 5, 4, 3, 2, 1]
    assert all(it.number == it.record.revision for it in history)
    assert [hand.rollouts.at(NAME, number).revision for number in range(1, 8)] == [*range(1, 8)]


@pytest.mark.every_database
def test_what_a_skill_says_is_kept_once_however_often_runs_speak_for_it(
    hand: RolloutHarness,
) -> None:
    hand.promote()
    for _ in range(5):
        hand.show("verification", hand.run())
    hand.promote(instructions="Reply otherwise.")

    with hand.units.read() as unit:
        kept = unit.connection.execute(sa.select(rollout_definitions.c.fingerprint)).all()
        shown = unit.connection.execute(sa.select(rollout_snapshots.c.body)).all()
    assert (len(kept), len(shown)) == (1, 6)
    assert not any("Reply" in str(row.body) for row in shown)
    assert hand.rollouts.at(NAME, 1).definition.instructions == ASKED.instructions
    assert hand.rollouts.before(hand.get().record).revision == 6


def test_runs_that_speak_for_a_skill_in_force_hide_no_earlier_one_from_a_rollback(
    hand: RolloutHarness,
) -> None:
    first = hand.bring_to(Stage.ACTIVE).record
    hand.rollouts.revoke(ALICE, NAME)
    hand.bring_to(Stage.ACTIVE, instructions="Reply otherwise.")
    for _ in range(3):
        hand.show("verification", hand.run())
    hand.demote("worse")

    with hand.units.read() as unit:
        assert len(unit.rollouts.active_snapshots(NAME, limit=2)) == 2
    assert hand.rollouts.rollback(ALICE, NAME).record.fingerprint == first.fingerprint
