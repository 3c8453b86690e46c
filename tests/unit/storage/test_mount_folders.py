"""The folders of promoted skills on a real disk."""

import os
from pathlib import Path

import pytest

from understudy.storage.mount_folders import MountFolders

# Deeper than a function can call itself, and than most processes may have folders open.
DEPTH = 1_100
LEFT = ".tmp-0123456789abcdef"


@pytest.fixture
def folders(tmp_path: Path) -> MountFolders:
    found = MountFolders(tmp_path)
    found.root.mkdir(parents=True)
    return found


def make_deep(top: Path) -> None:
    """One folder in another, with a file beside each; made from the inside, as no path is that long."""
    top.mkdir()
    for _ in range(DEPTH):
        outer = top.with_name("outer")
        outer.mkdir()
        (outer / "file").touch()
        top.rename(outer / "d")
        outer.rename(top)


def test_a_folder_of_any_depth_is_removed(folders: MountFolders) -> None:
    make_deep(folders.path("deep"))

    folders.remove("deep")

    assert folders.names() == ()


def test_what_a_crash_left_is_removed_by_its_name(folders: MountFolders) -> None:
    folders.path(LEFT).mkdir()
    (folders.path(LEFT) / "file").touch()

    folders.remove(LEFT)

    assert folders.names() == ()


def test_what_a_link_leads_to_stays(folders: MountFolders, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "more").mkdir(parents=True)
    folder = folders.path("lrn_1") / "inner"
    folder.mkdir(parents=True)
    (folder / "link").symlink_to(outside)
    (folders.path("lrn_1") / "link").symlink_to(outside)

    folders.remove("lrn_1")
    folders.remove("lrn_1")

    assert folders.names() == ()
    assert (outside / "more").is_dir()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may remove everything")
def test_what_cannot_be_removed_keeps_its_name(folders: MountFolders) -> None:
    folder = folders.path("lrn_1")
    folder.mkdir()
    (folder / "file").touch()
    folder.chmod(0o500)

    with pytest.raises(PermissionError):
        folders.remove("lrn_1")

    assert folders.names() == ("lrn_1",)
    folder.chmod(0o700)
