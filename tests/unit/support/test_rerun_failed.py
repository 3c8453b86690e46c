"""What becomes of a run in which tests failed, once they were run again alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

# The other plugins take longer to import than these runs do.
ONLY_XDIST = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}
BROKEN = "def test_broken():\n    assert 1 == 2\n"
PASSING = "def test_passing():\n    pass\n"


def flaky(name: str, phase: str = "call") -> str:
    """A test that fails the first time only, as one does that another test disturbed."""
    return f"""
import pathlib, pytest
def first_time():
    mark = pathlib.Path(__file__).with_name("{name}.mark")
    known = mark.exists()
    mark.touch()
    return not known
@pytest.fixture
def prepared():
    if {phase == "setup"}:
        assert not first_time(), "disturbed"
    yield
    if {phase == "teardown"}:
        assert not first_time(), "disturbed"
def test_{name}(prepared):
    if {phase == "call"}:
        assert not first_time(), "disturbed"
"""


def run(folder: Path, workers: int, **files: str) -> tuple[int, list[str]]:
    """The exit code of a test run over these files, and what it said."""
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -ra\n")
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.support.rerun_failed", "-n", str(workers)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **ONLY_XDIST},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize("workers", [0, 2])
def test_tests_that_pass_alone_are_named_and_do_not_fail_the_run(
    tmp_path: Path, workers: int
) -> None:
    phases = ("setup", "call", "teardown")
    code, lines = run(tmp_path, workers, **{phase: flaky(phase, phase) for phase in phases})

    assert code == 0
    assert sorted(lines[-4:-1]) == sorted(f"flaky: test_{name}.py::test_{name}" for name in phases)
    # What failed only in its teardown had passed before.
    assert "1 passed, 3 flaky in" in lines[-1]
    assert any("disturbed" in line for line in lines)


def test_a_test_that_fails_again_has_failed(tmp_path: Path) -> None:
    code, lines = run(tmp_path, 2, one=flaky("one"), broken=BROKEN)

    assert code == 1
    assert lines[-2] == "flaky: test_one.py::test_one"
    assert "1 failed" in lines[-1]
    assert "1 flaky" in lines[-1]
    assert "FAILED test_broken.py::test_broken - assert 1 == 2" in lines


def test_more_than_three_flaky_tests_fail_the_run(tmp_path: Path) -> None:
    names = ("one", "two", "three", "four")
    code, lines = run(tmp_path, 0, **{name: flaky(name) for name in names})

    assert code == 1
    assert lines[-2] == "4 tests are flaky; at most 3 may be."
    assert sum(line.startswith("flaky: ") for line in lines) == 4


def test_a_run_that_did_not_come_to_its_tests_has_failed(tmp_path: Path) -> None:
    code, lines = run(tmp_path, 0, unreadable="import nothing_of_this_name\n")

    assert code == 2
    assert "1 error" in lines[-1]


def test_nothing_runs_again_when_everything_passed(tmp_path: Path) -> None:
    code, lines = run(tmp_path, 0, fine=PASSING)

    assert code == 0
    assert "1 passed" in lines[-1]
    assert not any("Again, alone" in line for line in lines)


def test_a_test_that_is_skipped_when_it_runs_alone_has_failed(tmp_path: Path) -> None:
    skipping = flaky("one").replace(
        'assert not first_time(), "disturbed"',
        'assert not first_time() or pytest.fail("disturbed")\n        pytest.skip("alone")',
    )
    code, lines = run(tmp_path, 0, one=skipping)

    assert code == 1
    assert "1 failed" in lines[-1]


def test_a_worker_that_died_fails_the_run_although_its_test_passes_alone(tmp_path: Path) -> None:
    dying = flaky("one").replace(
        'assert not first_time(), "disturbed"', "first_time() and __import__('os')._exit(3)"
    )
    code, _ = run(tmp_path, 2, one=dying, other=PASSING)

    assert code == 1
