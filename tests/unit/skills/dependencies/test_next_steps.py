"""What a person does about something that is missing."""

from pathlib import Path

import pytest

from understudy.core.errors import Invalid
from understudy.skills.dependencies.availability import next_step, next_steps


def machine_with(folder: Path, *programs: str) -> str:
    for name in programs:
        (folder / name).touch(mode=0o755)
    return str(folder)


@pytest.mark.parametrize("label", ["pip:openpyxl", "npm:@scope/parse"])
def test_packages_are_installed_by_an_admin(label: str) -> None:
    assert next_step(label) == f"an admin runs `understudy skills deps install {label}`"


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        ("apt-get", "apt-get install ffmpeg"),
        ("apk", "apk add ffmpeg"),
        ("brew", "brew install ffmpeg"),
    ],
)
def test_a_program_is_installed_by_what_the_machine_has(
    tmp_path: Path, manager: str, command: str
) -> None:
    step = next_step("ffmpeg", path=machine_with(tmp_path, manager))

    assert f"`{command}`" in step
    assert "`understudy skills deps rescan`" in step


def test_a_program_that_comes_in_a_package_of_another_name_is_named_by_that(tmp_path: Path) -> None:
    path = machine_with(tmp_path, "apt-get")

    assert "`apt-get install poppler-utils`" in next_step("pdftotext", path=path)


def test_a_machine_with_none_that_we_know_is_told_what_it_is_about(tmp_path: Path) -> None:
    assert "`ffmpeg`" in next_step("ffmpeg", path=machine_with(tmp_path))


def test_several_say_what_each_step_is_for() -> None:
    first, second = next_steps(["pip:openpyxl", "npm:marked"])

    assert first.startswith("pip:openpyxl: an admin runs ")
    assert second.startswith("npm:marked: an admin runs ")


def test_what_is_no_name_is_put_into_no_command() -> None:
    with pytest.raises(Invalid):
        next_step("x; touch y")
