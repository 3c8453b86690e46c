"""Many processes that have the service change one skill at once; prints what each of them got.

Run as a program with what they do, the address of a migrated database and a home, because it forks.
"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.support.killing import in_many_processes
from tests.support.skill_factories import skill_units
from tests.support.skill_service_harness import ANN, BOB, SLUG, SkillServiceHarness, skill_md
from understudy.core.errors import UnderstudyError
from understudy.skills.service import SkillService
from understudy.skills.versions import bundle_of
from understudy.storage.engine import open_engine

PATCHERS = 20
CREATORS = 10
LINES = "".join(f"- step {at} of the plan\n" for at in range(PATCHERS))


def patch(service: SkillService, at: int) -> str:
    """Change a line that nobody else changes."""
    changed = f"- step {at} was rewritten\n"
    kept = service.patch(ANN, SLUG, find=f"- step {at} of the plan\n", replace=changed)
    return f"version {kept.skill.version}"


def create(service: SkillService, at: int) -> str:
    """Create the skill in words of one's own."""
    return f"version {service.create(ANN, text_of(at), slug=SLUG).skill.version}"


def claim(service: SkillService, at: int) -> str:
    """The same, for one of two owners."""
    author = (ANN, BOB)[at % 2]
    service.create(author, text_of(at), slug=SLUG)
    return f"owner {author.user_id}"


def text_of(at: int) -> str:
    """What one creator writes."""
    return skill_md(body=f"The words of number {at}.\n")


Act = Callable[[SkillService, int], str]
ACTS: dict[str, tuple[Act, int]] = {
    "patch": (patch, PATCHERS),
    "create": (create, CREATORS),
    "claim": (claim, CREATORS),
}


def do(url: str, home: Path, act: Act, at: int) -> None:
    engine = open_engine(url)
    try:
        got = act(SkillServiceHarness(skill_units(engine, home)).service, at)
    except UnderstudyError as problem:
        got = f"refused {problem.code}"
    (home / f"got-{at}").write_text(got)
    engine.dispose()


def main(what: str, url: str, home: Path) -> None:
    act, many = ACTS[what]
    engine = open_engine(url)
    harness = SkillServiceHarness(skill_units(engine, home))
    # What the guard compiles once is compiled here, and not in every child.
    harness.guard.findings(bundle_of(skill_md()))
    if what == "patch":
        harness.service.create(ANN, skill_md(body=LINES))
    engine.dispose()
    in_many_processes([partial(do, url, home, act, at) for at in range(many)])
    for at in range(many):
        print((home / f"got-{at}").read_text())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
