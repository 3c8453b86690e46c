"""Runs that the engine gave up, though they have not ended: somebody queues them again."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.factories import NOW, make_run
from understudy.runs.model import Run, RunStatus
from understudy.runs.stops import StopSignals
from understudy.runs.upkeep import Upkeep
from understudy.testing.clock import FrozenClock


@dataclass
class Records:
    """What an engine says of its work."""

    given_up: set[str] = field(default_factory=set)
    forgotten: list[str] = field(default_factory=list)

    def lost(self, work_ids: Sequence[str]) -> tuple[str, ...]:
        return tuple(work_id for work_id in work_ids if work_id in self.given_up)

    def forget(self, work_ids: Sequence[str]) -> None:
        self.forgotten += work_ids
        self.given_up -= {*work_ids}

    def stranded(self, held: Collection[str]) -> frozenset[str]:
        return frozenset()

    def put_back(self, work_id: str) -> None:
        raise AssertionError(work_id)


@dataclass
class Kept:
    """Upkeep over runs of which an engine may have given up some."""

    database: UnitsOnDatabase
    records: Records = field(default_factory=Records)
    signals: StopSignals = field(default_factory=StopSignals)

    def __post_init__(self) -> None:
        units = self.database.units
        self.upkeep = Upkeep(
            units=units,
            clock=FrozenClock(NOW),
            engine=self.records,
            signals=self.signals,
            exclusively=units.exclusively,
        )

    def given_up(self) -> Run:
        run = make_run(status=RunStatus.RUNNING, started_at_ms=NOW)
        with self.database.units.write() as unit:
            unit.runs.add(run)
        self.records.given_up.add(run.work_id)
        return run


@pytest.fixture
def kept(database: UnitsOnDatabase) -> Kept:
    return Kept(database)


def test_what_was_given_up_on_two_looks_is_queued_again_once(kept: Kept) -> None:
    run = kept.given_up()

    kept.upkeep.requeue_given_up()
    assert kept.database.queued == []
    kept.upkeep.requeue_given_up()
    kept.upkeep.requeue_given_up()

    assert kept.database.queued == [(run.run_id, run.session_id)]
    assert kept.records.forgotten == [run.work_id]


def test_what_the_engine_takes_up_meanwhile_is_left_to_it(kept: Kept) -> None:
    run = kept.given_up()
    kept.upkeep.requeue_given_up()
    kept.records.given_up.remove(run.work_id)

    kept.upkeep.requeue_given_up()

    assert (kept.database.queued, kept.records.forgotten) == ([], [])


async def test_what_is_still_worked_on_here_is_left(kept: Kept) -> None:
    run = kept.given_up()
    signal = kept.signals.open(run.run_id)

    kept.upkeep.requeue_given_up()
    kept.upkeep.requeue_given_up()
    assert kept.database.queued == []
    kept.signals.close(run.run_id, signal)
    kept.upkeep.requeue_given_up()

    assert kept.database.queued == [(run.run_id, run.session_id)]
