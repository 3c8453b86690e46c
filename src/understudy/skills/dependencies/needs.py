"""What each skill in use needs and lacks, and the status that follows from it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from understudy.core.errors import DamagedRecord
from understudy.core.page import MAX_LIMIT, PageRequest, decode_cursor
from understudy.skills.authority import is_live
from understudy.skills.bundles import manifest
from understudy.skills.change import Change
from understudy.skills.dependencies.availability import missing
from understudy.skills.dependencies.environments import Environments
from understudy.skills.dependencies.requirements import Requirements, find_requirements
from understudy.skills.filters import SkillFilter
from understudy.skills.lifecycle import STATUS
from understudy.skills.model import Skill, SkillStatus
from understudy.skills.ports import require_bundle

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# Said of a skill that needs nothing, and of one whose bundle cannot be read.
NOTHING_NEEDED = "ok"
DAMAGED = "damaged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What the current version of a skill needs, and what of it is missing here."""

    skill: Skill
    requirements: Requirements
    missing: tuple[str, ...]
    is_damaged: bool = False

    @property
    def status(self) -> SkillStatus:
        """The status that it should have."""
        return SkillStatus.ARCHIVED if self.missing else SkillStatus.ACTIVE

    @property
    def said(self) -> str:
        """The status as people are told it."""
        if self.is_damaged:
            return DAMAGED
        return str(self.status) if self.requirements.dependencies else NOTHING_NEEDED

    @property
    def is_news(self) -> bool:
        """Whether the row says something else."""
        known = (self.skill.status, self.skill.missing_deps)
        return not self.is_damaged and known != (self.status, self.missing)


def needs_in_use(units: "Units", environments: Environments) -> Iterator[Needs]:
    """The needs of every skill that is enabled and not deleted, by name."""
    after = None
    while True:
        with units.read() as unit:
            request = PageRequest(limit=MAX_LIMIT, after=after)
            page = unit.skills.page(request, narrowed=SkillFilter(enabled=True))
        for skill in page.items:
            machine = environments.machine_for(skill.slug)
            with units.read() as unit:
                requirements = requirements_of(unit, skill)
            if requirements is None:
                yield Needs(skill=skill, requirements=Requirements(), missing=(), is_damaged=True)
            else:
                lacking = missing(requirements, machine)
                yield Needs(skill=skill, requirements=requirements, missing=lacking)
        if page.next_cursor is None:
            return
        after = decode_cursor(page.next_cursor)


def requirements_of(unit: "Unit", skill: Skill) -> Requirements | None:
    """What the current version needs; None when it cannot be read as it was kept."""
    version = unit.skills.version(skill.skill_id, skill.version)
    if version is None:
        return None
    try:
        bundle = require_bundle(unit, skill.slug, version)
    except DamagedRecord:
        return None
    return find_requirements(bundle, manifest.read(bundle.manifest_text).manifest)


def keep(change: Change, needs: Needs) -> bool:
    """Write down what was found out; False when the skill has changed since, and it is moot."""
    change.unit.skills.hold(needs.skill.slug)
    skill = change.unit.skills.get(needs.skill.skill_id)
    is_same = skill is not None and skill.version == needs.skill.version
    if skill is None or not is_same or not skill.enabled or not is_live(skill):
        return False
    STATUS.check(skill.status, needs.status)
    kept = change.save(skill, status=needs.status, missing_deps=needs.missing)
    lacking = ", ".join(kept.missing_deps) or "nothing"
    change.record("skills.rescan", kept, f"is {kept.status}, missing {lacking}")
    return True
