"""A canary is offered to a share of the sessions, and hidden from everybody else."""

from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.support.canary_catalogue import Canaries
from tests.support.factories import ALICE, make_session
from tests.support.mounted_rollouts import EVE
from tests.support.rollout_harness import NAME
from tests.support.threads_at_once import together
from understudy.core.errors import NotFound
from understudy.rollout.canary_share import SECRET_BYTES, is_in_share, make_secret
from understudy.rollout.model import Stage
from understudy.sessions.model import Session
from understudy.storage.unit import Units
from understudy.testing.clock import FrozenClock

pytestmark = pytest.mark.one_database

SESSIONS = [make_session(f"s{number}") for number in range(40)]


def offered(canaries: Canaries, percent: int) -> list[Session]:
    """The sessions that are offered the skill under a policy."""
    canaries.set_share(percent)
    return [it for it in SESSIONS if canaries.origins(it)]


def secret_of(canaries: Canaries) -> str:
    with canaries.units.read() as unit:
        secret = unit.canary_secret.get()
    assert secret is not None
    return secret


@pytest.fixture
def canaries(units: Units, tmp_path: Path) -> Canaries:
    canaries = Canaries(units, tmp_path / "home")
    canaries.hand.learn()
    canaries.hand.bring_to(Stage.CANARY)
    return canaries


def test_a_share_of_the_sessions_is_offered_it_and_always_the_same(canaries: Canaries) -> None:
    fingerprint = canaries.hand.get().record.fingerprint
    secret = secret_of(canaries)

    assert offered(canaries, 0) == []
    some = offered(canaries, 30)
    assert some == [it for it in SESSIONS if is_in_share(secret, fingerprint, it.session_id, 30)]
    assert 0 < len(some) < len(SESSIONS)
    assert offered(canaries, 100) == SESSIONS
    assert offered(canaries, 30) == some
    assert canaries.hand.get().uses.offered_percent == 30


def test_who_is_offered_it_can_use_it_though_it_has_no_files(canaries: Canaries) -> None:
    offered(canaries, 100)
    [one] = canaries.offered(SESSIONS[0])

    with canaries.units.read() as unit:
        loaded = canaries.catalogue.load(unit, one)

    assert loaded.fingerprint == canaries.hand.get().record.fingerprint
    assert canaries.files() == {}


def test_no_list_for_people_shows_a_canary(canaries: Canaries) -> None:
    offered(canaries, 100)

    assert canaries.offered() == []
    with pytest.raises(NotFound):
        canaries.library.get(EVE, NAME)


def test_one_that_is_held_is_offered_to_nobody_until_it_is_released(canaries: Canaries) -> None:
    canaries.hand.rollouts.hold(ALICE, NAME)
    assert offered(canaries, 100) == []
    assert canaries.hand.get().uses.offered_percent == 0

    canaries.hand.rollouts.release(ALICE, NAME)
    assert offered(canaries, 100) == SESSIONS


@pytest.mark.every_database
def test_one_that_failed_is_offered_to_nobody_though_it_was_released(canaries: Canaries) -> None:
    canaries.hand.show("canary", canaries.hand.run("something else"))
    canaries.hand.rollouts.release(ALICE, NAME)

    assert offered(canaries, 100) == []
    assert canaries.hand.get().uses.offered_percent == 0


@pytest.mark.every_database
def test_once_active_everybody_is_offered_it(canaries: Canaries) -> None:
    canaries.hand.show("canary", canaries.hand.run())
    canaries.hand.promote(status=Stage.ACTIVE)

    assert offered(canaries, 0) == SESSIONS


def test_all_daemons_draw_by_the_secret_that_the_first_one_made(
    canaries: Canaries, tmp_path: Path
) -> None:
    secret, some = secret_of(canaries), offered(canaries, 30)

    other = Canaries(canaries.units, tmp_path / "other")

    assert secret_of(other) == secret
    assert len(secret) == 2 * SECRET_BYTES
    assert offered(other, 30) == some


@pytest.mark.every_database
def test_daemons_that_start_together_make_one_secret(units: Units) -> None:
    together([partial(make_secret, units, FrozenClock())] * 4)

    with units.read() as unit:
        rows = unit.connection.execute(sa.text("SELECT count(*) FROM canary_secret"))
        assert rows.scalar() == 1


@pytest.mark.every_database
def test_without_a_secret_nobody_is_drawn(canaries: Canaries) -> None:
    with canaries.units.write() as unit:
        unit.connection.execute(sa.text("DELETE FROM canary_secret"))

    assert offered(canaries, 99) == []
    assert offered(canaries, 100) == SESSIONS


@pytest.mark.every_database
def test_a_session_that_is_not_drawn_gets_nothing_by_making_sidechains(canaries: Canaries) -> None:
    is_in = offered(canaries, 50)
    drawn, left = is_in[0], next(it for it in SESSIONS if it not in is_in)
    with canaries.units.write() as unit:
        for root in (drawn, left):
            unit.sessions.add(root)
            unit.sessions.add(child := make_session(parent_session_id=root.session_id))
            unit.sessions.add(make_session(parent_session_id=child.session_id))
        below = unit.sidechains.below(drawn.session_id), unit.sidechains.below(left.session_id)
        families = [[unit.sessions.get(it) for it in ids] for ids in below]

    [of_drawn, of_left] = [[bool(canaries.origins(it)) for it in family] for family in families]
    assert of_drawn == [True, True]
    assert of_left == [False, False]
