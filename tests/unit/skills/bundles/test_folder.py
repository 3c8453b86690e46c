"""Folders: a skill on disk is read without following a link."""

import os
from pathlib import Path

import pytest

from understudy.core.errors import Invalid, LimitExceeded
from understudy.skills.bundles.folder import read_folder, read_open_folder
from understudy.skills.bundles.limits import MAX_BUNDLE_BYTES, MAX_FILES

SKILL = "---\nname: x\n---\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "skill"
    (made / "scripts").mkdir(parents=True)
    (made / "SKILL.md").write_text(SKILL)
    (made / "scripts" / "a.py").write_text("1")
    return made


def test_a_folder_is_read_with_all_its_files(folder: Path) -> None:
    (folder / ".DS_Store").write_text("left behind")
    (folder / "notes..md").write_text("kept")

    assert dict(read_folder(folder)) == {
        "SKILL.md": SKILL.encode(),
        "notes..md": b"kept",
        "scripts/a.py": b"1",
    }


def test_links_and_pipes_among_the_companions_are_left_out(folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("hidden")
    (folder / "link").symlink_to(secret / "key")
    (folder / "scripts" / "linked").symlink_to(secret)
    os.mkfifo(folder / "pipe")

    assert list(read_folder(folder)) == ["SKILL.md", "scripts/a.py"]


def test_a_manifest_that_is_a_link_is_refused(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.md"
    other.write_text(SKILL)
    (folder / "SKILL.md").unlink()
    (folder / "SKILL.md").symlink_to(other)

    with pytest.raises(Invalid, match="link"):
        read_folder(folder)


def test_a_folder_that_is_a_link_or_is_not_there_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)

    for path in (tmp_path / "link", tmp_path / "nowhere", folder / "SKILL.md"):
        with pytest.raises(Invalid):
            read_folder(path)


def test_a_folder_without_a_manifest_is_refused(folder: Path) -> None:
    (folder / "SKILL.md").unlink()

    with pytest.raises(Invalid) as refused:
        read_folder(folder)
    assert refused.value.code == "skill_manifest_missing"


def test_a_name_that_is_no_text_is_refused(folder: Path) -> None:
    (folder / os.fsdecode(b"a\xff")).write_text("x")

    with pytest.raises(Invalid) as refused:
        read_folder(folder)
    assert refused.value.code == "invalid_skill_path"


def test_a_folder_with_too_much_is_refused(folder: Path) -> None:
    with (folder / "sparse").open("wb") as file:
        file.truncate(50 * MAX_BUNDLE_BYTES)
    with pytest.raises(LimitExceeded):
        read_folder(folder)
    (folder / "sparse").unlink()

    for number in range(MAX_FILES):
        (folder / f"f{number}").touch()
    with pytest.raises(LimitExceeded):
        read_folder(folder)


def test_a_folder_that_is_too_deep_is_refused(folder: Path) -> None:
    deep = folder.joinpath(*["d"] * 12)
    deep.mkdir(parents=True)

    with pytest.raises(LimitExceeded):
        read_folder(folder)


def test_a_folder_that_others_write_to_is_read_with_word_of_what_was_left_out(
    tmp_path: Path,
) -> None:
    (tmp_path / "SKILL.md").write_text("---\nname: a\n---\nb")
    (tmp_path / "link").symlink_to("SKILL.md")
    top = os.open(tmp_path, os.O_RDONLY)
    try:
        bundle, left_out = read_open_folder(top, "here")
        os.link(tmp_path / "SKILL.md", tmp_path / "twin.md")
        with pytest.raises(Invalid, match="hard link"):
            read_open_folder(top, "here")
    finally:
        os.close(top)

    assert list(bundle) == ["SKILL.md"]
    assert left_out == ("link",)
