"""Parts of the agent loop that say nothing, for tests that are about the others."""

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.agent.offers import CatalogueSkills, SkillText
from understudy.evolution.acts import Act
from understudy.evolution.coach import EvolutionCoach
from understudy.evolution.consent import ConsentRecords
from understudy.evolution.nudges import Briefing, Remark
from understudy.runs.execute import RunExecution
from understudy.runs.model import Run
from understudy.sessions.model import Session
from understudy.storage.unit import Unit


class NoCoach(EvolutionCoach):
    """A daemon without self-evolution."""

    def __init__(self) -> None:
        """It needs neither a database nor offers."""

    def brief(self, *_: object, **__: object) -> Briefing:
        return Briefing()

    def nudge(self, *_: object, **__: object) -> Remark | None:
        return None

    async def parting(self, execution: RunExecution, *, step: int, reply: str) -> Remark | None:
        return None


class NoConsent(ConsentRecords):
    """Lets every call pass."""

    def __init__(self) -> None:
        """It keeps no records."""

    def hear(self, unit: Unit, run: Run, session: Session) -> None:
        """Nothing was offered."""

    def act(self, run: Run, tool_name: str, arguments: Mapping[str, Any]) -> Act | None:
        return None


class NoSkills(CatalogueSkills):
    """Puts nothing about skills into prompts, whatever there are."""

    def __init__(self) -> None:
        """It has no catalogue."""

    def section(
        self,
        unit: Unit,
        run: Run,
        session: Session,
        tools: Sequence[str],
        *,
        is_recorded: bool = True,
    ) -> SkillText:
        return SkillText()
