"""What the loop asks of somebody who knows how an agent may evolve."""

from collections.abc import Collection, Sequence
from typing import Protocol

from understudy.agents.model import Agent, ContextFile
from understudy.evolution.remarks import Briefing, Remark
from understudy.runs.execute import Execution
from understudy.runs.model import Run
from understudy.sessions.model import Session


class Coach(Protocol):
    """Somebody who says what a run is told beside its work."""

    def brief(
        self,
        run: Run,
        session: Session,
        *,
        agent: Agent | None,
        files: Sequence[ContextFile],
        tools: Collection[str],
    ) -> Briefing:
        """What the prompt says, fixed when the run starts."""
        ...

    def nudge(
        self, execution: Execution, *, step: int, max_steps: int, has_tools: bool
    ) -> Remark | None:
        """What the model is told before a call, for the rest of this execution and nowhere else."""
        ...

    async def parting(self, execution: Execution, *, step: int, reply: str) -> Remark | None:
        """What stands below the last reply, and is stored and streamed as a part of it."""
        ...


class NoCoach:
    """Says nothing."""

    def brief(
        self,
        run: Run,
        session: Session,
        *,
        agent: Agent | None,
        files: Sequence[ContextFile],
        tools: Collection[str],
    ) -> Briefing:
        """Nothing."""
        return Briefing()

    def nudge(
        self, execution: Execution, *, step: int, max_steps: int, has_tools: bool
    ) -> Remark | None:
        """Nothing."""
        return None

    async def parting(self, execution: Execution, *, step: int, reply: str) -> Remark | None:
        """Nothing."""
        return None
