"""Many processes change one skill through the service at once, or are killed while they do."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.skill_service_crowd import CREATORS, PATCHERS, text_of
from tests.support.skill_service_harness import SLUG, SkillServiceHarness

ROOT = Path(__file__).parents[2]


def run(program: str, *arguments: object) -> list[str]:
    command = [sys.executable, "-m", f"tests.support.{program}", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_what_twenty_processes_patch_at_once_is_all_there(
    database: UnitsOnDatabase, tmp_path: Path
) -> None:
    got = run("skill_service_crowd", "patch", database.url, tmp_path)

    harness = SkillServiceHarness(database.units)
    done = [at for at, one in enumerate(got) if one.startswith("version ")]
    numbers = sorted(int(got[at].split()[1]) for at in done)
    lost = [one for one in got if not one.startswith("version ")]
    # Whoever begins again as often as allowed and loses each time is told so.
    assert set(lost) <= {"refused skill_changed"}
    assert len(done) >= PATCHERS // 2
    assert numbers == list(range(2, len(done) + 2))
    text = harness.bundle().manifest_text
    assert all(f"- step {at} was rewritten\n" in text for at in done)
    assert text.count("was rewritten") == len(done)
    with harness.units.read() as unit:
        highest = max(unit.skill_bundles.numbers(SLUG))
    assert harness.row().version == numbers[-1] == highest


@pytest.mark.slow
def test_ten_processes_that_create_one_slug_make_ten_versions(
    database: UnitsOnDatabase, tmp_path: Path
) -> None:
    got = run("skill_service_crowd", "create", database.url, tmp_path)

    harness = SkillServiceHarness(database.units)
    assert sorted(got) == sorted(f"version {number}" for number in range(1, CREATORS + 1))
    for at, one in enumerate(got):
        number = int(one.split()[1])
        assert harness.bundle(number=number).manifest_text == text_of(at)
    assert harness.row().version == CREATORS
    assert harness.row().digest == harness.bundle().digest


@pytest.mark.slow
def test_of_two_owners_who_create_one_slug_one_gets_it(
    database: UnitsOnDatabase, tmp_path: Path
) -> None:
    got = Counter(run("skill_service_crowd", "claim", database.url, tmp_path))

    harness = SkillServiceHarness(database.units)
    owner = harness.row().owner_id
    assert got == {f"owner {owner}": CREATORS // 2, "refused invalid_slug": CREATORS // 2}
    assert {version.actor for version in harness.versions()} == {owner}


@pytest.mark.slow
def test_a_skill_is_whole_whenever_the_service_is_killed(
    sqlite_template: Path, tmp_path: Path
) -> None:
    lines = run("skill_service_kills", sqlite_template, tmp_path)

    steps = {name: int(count) for name, count in map(str.split, lines)}
    assert set(steps) == {"create", "patch", "delete", "create-again"}
    # Each renames at least once, and is killed before and after it commits.
    assert all(count >= 3 for count in steps.values()), steps
