"""Memory files in connected folders: what is read, what is replaced, and what is left alone."""

import json
import os
from pathlib import Path

import pytest

from understudy.core.errors import Conflict
from understudy.foreign.connections import CONNECTED
from understudy.foreign.folders import MAX_FILE_BYTES, Folders


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = (tmp_path / "project").resolve()
    folder.mkdir()
    known = [{"tool": "claude-code", "folders": [str(folder)]}]
    (tmp_path / CONNECTED).write_text(json.dumps(known))
    return folder


@pytest.fixture
def folders(tmp_path: Path, work: Path) -> Folders:
    return Folders(tmp_path)


def open_files() -> int:
    return len([*Path("/proc/self/fd").iterdir()])


def test_what_is_no_file_is_not_read_and_left_closed(folders: Folders, work: Path) -> None:
    (work / "CLAUDE.md").mkdir()
    os.mkfifo(work / "MEMORY.md")
    # An end that never writes.
    end = os.open(work / "MEMORY.md", os.O_RDWR)
    before = open_files()

    found = [folders.read(str(work / name)) for name in ("CLAUDE.md", "MEMORY.md")]

    assert found == [None, None]
    assert open_files() == before
    os.close(end)


def test_a_file_whose_text_cannot_be_read_is_not_replaced(folders: Folders, work: Path) -> None:
    (work / "AGENTS.md").write_text("Use tabs.\n")
    (work / "CLAUDE.md").symlink_to("AGENTS.md")
    (work / "MEMORY.md").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    (work / "SKILL.md").write_bytes(b"\xff")
    names = ("CLAUDE.md", "MEMORY.md", "SKILL.md")
    held = [(work / name).read_bytes() for name in names]

    for name in names:
        assert not folders.may_write(str(work / name))
        assert not folders.write(str(work / name), "- new\n", before="")

    assert [(work / name).read_bytes() for name in names] == held
    assert (work / "CLAUDE.md").is_symlink()


@pytest.mark.parametrize("name", ["memory/" + "x" * 300 + ".md", "AGENTS.md/memory/notes.md"])
def test_a_file_that_cannot_be_written_is_a_conflict_that_says_why(
    folders: Folders, work: Path, name: str
) -> None:
    (work / "AGENTS.md").write_text("Use tabs.\n")

    with pytest.raises(Conflict) as refused:
        folders.write(str(work / name), "- new\n", before="")

    assert refused.value.code == "memory_file_unwritable"


def test_an_absent_file_is_made_with_its_folders(folders: Folders, work: Path) -> None:
    path = work / "memory" / "style.md"

    assert folders.write(str(path), "- tabs\n", before="")

    assert path.read_text() == "- tabs\n"
