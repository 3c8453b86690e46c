"""Whoever changes a rollout may be killed at any moment: what a start finds, it puts in order."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHANGES = {
    *("promote", "verify", "try", "activate", "revoke", "revoke-learning", "rollback", "start"),
}
# They write or remove files, each before or after the record says so.
WITH_FILES = {"activate", "revoke", "revoke-learning", "rollback", "start"}


@pytest.mark.slow
def test_record_files_and_catalogue_agree_whenever_a_change_is_killed(
    sqlite_template: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "tests.support.rollout_kills"]
    ended = subprocess.run(
        [*command, str(sqlite_template), str(tmp_path)],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert ended.returncode == 0, ended.stderr[-4000:]
    lines = [line.split() for line in ended.stdout.splitlines()]
    steps = {name: int(count) for name, count in (line for line in lines if len(line) == 2)}
    assert set(steps) == CHANGES
    assert all(steps[name] >= 3 for name in WITH_FILES), steps
