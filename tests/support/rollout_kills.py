"""Kills whoever changes a rollout at every step of it, starts again, and looks.

Run as a program with a migrated SQLite database and an empty directory, because it forks. Prints
how many steps each change has.
"""

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from tests.support.factories import ALICE, make_agent, make_session
from tests.support.killing import STEP, killed_at_every_step
from tests.support.mounted_rollouts import MountedRollouts
from tests.support.rollout_harness import ASKED, NAME
from tests.support.skill_factories import skill_units
from understudy.rollout.definition import check_definition
from understudy.rollout.model import Stage
from understudy.storage.engine import open_engine

Change = Callable[[MountedRollouts], object]


def edited(scenery: MountedRollouts) -> object:
    """Somebody changes the files, and adds some."""
    stray = scenery.folder("stray")
    stray.mkdir()
    (stray / "SKILL.md").write_text("of nobody")
    return (scenery.folder() / "SKILL.md").write_text("edited")


# What comes before a change, and the change.
CHANGES: dict[str, tuple[Change, ...]] = {
    "promote": (lambda it: it.hand.learn(), lambda it: it.hand.promote()),
    "verify": (
        lambda it: it.hand.learn(),
        lambda it: it.hand.promote(),
        lambda it: it.hand.show("verification", it.hand.run()),
        lambda it: it.hand.promote(status=Stage.VERIFIED),
    ),
    "try": (
        lambda it: it.hand.learn(),
        lambda it: it.hand.bring_to(Stage.VERIFIED),
        lambda it: it.hand.promote(status=Stage.CANARY),
    ),
    "activate": (
        lambda it: it.hand.learn(),
        lambda it: it.hand.bring_to(Stage.CANARY),
        lambda it: it.hand.show("canary", it.hand.run()),
        lambda it: it.hand.promote(status=Stage.ACTIVE),
    ),
    "revoke": (lambda it: it.activate(), lambda it: it.hand.rollouts.revoke(ALICE, NAME)),
    "revoke-learning": (
        lambda it: it.activate(),
        lambda it: it.hand.learnings.revoke(ALICE, "lrn_1"),
    ),
    "rollback": (
        lambda it: it.activate(),
        lambda it: it.hand.rollouts.revoke(ALICE, NAME),
        lambda it: it.hand.rollouts.rollback(ALICE, NAME),
    ),
    "start": (lambda it: it.activate(), edited, lambda it: it.repair.startup()),
}


@contextmanager
def opened(home: Path) -> Iterator[MountedRollouts]:
    engine = open_engine(f"sqlite:///{home / 'understudy.db'}")
    sa.event.listen(engine, "commit", lambda _: sys.audit(STEP))
    try:
        yield MountedRollouts(skill_units(engine, home), home, looks_around=False)
    finally:
        engine.dispose()


def do(home: Path, change: Change) -> None:
    with opened(home) as scenery:
        change(scenery)


def look(home: Path, before: int) -> None:
    """After a start record, files and catalogue agree, and the change was made whole or not."""
    with opened(home) as scenery:
        scenery.repair.startup()
        scenery.check_agreement()
        left = [*scenery.folder().parent.glob(".tmp-*")] if scenery.folder().parent.exists() else []
        assert left == []
        with scenery.units.read() as unit:
            rollout = unit.rollouts.get(NAME)
            events = () if rollout is None else unit.rollouts.recent_events([NAME], limit=100)[NAME]
        assert len(events) in {before, before + 1}
        if rollout is not None:
            assert events[-1].to_status is rollout.status
            assert (rollout.status is Stage.ACTIVE) is bool(scenery.files())


def events_of(home: Path) -> int:
    """How much has happened to the rollout."""
    with opened(home) as scenery, scenery.units.read() as unit:
        if unit.rollouts.get(NAME) is None:
            return 0
        return len(unit.rollouts.recent_events([NAME], limit=100)[NAME])


def kill_all_through(template: Path, room: Path, name: str) -> int:
    """Kill one change at each of its steps; tells how many there are."""
    *before, change = CHANGES[name]
    start, home = room / f"{name}-start", room / name
    start.mkdir()
    shutil.copy(template, start / "understudy.db")
    with opened(start) as scenery, scenery.units.write() as unit:
        unit.agents.add(make_agent())
        unit.sessions.add(make_session("s1"))
    for earlier in before:
        do(start, earlier)
    happened = events_of(start)
    shutil.copytree(start, home)
    steps = 0
    for is_done in killed_at_every_step(lambda: do(home, change)):
        look(home, happened)
        shutil.rmtree(home)
        if not is_done:
            steps += 1
            shutil.copytree(start, home)
    return steps


def main(template: Path, room: Path) -> None:
    # What the guard compiles once is compiled here, and not in every child.
    scenery = MountedRollouts(
        skill_units(sa.create_engine("sqlite://"), room), room, looks_around=False
    )
    scenery.mounting.check(check_definition(ASKED, scenery.hand.rollouts.guard))
    for name in CHANGES:
        print(name, kill_all_through(template, room, name))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
