"""What there is to run scripts with."""

from pathlib import Path

import pytest

from understudy.skills.dependencies import environments
from understudy.skills.dependencies.environments import Runtime, Runtimes, find_runtimes
from understudy.tools.processes import ChildProcesses
from understudy.tools.programs import Programs

SAYS = "#!/bin/sh\n/bin/echo {name} $1 1.2.3\n/bin/echo more\n"
ALL = ("python3", "pip3", "node", "npm")


def found(folder: Path, *names: str, script: str = SAYS) -> Runtimes:
    """What is found where there are these programs and no others."""
    for name in names:
        program = folder / name
        program.write_text(script.format(name=name))
        program.chmod(0o755)
    return find_runtimes(Programs({"PATH": str(folder)}, ChildProcesses()))


def test_each_program_is_listed_with_the_first_line_of_its_version(tmp_path: Path) -> None:
    answer = found(tmp_path, *ALL)

    assert answer.ready
    assert answer.runtimes == (
        *(Runtime(name=name, available=True, version=f"{name} --version 1.2.3") for name in ALL),
        Runtime(name="pkg-helper", available=False),
    )


@pytest.mark.parametrize("without", ["python3", "pip3"])
def test_without_python_or_pip_skills_are_not_ready(tmp_path: Path, without: str) -> None:
    answer = found(tmp_path, *set(ALL) - {without})

    assert not answer.ready
    assert Runtime(name=without, available=False) in answer.runtimes


def test_without_node_they_are_ready_all_the_same(tmp_path: Path) -> None:
    assert found(tmp_path, "python3", "pip3").ready


def test_a_program_that_fails_is_as_good_as_none(tmp_path: Path) -> None:
    answer = found(tmp_path, *ALL, script="#!/bin/sh\n/bin/echo broken\nexit 127\n")

    assert not any(one.available for one in answer.runtimes)


def test_a_program_that_is_slow_is_there_but_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "ANSWER_WITHIN_S", 0.3)
    monkeypatch.setattr(environments, "NAMES", ("node",))

    answer = found(tmp_path, "node", script="#!/bin/sh\nexec /bin/sleep 60\n")

    assert answer.runtimes == (Runtime(name="node", available=True),)
