"""What the loop asks of somebody who knows what a user agreed to."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from understudy.evolution.acts import Act
from understudy.evolution.consent import Call, Refusal
from understudy.runs.model import Run
from understudy.sessions.model import Session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


class ConsentGate(Protocol):
    """Somebody who lets some calls pass only after the user has agreed."""

    def hear(self, unit: "Unit", run: Run, session: Session) -> None:
        """A run begins with these words of its user."""
        ...

    def act(self, run: Run, tool_name: str, arguments: Mapping[str, Any]) -> Act | None:
        """What a call with these arguments needs consent for; None where it needs none."""
        ...

    def declined(self, unit: "Unit", run: Run, act: Act) -> Refusal | None:
        """Why nobody is even asked to approve a call; None when somebody may be."""
        ...

    def refuses(self, unit: "Unit", run: Run, act: Act, call: Call) -> Refusal | None:
        """Why a call must not run; None when it may. The run is held."""
        ...


class NoConsent:
    """Lets every call pass: where nobody's skills are at stake."""

    def hear(self, unit: "Unit", run: Run, session: Session) -> None:
        """Nothing."""

    def act(self, run: Run, tool_name: str, arguments: Mapping[str, Any]) -> Act | None:
        """No call needs any."""
        return None

    def declined(self, unit: "Unit", run: Run, act: Act) -> Refusal | None:
        """Nobody said no."""
        return None

    def refuses(self, unit: "Unit", run: Run, act: Act, call: Call) -> Refusal | None:
        """Nothing stands against it."""
        return None
