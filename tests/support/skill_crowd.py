"""Twenty processes that each put a version of one skill; prints the numbers they got.

Run as a program with the address of a migrated database and a home, because it forks.
"""

import sys
from functools import partial
from pathlib import Path

from tests.support.killing import in_many_processes
from tests.support.skill_factories import keep_version, make_bundle, make_skill, skill_units
from understudy.skills.bundles.store import require_bundle
from understudy.storage.engine import open_engine

SKILL = make_skill()
MANY = 20


def put_one(url: str, home: Path, at: int) -> None:
    engine = open_engine(url)
    with skill_units(engine, home).write() as unit:
        unit.skills.lock(SKILL.slug)
        version = keep_version(unit, SKILL, make_bundle(f"text {at}"))
    (home / f"number-{at}").write_text(str(version.number))
    engine.dispose()


def main(url: str, home: Path) -> None:
    engine = open_engine(url)
    with skill_units(engine, home).write() as unit:
        unit.skills.add(SKILL)
    engine.dispose()
    in_many_processes([partial(put_one, url, home, at) for at in range(MANY)])
    with skill_units(engine, home).read() as unit:
        for at in range(MANY):
            number = int((home / f"number-{at}").read_text())
            version = unit.skills.version(SKILL.skill_id, number)
            assert version is not None
            assert require_bundle(unit, SKILL.slug, version) == make_bundle(f"text {at}")
            print(number)
    engine.dispose()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
