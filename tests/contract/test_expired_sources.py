"""A promoted skill does not outlast the time of the learning that it came from."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.support.factories import ALICE, NOW, make_session
from tests.support.mounted_rollouts import MountedRollouts
from tests.support.rollout_harness import NAME
from tests.support.threads_at_once import together
from understudy.core.clock import shown_time
from understudy.core.errors import NotFound
from understudy.core.page import PageRequest
from understudy.learnings.events import Listeners
from understudy.learnings.model import Candidate, CandidateFilter, CapturePath
from understudy.rollout.model import Stage
from understudy.rollout.source_learnings import EXPIRED, ExpiredSources
from understudy.storage.unit import Units

ENDS = NOW + 60_000
SESSION = make_session("s1")


class Lasting(MountedRollouts):
    """A daemon whose promoted skill comes from a learning that ends."""

    def __init__(self, units: Units, home: Path) -> None:
        super().__init__(units, home)
        self.rung: list[str] = []
        listeners = Listeners(review=lambda: self.rung.append("review"))
        transactions = replace(self.hand.transactions, listeners=listeners)
        self.expired = ExpiredSources(units=units, transactions=transactions)

    def end(self) -> None:
        """Let the time of the learning pass, for all who look at a clock."""
        for clock in (self.clock, self.hand.clock):
            clock.advance(max(0, ENDS - clock.now_ms()))

    def items(self) -> list[Candidate]:
        """What people are asked to look at."""
        with self.units.read() as unit:
            page = unit.candidates.page(
                PageRequest(limit=200), narrowed=CandidateFilter(), now_ms=NOW
            )
        return list(page.items)


@pytest.fixture
def lasting(units: Units, tmp_path: Path) -> Lasting:
    lasting = Lasting(units, tmp_path / "home")
    lasting.hand.learn(expires_at_ms=ENDS)
    return lasting


def test_it_is_offered_until_then_and_to_nobody_from_then_on(lasting: Lasting) -> None:
    lasting.hand.bring_to(Stage.ACTIVE)
    [one] = lasting.offered(SESSION)
    assert lasting.expired.look() == 0

    lasting.end()

    assert lasting.offered(SESSION) == []
    assert lasting.offered() == []
    with lasting.units.read() as unit, pytest.raises(NotFound):
        lasting.promoted.load(unit, one)


def test_that_it_will_end_is_told_in_every_stage(lasting: Lasting) -> None:
    for stage in (Stage.DRAFT, Stage.CANARY, Stage.ACTIVE):
        [caveat] = lasting.hand.bring_to(stage).warnings
        assert (caveat.code, caveat.pointer) == ("source_ends", "/source_learning_id")
        assert shown_time(ENDS) in caveat.message
        lasting.hand.rollouts.revoke(ALICE, NAME)
        assert lasting.hand.get().warnings == ()

    lasting.hand.learn("lrn_2")
    assert lasting.hand.promote("lrn_2", skill_name="lasting").warnings == ()


def test_the_daemon_takes_it_back_and_asks_people(lasting: Lasting) -> None:
    lasting.hand.bring_to(Stage.ACTIVE)
    assert lasting.files() != {}
    lasting.end()

    assert lasting.expired.look() == 1

    detail = lasting.hand.get()
    assert (detail.record.status, detail.record.revoked_reason) == (Stage.REVOKED, EXPIRED)
    last = detail.events[-1]
    assert (last.event, last.actor, last.reason) == ("revoke", "daemon", EXPIRED)
    assert lasting.files() == {}
    [item] = lasting.items()
    assert item.capture_path is CapturePath.ROLLOUT
    assert NAME in item.content
    assert lasting.rung == ["review"]
    assert lasting.hand.audit()[-1].action == "rollouts.revoke"
    assert lasting.expired.look() == 0


@pytest.mark.parametrize("stage", [Stage.DRAFT, Stage.VERIFIED, Stage.CANARY])
def test_what_is_on_its_way_is_taken_back_as_well(lasting: Lasting, stage: Stage) -> None:
    lasting.hand.bring_to(stage)
    lasting.end()

    assert lasting.expired.look() == 1
    assert lasting.hand.get().record.status is Stage.REVOKED


def test_what_was_revoked_before_is_left(lasting: Lasting) -> None:
    lasting.hand.bring_to(Stage.ACTIVE)
    lasting.hand.rollouts.revoke(ALICE, NAME, reason="by hand")
    lasting.end()

    assert lasting.expired.look() == 0
    assert lasting.hand.get().record.revoked_reason == "by hand"


def test_a_learning_without_an_end_keeps_its_skill(lasting: Lasting) -> None:
    lasting.hand.learn("lrn_2")
    lasting.hand.bring_to(Stage.ACTIVE, "lrn_2", skill_name="lasting")
    lasting.hand.bring_to(Stage.ACTIVE)
    lasting.end()

    assert lasting.expired.look() == 1
    assert [it.slug for it in lasting.offered(SESSION)] == ["lasting"]


def test_several_daemons_take_it_back_once(lasting: Lasting) -> None:
    lasting.hand.bring_to(Stage.ACTIVE)
    lasting.end()

    together([partial(lasting.expired.look)] * 4)

    assert lasting.hand.happened().count("revoke") == 1
    assert len(lasting.items()) == 1


def test_one_that_cannot_be_read_keeps_no_other(lasting: Lasting) -> None:
    lasting.hand.bring_to(Stage.ACTIVE)
    lasting.hand.learn("lrn_2", expires_at_ms=ENDS)
    lasting.hand.bring_to(Stage.ACTIVE, "lrn_2", skill_name="sound")
    lasting.end()
    with lasting.units.write() as unit:
        unit.connection.execute(
            sa.text(f"UPDATE rollouts SET body = '{{' || body WHERE skill_name = '{NAME}'")
        )

    assert lasting.expired.look() == 2
    for name in (NAME, "sound"):
        assert lasting.hand.get(name).record.status is Stage.REVOKED
