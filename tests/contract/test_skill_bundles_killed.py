"""Whoever changes a skill is killed at every step, or has twenty others beside them."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(program: str, *arguments: object) -> str:
    command = [sys.executable, "-m", f"tests.support.{program}", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_skill_is_whole_whenever_its_changer_is_killed(
    sqlite_template: Path, tmp_path: Path
) -> None:
    steps = dict(
        line.split() for line in run("skill_kills", sqlite_template, tmp_path).splitlines()
    )

    assert set(steps) == {"create", "patch", "delete", "restore"}
    # Each renames once at least, and is killed before and after it commits.
    assert all(int(count) >= 3 for count in steps.values()), steps


@pytest.mark.slow
def test_twenty_processes_get_numbers_that_follow_each_other(
    migrated_url: str, tmp_path: Path
) -> None:
    found = run("skill_crowd", migrated_url, tmp_path).split()

    assert sorted(map(int, found)) == list(range(1, 21))
