"""The context files as the prompt of a run shows them."""

from typing import TYPE_CHECKING

from understudy.agents.model import Agent, ContextFile
from understudy.agents.overlay import files_in_force
from understudy.runs.model import Run

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


class UserFiles:
    """The agent's files, with the copies that the run's user has over them."""

    def files(self, unit: "Unit", run: Run, agent: Agent | None) -> tuple[ContextFile, ...]:
        """The files that count for this run."""
        return files_in_force(unit, agent, run.user_id)
