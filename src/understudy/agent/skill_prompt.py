"""What the loop asks of somebody who knows the skills: a section for the prompt of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import structlog

from understudy.core.errors import UnderstudyError
from understudy.runs.model import Run
from understudy.sessions.model import Session
from understudy.skills.catalogue import Catalogue
from understudy.skills.catalogue_entry import CatalogueEntry, listing
from understudy.skills.prompt import inlined, skills_section

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

log = structlog.get_logger()

USE_SKILL: Final = "use_skill"
SKILL_SEARCH: Final = "skill_search"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillText:
    """The section, and what the run's snapshot keeps of how it came about."""

    text: str = ""
    report: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CatalogueSkills:
    """Tells of what the catalogue offers to the run's agent, its user and its session."""

    catalogue: Catalogue

    def section(self, unit: "Unit", run: Run, session: Session, tools: Sequence[str]) -> SkillText:
        """What is on offer; what goes wrong costs the section, and not the run."""
        if USE_SKILL not in tools:
            return SkillText()
        try:
            offered = self._offered(unit, run, session)
        except UnderstudyError as problem:
            log.warning("skills.not_offered", run_id=run.run_id, code=problem.code)
            return SkillText(report={"problem": problem.code})
        can_search = SKILL_SEARCH in tools
        listed = inlined(offered, can_search=can_search)
        if run.trial_id is None:
            _note(unit, run, listed)
        return SkillText(
            text=skills_section(offered, can_search=can_search, can_use=True),
            report=_report(offered, listed),
        )

    def _offered(self, unit: "Unit", run: Run, session: Session) -> tuple[CatalogueEntry, ...]:
        offered = self.catalogue.offered(
            unit, agent_id=run.agent_id, user_id=run.user_id, session=session
        )
        return tuple(one for one in offered if one.unusable is None)


def _note(unit: "Unit", run: Run, listed: Sequence[CatalogueEntry]) -> None:
    """Count what the run is told of, for whoever wants to know how often that is of use."""
    unit.skill_uses.list_for(
        [listing(one, run_id=run.run_id, at_ms=run.submitted_at_ms) for one in listed]
    )


def _report(offered: Sequence[CatalogueEntry], shown: Sequence[CatalogueEntry]) -> dict[str, Any]:
    """What was on offer, and exactly what was listed; the rest is only counted."""
    return {
        "offered": len(offered),
        "listed": [
            {"slug": one.slug, "ref": one.ref, "version": one.version, "digest": one.digest}
            for one in shown
        ],
    }
