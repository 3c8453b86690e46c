"""Maintenance of runs: at startup, periodically, and at shutdown."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import structlog

from understudy.core.clock import Clock
from understudy.core.errors import DamagedRecord, DatabaseUnavailable
from understudy.runs.model import StopRequest
from understudy.runs.sleep import fail_unread, let_in
from understudy.runs.stops import StopSignals

if TYPE_CHECKING:
    from understudy.storage.unit import Units

log = structlog.get_logger()


class EngineRecords(Protocol):
    """The durable engine's records of runs."""

    def lost(self, work_ids: Sequence[str]) -> tuple[str, ...]:
        """The work ids among these that the engine does not know."""
        ...

    def forget(self, work_ids: Sequence[str]) -> None:
        """Delete the engine's records of these work ids, so that they can be started again."""
        ...

    def stranded(self, held: Collection[str]) -> frozenset[str]:
        """Work in flight here by the engine's records, though no execution holds it."""
        ...

    def put_back(self, work_id: str) -> None:
        """Have stranded work resumed."""
        ...


@dataclass(slots=True, kw_only=True)
class Upkeep:
    """Keeps our records consistent with the engine's."""

    units: "Units"
    clock: Clock
    engine: EngineRecords
    signals: StopSignals
    # A lock for daemons that start at the same time.
    exclusively: Callable[[], AbstractContextManager[None]]
    # Runs of one user that are in flight; None is no limit.
    most_in_flight: int | None = None
    _stranded_before: frozenset[str] = field(default_factory=frozenset)
    _given_up_before: frozenset[str] = field(default_factory=frozenset)

    def requeue_lost(self) -> None:
        """Start the runs that should be worked on and of which the engine has no work."""
        with self.exclusively():
            with self.units.read() as unit:
                awake = unit.runs.awake()
                left = unit.runs.left_in_line()
            self._queue_anew(awake)
            self._let_in(left)

    def requeue_given_up(self) -> None:
        """Start runs of which the engine had no work at two polls, and that no execution holds."""
        with self.units.read() as unit:
            awake = unit.runs.awake()
        given_up = frozenset(self.engine.lost(tuple(awake)))
        held = self.signals.active()
        sure = {
            work_id: awake[work_id]
            for work_id in given_up & self._given_up_before
            if awake[work_id] not in held
        }
        self._given_up_before = given_up
        if sure:
            with self.exclusively():
                self._queue_anew(sure)

    def put_back_stranded(self) -> None:
        """Resume work that was stranded at two polls in a row, as after a start that was cut off."""
        stranded = self.engine.stranded(self.signals.active())
        for work_id in stranded & self._stranded_before:
            log.warning("run.put_back", work_id=work_id)
            self.engine.put_back(work_id)
        self._stranded_before = stranded

    def stop_requests(self, run_ids: tuple[str, ...]) -> dict[str, StopRequest]:
        """The stop requests of these runs, from any process."""
        with self.units.read() as unit:
            return unit.runs.stop_requests(run_ids)

    def park(self) -> None:
        """Mark active runs as parked by the shutdown; without the database it counts as a crash."""
        try:
            with self.units.write() as unit:
                unit.runs.park(self.signals.active())
        except DatabaseUnavailable:
            log.warning("drain.not_noted", runs=len(self.signals.active()))

    def wake_left(self) -> None:
        """Wake runs that stepped aside and were missed because their row was locked."""
        with self.units.read() as unit:
            left = unit.runs.left_in_line()
        self._let_in(left)

    def _queue_anew(self, awake: Mapping[str, str]) -> None:
        for work_id in self.engine.lost(tuple(awake)):
            # On the engine's own connection, so not within our transaction.
            self.engine.forget([work_id])
            self._requeue(awake[work_id])

    def _let_in(self, left: Sequence[str]) -> None:
        for run_id in left:
            let_in(self.units, run_id, most=self.most_in_flight, clock=self.clock)

    def _requeue(self, run_id: str) -> None:
        with self.units.write() as unit:
            try:
                run = unit.runs.get(run_id, lock=True)
            except DamagedRecord as damaged:
                log.warning("run.closed_unread", run_id=run_id)
                fail_unread(unit, run_id, reason=damaged.detail, at_ms=self.clock.now_ms())
                return
            if run is not None and run.finished_at_ms is None and not run.asleep:
                log.warning("run.requeued", run_id=run_id)
                unit.enqueue(run)
