"""What the loop asks of somebody who recalls earlier runs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from understudy.retrieval.pack import Budget
from understudy.retrieval.recollect import Recollection
from understudy.runs.model import Run

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


class Memories(Protocol):
    """Somebody who recalls what a run should be told of earlier ones."""

    def recollect(self, unit: "Unit", run: Run, budget: Budget) -> Recollection:
        """Sections for the system text, within a budget; called in the unit that starts the run."""
        ...

    def used(self, report: Mapping[str, Any]) -> None:
        """Hear that the first prompt with what was recalled is about to be sent."""
        ...


class NoMemories:
    """Recalls nothing."""

    def recollect(self, unit: "Unit", run: Run, budget: Budget) -> Recollection:
        """Nothing."""
        return Recollection()

    def used(self, report: Mapping[str, Any]) -> None:
        """Nothing to hear of."""
