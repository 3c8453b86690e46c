"""Kills whoever has the service change a skill at every step of it, starts again, and looks.

Run as a program with a migrated SQLite database and an empty directory, because it forks. Prints
how many steps each change has.
"""

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from tests.support.factories import make_agent
from tests.support.killing import STEP, killed_at_every_step
from tests.support.skill_factories import make_bundle, skill_units
from tests.support.skill_service_harness import ANN, SLUG, Heard, SkillServiceHarness, run_of
from tests.support.skill_texts import companions
from understudy.core.page import PageRequest
from understudy.skills.access import is_live
from understudy.skills.bundles.store import Settled
from understudy.skills.model import Skill
from understudy.skills.service import SkillService
from understudy.storage.engine import open_engine

BUNDLE = make_bundle(files={"scripts/run.py": b"print('hi')\n"})
Change = Callable[[SkillService], object]


def create(service: SkillService) -> object:
    """Make the skill."""
    return service.keep(run_of(ANN), BUNDLE, action="skills.publish")


def patch(service: SkillService) -> object:
    """Make its next version."""
    return service.patch(ANN, SLUG, find="Collect", replace="Count")


def delete(service: SkillService) -> object:
    """Move it to the trash."""
    return service.delete(ANN, SLUG)


# What is done, after what.
CHANGES: dict[str, tuple[Change, ...]] = {
    "create": (create,),
    "patch": (create, patch),
    "delete": (create, patch, delete),
    "create-again": (create, delete, create),
}


class Told(Heard):
    """Hears of a change once it is committed, which is a step of its own."""

    def changed(self, skill: Skill, what: str) -> None:
        """Say so."""
        del skill, what
        sys.audit(STEP)


@contextmanager
def opened(home: Path) -> Iterator[SkillServiceHarness]:
    engine = open_engine(f"sqlite:///{home / 'understudy.db'}")
    sa.event.listen(engine, "commit", lambda _: sys.audit(STEP))
    try:
        yield SkillServiceHarness(skill_units(engine, home), heard=Told())
    finally:
        engine.dispose()


def do(home: Path, change: Change) -> None:
    with opened(home) as harness:
        change(harness.service)


def look(home: Path) -> None:
    """After a restart what counts is whole, nothing else is left, and the next number is new."""
    with opened(home) as harness:
        with harness.units.write() as unit:
            unit.skill_bundles.settle(unit.skills.places())
        with harness.units.write() as unit:
            assert unit.skill_bundles.settle(unit.skills.places()) == Settled()
            used = unit.skill_bundles.numbers(SLUG)
            assert used == set(unit.skills.places().get(SLUG, {}))
            skill = unit.skills.by_slug(SLUG)
        assert not [*(home / "skills-store").rglob(".tmp-*")]
        if skill is not None and is_live(skill):
            check_living(harness, skill)
            kept = harness.service.patch(ANN, SLUG, find="and write", replace="and send")
        else:
            kept = harness.service.create(ANN, BUNDLE.manifest_text)
        assert kept.skill.version not in used


def check_living(harness: SkillServiceHarness, skill: Skill) -> None:
    """Its row, its bundle, its audit and its grant belong together."""
    assert companions(harness.bundle()) == companions(BUNDLE)
    assert harness.bundle().digest == skill.digest
    assert harness.grants() == (["default"], [])
    with harness.units.read() as unit:
        told = unit.audit.page(PageRequest(limit=1), resource="skills", actor=None).items[0]
    assert told.version == skill.version


def kill_all_through(template: Path, room: Path, name: str) -> int:
    """Kill one change at each of its steps; tells how many there are."""
    *before, change = CHANGES[name]
    start, home = room / f"{name}-start", room / name
    start.mkdir()
    shutil.copy(template, start / "understudy.db")
    with opened(start) as harness, harness.units.write() as unit:
        unit.agents.add(make_agent(owner_id=ANN.user_id))
    for earlier in before:
        do(start, earlier)
    shutil.copytree(start, home)
    steps = 0
    for is_done in killed_at_every_step(lambda: do(home, change)):
        look(home)
        shutil.rmtree(home)
        if not is_done:
            steps += 1
            shutil.copytree(start, home)
    return steps


def main(template: Path, room: Path) -> None:
    # What the guard compiles once is compiled here, and not in every child.
    SkillServiceHarness(skill_units(sa.create_engine("sqlite://"), room)).guard.findings(BUNDLE)
    for name in CHANGES:
        print(name, kill_all_through(template, room, name))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
