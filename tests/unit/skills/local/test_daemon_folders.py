"""Folders that no root may be, or contain."""

from pathlib import Path

import pytest

from understudy.skills.local.service import DaemonFolders


@pytest.mark.parametrize(
    ("path", "is_too_wide"),
    [("data", True), ("data/db", True), ("", True), ("data/skills", False), ("data/db/x", False)],
)
def test_the_folder_of_a_database_outside_of_the_home_is_no_root(
    tmp_path: Path, path: str, is_too_wide: bool
) -> None:
    for each in ("data/db/x", "data/skills", "home/workspace"):
        (tmp_path / each).mkdir(parents=True)
    home = tmp_path / "home"
    folders = DaemonFolders(
        home=home, workspace=home / "workspace", user_home=None, database=tmp_path / "data/db"
    )

    assert folders.is_too_wide(tmp_path / path) is is_too_wide
