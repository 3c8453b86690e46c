"""Bundles of one skill: kept, deleted and settled as a daemon does it."""

from dataclasses import replace
from pathlib import Path

from tests.support.factories import NOW
from tests.support.skill_factories import keep_version, make_bundle, make_skill
from understudy.skills.bundles.store import Settled
from understudy.skills.model import Skill, SkillStatus, TrashedSkill
from understudy.storage.unit import Unit, Units

SLUG = "weekly-report"
FILES = {
    "scripts/deep/run.py": b"print('hi')\n",
    "notes..md": b"",
    "data/raw.bin": bytes(range(256)),
}


def begin(units: Units, *texts: str) -> Skill:
    """A skill with so many versions."""
    skill = make_skill(SLUG)
    with units.write() as unit:
        unit.skills.add(skill)
        for text in texts:
            keep_version(unit, skill, make_bundle(text, FILES))
    return skill


def delete(unit: Unit, skill: Skill) -> str:
    """Delete a skill as the service does."""
    name = unit.skill_bundles.trash(skill.slug, at_ms=NOW)
    unit.skills.trash(
        TrashedSkill(trash_name=name, skill=skill, deleted_by="ann", deleted_at_ms=NOW)
    )
    gone = replace(skill, status=SkillStatus.DELETED, trash_name=name, revision=skill.revision + 1)
    unit.skills.update(gone, expected_version=skill.revision)
    return name


def settle(units: Units) -> Settled:
    """Bring the bundles in line with the rows."""
    with units.write() as unit:
        return unit.skill_bundles.settle(unit.skills.places())


def text_of(units: Units, number: int) -> str:
    """The last line of a version."""
    with units.read() as unit:
        bundle = unit.skill_bundles.get(SLUG, number)
    return "" if bundle is None else bundle.manifest_text.splitlines()[-1]


def below(store: Path) -> list[str]:
    """Everything in a folder."""
    return sorted(str(path.relative_to(store)) for path in store.rglob("*"))
