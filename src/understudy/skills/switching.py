"""Switching a skill on or off; what it needs is looked for again before it is on."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from understudy.skills.author import Author
from understudy.skills.authority import require_switchable
from understudy.skills.bundles.manifest import read
from understudy.skills.change import Change, ChangeMaker
from understudy.skills.dependencies.availability import LocalMachine, missing
from understudy.skills.dependencies.requirements import find_requirements
from understudy.skills.model import Skill, SkillStatus
from understudy.skills.ports import require_bundle
from understudy.skills.renewing import MAX_ATTEMPTS
from understudy.skills.writing import require_version

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units


@dataclass(frozen=True, slots=True, kw_only=True)
class Switching:
    """Looks outside of any transaction, and again when the skill changed meanwhile; in the end
    while nobody else can change it."""

    units: "Units"
    machine_for: Callable[[str], LocalMachine]
    maker: ChangeMaker

    def switch(self, author: Author, ref: str, *, enabled: bool) -> Skill:
        """The skill, on or off; one that misses something is archived when it is switched on."""
        for _ in range(MAX_ATTEMPTS):
            with self.units.read() as unit:
                seen = require_switchable(unit, author, ref)
                values = self._values(unit, seen, enabled=enabled)
            with self.maker.by(author) as change:
                skill = require_switchable(change.unit, author, ref, hold=True)
                if (skill.skill_id, skill.version) == (seen.skill_id, seen.version):
                    return _set(change, skill, values)
        with self.maker.by(author) as change:
            skill = require_switchable(change.unit, author, ref, hold=True)
            return _set(change, skill, self._values(change.unit, skill, enabled=enabled))

    def _values(self, unit: "Unit", skill: Skill, *, enabled: bool) -> dict[str, Any]:
        return {**(self._on(unit, skill) if enabled else {}), "enabled": enabled}

    def _on(self, unit: "Unit", skill: Skill) -> dict[str, Any]:
        bundle = require_bundle(unit, skill.slug, require_version(unit, skill, skill.version))
        needed = find_requirements(bundle, read(bundle.manifest_text).manifest)
        lacking = missing(needed, self.machine_for(skill.slug))
        status = SkillStatus.ARCHIVED if lacking else SkillStatus.ACTIVE
        return {"missing_deps": lacking, "status": status}


def _set(change: Change, skill: Skill, values: dict[str, Any]) -> Skill:
    if all(getattr(skill, name) == value for name, value in values.items()):
        return skill
    changed = change.save(skill, **values)
    change.record("skills.toggle", changed, "on" if changed.enabled else "off")
    return changed
