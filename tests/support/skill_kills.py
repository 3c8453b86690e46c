"""Kills whoever changes a skill at every step of it, and looks at what is left; prints the steps.

Run as a program with a migrated SQLite database and an empty directory, because it forks.
"""

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tests.support.factories import NOW
from tests.support.killing import STEP, killed_at_every_step
from tests.support.skill_factories import keep_version, make_bundle, make_skill, skill_units
from understudy.skills.bundles.store import Settled, require_bundle
from understudy.skills.model import SkillStatus, TrashedSkill
from understudy.storage.engine import open_engine
from understudy.storage.unit import Unit, Units

SKILL = make_skill()
SLUG = SKILL.slug
FILES = {"scripts/run.py": b"print('hi')\n"}


@contextmanager
def opened(home: Path) -> Iterator[Units]:
    engine = open_engine(f"sqlite:///{home / 'understudy.db'}")
    try:
        yield skill_units(engine, home)
    finally:
        engine.dispose()


def create(unit: Unit) -> None:
    """Make the skill."""
    unit.skills.lock(SLUG)
    unit.skills.add(SKILL)
    keep_version(unit, SKILL, make_bundle("one", FILES))


def patch(unit: Unit) -> None:
    """Make its next version."""
    skill = unit.skills.by_slug(SLUG)
    assert skill is not None
    version = keep_version(unit, skill, make_bundle("two", FILES))
    changed = replace(skill, version=version.number, revision=skill.revision + 1)
    unit.skills.update(changed, expected_version=skill.revision)


def delete(unit: Unit) -> None:
    """Move it to the trash."""
    skill = unit.skills.by_slug(SLUG)
    assert skill is not None
    name = unit.skill_bundles.trash(SLUG, at_ms=NOW)
    unit.skills.trash(
        TrashedSkill(trash_name=name, skill=skill, deleted_by="ann", deleted_at_ms=NOW)
    )
    gone = replace(skill, status=SkillStatus.DELETED, trash_name=name, revision=skill.revision + 1)
    unit.skills.update(gone, expected_version=skill.revision)


def restore(unit: Unit) -> None:
    """Bring it back."""
    skill = unit.skills.by_slug(SLUG)
    assert skill is not None
    assert skill.trash_name is not None
    unit.skill_bundles.restore(SLUG, skill.trash_name)
    back = unit.skills.untrash(skill.trash_name)
    assert back is not None
    revived = replace(back.skill, revision=skill.revision + 1)
    unit.skills.update(revived, expected_version=skill.revision)


Change = Callable[[Unit], None]
# What is done, after what.
CHANGES: dict[str, tuple[Change, ...]] = {
    "create": (create,),
    "patch": (create, patch),
    "delete": (create, patch, delete),
    "restore": (create, patch, delete, restore),
}


def do(home: Path, change: Change) -> None:
    with opened(home) as units:
        with units.write() as unit:
            change(unit)
            sys.audit(STEP)
        sys.audit(STEP)


def look(home: Path) -> None:
    """The current version is whole and in its place, nothing else is left, and numbers go on."""
    with opened(home) as units:
        check_current(units)
        with units.write() as unit:
            unit.skill_bundles.settle(unit.skills.places())
        with units.write() as unit:
            assert unit.skill_bundles.settle(unit.skills.places()) == Settled()
            known = unit.skills.places().get(SLUG, {})
            assert unit.skill_bundles.numbers(SLUG) == set(known)
        check_current(units, home / "skills-store")
        assert not [*(home / "skills-store").rglob(".tmp-*")]
        with units.write() as unit:
            skill = unit.skills.by_slug(SLUG)
            if skill is None:
                unit.skills.add(SKILL)
            assert keep_version(unit, skill or SKILL, make_bundle("next")).number not in known


def check_current(units: Units, store: Path | None = None) -> None:
    with units.read() as unit:
        skill = unit.skills.by_slug(SLUG)
        if skill is None:
            return
        version = unit.skills.version(skill.skill_id, skill.version)
        assert version is not None
        require_bundle(unit, SLUG, version)
        folder = unit.skill_bundles.folder(SLUG, skill.version)
    if store is not None:
        place = store / SLUG if skill.trash_name is None else store / ".trash" / skill.trash_name
        assert folder == place / str(skill.version)


def kill_all_through(template: Path, room: Path, name: str) -> int:
    """Kill one change at each of its steps; tells how many there are."""
    *before, change = CHANGES[name]
    start = room / f"{name}-start"
    start.mkdir()
    shutil.copy(template, start / "understudy.db")
    for earlier in before:
        do(start, earlier)
    home = room / name
    steps = 0
    shutil.copytree(start, home)
    for is_done in killed_at_every_step(lambda: do(home, change)):
        look(home)
        shutil.rmtree(home)
        if not is_done:
            steps += 1
            shutil.copytree(start, home)
    return steps


if __name__ == "__main__":
    for which in CHANGES:
        print(which, kill_all_through(Path(sys.argv[1]), Path(sys.argv[2]), which))
