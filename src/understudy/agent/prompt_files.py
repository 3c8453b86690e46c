"""What the loop asks of somebody who knows the context files: those that one run is shown."""

from typing import Protocol

from understudy.agents.model import Agent, ContextFile
from understudy.runs.model import Run
from understudy.runs.ports import RunUnit


class PromptFiles(Protocol):
    """Somebody who knows which files a run goes by."""

    def files(self, unit: RunUnit, run: Run, agent: Agent | None) -> tuple[ContextFile, ...]:
        """The files as the prompt of a run shows them; called in the unit that starts it."""
        ...


class AgentFiles:
    """Shows the agent's own, to every user the same."""

    def files(self, unit: RunUnit, run: Run, agent: Agent | None) -> tuple[ContextFile, ...]:
        """The newest version of each."""
        return unit.agents.files(run.agent_id)
