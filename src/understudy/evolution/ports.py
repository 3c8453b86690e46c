"""What evolving needs from outside."""

from typing import TYPE_CHECKING, Protocol

from understudy.runs.model import Run

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


class OfferBook(Protocol):
    """Somebody who keeps what was offered to a user, and what came of it."""

    def open(self, unit: "Unit", run: Run) -> None:
        """The reply of this run offers to keep what was done as a skill; in the same transaction."""
        ...

    def was_declined(self, unit: "Unit", run: Run) -> bool:
        """Whether this user has said no in this session."""
        ...


class NoOffers:
    """Keeps nothing: the words below a reply are all there is."""

    def open(self, unit: "Unit", run: Run) -> None:
        """Nothing to keep."""

    def was_declined(self, unit: "Unit", run: Run) -> bool:
        """Nobody was ever asked."""
        return False


class Belongings(Protocol):
    """Somebody who knows what users would lose with a skill."""

    def holds(self, run: Run, ref: str) -> bool:
        """Whether the user of a run could delete this skill, and it is more than the agent's own doing."""
        ...


class NothingHeld:
    """Where there are no skills, nobody loses any."""

    def holds(self, run: Run, ref: str) -> bool:
        """There is no such skill."""
        return False
