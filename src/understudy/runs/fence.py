"""The fence of an execution: once a newer execution of its run has begun, it can write nothing.

A daemon that was stopped and comes back goes on where it was, though others have taken its runs over.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from understudy.core.rehearsal import premise
from understudy.runs.stops import RunTakenOver

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units


@dataclass(frozen=True, slots=True)
class FencedUnits:
    """Units in which one execution writes; each first checks that the execution owns its run."""

    units: "Units"
    run_id: str
    attempt: int

    @contextmanager
    def write(self) -> Iterator["Unit"]:
        """A unit for a step; the run's row is locked."""
        with premise(self._own), self.units.write() as unit:
            yield unit

    def all(self) -> AbstractContextManager[None]:
        """Fence every unit that is opened within, such as those of tools.

        Tasks that are begun within and outlive the execution need a context of their own.
        """
        return premise(self._stay)

    def _own(self, unit: "Unit") -> None:
        if not unit.runs.owns(self.run_id, self.attempt):
            raise RunTakenOver(self.run_id)

    def _stay(self, unit: "Unit") -> None:
        """Without the run's row, which others lock later than what a tool may lock."""
        if not unit.runs.is_current(self.run_id, self.attempt):
            raise RunTakenOver(self.run_id)
