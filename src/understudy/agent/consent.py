"""What the loop asks of somebody who knows what a user agreed to."""

from collections.abc import Mapping
from typing import Any, Protocol

from understudy.evolution.consent import Call, Refusal
from understudy.runs.model import Run
from understudy.runs.ports import RunUnit
from understudy.sessions.model import Session


class ConsentGate(Protocol):
    """Somebody who lets some calls pass only after the user has agreed."""

    def hear(self, unit: RunUnit, run: Run, session: Session) -> None:
        """A run begins with these words of its user."""
        ...

    def concerns(self, run: Run, tool_name: str, arguments: Mapping[str, Any]) -> bool:
        """Whether a call with these arguments needs consent at all."""
        ...

    def declined(
        self, unit: RunUnit, run: Run, tool_name: str, arguments: Mapping[str, Any]
    ) -> Refusal | None:
        """Why nobody is even asked to approve a call; None when somebody may be."""
        ...

    def refuses(
        self, unit: RunUnit, run: Run, tool_name: str, arguments: Mapping[str, Any], call: Call
    ) -> Refusal | None:
        """Why a call must not run; None when it may. The run is held."""
        ...


class NoConsent:
    """Lets every call pass: where nobody's skills are at stake."""

    def hear(self, unit: RunUnit, run: Run, session: Session) -> None:
        """Nothing."""

    def concerns(self, run: Run, tool_name: str, arguments: Mapping[str, Any]) -> bool:
        """No call does."""
        return False

    def declined(
        self, unit: RunUnit, run: Run, tool_name: str, arguments: Mapping[str, Any]
    ) -> Refusal | None:
        """Nobody said no."""
        return None

    def refuses(
        self, unit: RunUnit, run: Run, tool_name: str, arguments: Mapping[str, Any], call: Call
    ) -> Refusal | None:
        """Nothing stands against it."""
        return None
