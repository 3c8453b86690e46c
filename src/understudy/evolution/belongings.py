"""What a user would lose with a skill: nothing, where the same agent wrote every version of it for them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from understudy.core.errors import DamagedRecord, Invalid
from understudy.core.page import PageRequest
from understudy.core.principal import Role
from understudy.runs.model import Run
from understudy.skills.authority import find
from understudy.skills.model import Skill, SkillVersion

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# A skill with a longer history is worth a question.
LOOKED_AT: Final = 20


@dataclass(frozen=True, slots=True)
class SkillBelongings:
    """Tells it from who owns a skill, and from the runs that wrote its versions."""

    units: "Units"

    def holds(self, run: Run, ref: str) -> bool:
        """Whether the user of a run could delete this skill, and it is more than the agent's own doing."""
        with self.units.read() as unit:
            try:
                skill = find(unit, ref)
            except DamagedRecord:
                # An admin can delete even that, and nobody knows any more whose it was.
                return run.role is Role.ADMIN
            except Invalid:
                return False
            if skill is None or not _is_theirs(skill, run):
                return False
            try:
                return not _is_made_by(unit, run, skill)
            except DamagedRecord:
                return True


def _is_made_by(unit: "Unit", run: Run, skill: Skill) -> bool:
    """Whether the agent of a run made every version for the same user."""
    versions = unit.skills.versions(skill.skill_id, PageRequest(limit=LOOKED_AT))
    makers = (_maker(unit, version) for version in versions.items)
    return versions.next_cursor is None and all(
        maker is not None and (maker.agent_id, maker.user_id) == (run.agent_id, run.user_id)
        for maker in makers
    )


def _maker(unit: "Unit", version: SkillVersion) -> Run | None:
    return None if version.run_id is None else unit.runs.get(version.run_id)


def _is_theirs(skill: Skill, run: Run) -> bool:
    return skill.owner_id == run.user_id or run.role is Role.ADMIN
