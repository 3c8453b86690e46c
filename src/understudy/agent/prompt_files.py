"""What the loop asks of somebody who knows the context files: those that one run is shown."""

from typing import TYPE_CHECKING, Protocol

from understudy.agents.model import Agent, ContextFile
from understudy.runs.model import Run

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


class PromptFiles(Protocol):
    """Somebody who knows which files a run goes by."""

    def files(self, unit: "Unit", run: Run, agent: Agent | None) -> tuple[ContextFile, ...]:
        """The files as the prompt of a run shows them; called in the unit that starts it."""
        ...


class AgentFiles:
    """Shows the agent's own, to every user the same."""

    def files(self, unit: "Unit", run: Run, agent: Agent | None) -> tuple[ContextFile, ...]:
        """The newest version of each."""
        return unit.agents.files(run.agent_id)
