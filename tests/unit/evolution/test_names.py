"""Which context file a path means: every spelling that some system would take for one."""

import os
import time
from pathlib import Path

import pytest

from tests.support.file_spellings import SPELLINGS, spelled
from understudy.agents.model import CONTEXT_FILES
from understudy.evolution.names import locked_name

OTHERS = {
    "prefix twin": "{ws}-evil/AGENTS.md",
    "sub-folder": "docs/AGENTS.md",
    "absolute sub-folder": "{ws}/docs/AGENTS.md",
    "out of a deeper folder": "a/b/../AGENTS.md",
    "outside": "../AGENTS.md",
    "elsewhere": "/etc/AGENTS.md",
    "process without a folder": "/proc/self/AGENTS.md",
    "another ending": "AGENTS.txt",
    "no ending": "AGENTS",
    "two endings": "AGENTS.md.bak",
    "hidden file": ".AGENTS.md",
    "longer name": "MYAGENTS.md",
    "below it": "AGENTS.md/x",
    "away from it": "AGENTS.md/../x",
    "web page": "http://example.com/AGENTS.md",
    "other file": "README.md",
    "nothing": "",
    "the workspace": ".",
    "the root": "/",
    "half a character": "\ud800.md",
    "broken percent": "%zz%",
}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "ws"
    made.mkdir()
    return made


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_spelling_of_a_locked_file_is_seen_through(spelling: str, workspace: Path) -> None:
    assert locked_name(spelled(SPELLINGS[spelling], workspace), workspace) == "AGENTS.md"


@pytest.mark.parametrize("spelling", OTHERS)
def test_another_file_is_left_alone(spelling: str, workspace: Path) -> None:
    assert locked_name(spelled(OTHERS[spelling], workspace), workspace) is None


@pytest.mark.parametrize("name", CONTEXT_FILES)
def test_every_context_file_is_known(name: str, workspace: Path) -> None:
    assert locked_name(name.lower(), workspace) == name


@pytest.mark.parametrize("spelling", ["\u0131DENTITY.md", "İDENTITY.md", "ıdentıty.MD"])
def test_an_i_with_or_without_its_dot_is_an_i(spelling: str, workspace: Path) -> None:
    assert locked_name(spelling, workspace) == "IDENTITY.md"


def test_a_link_to_a_name_that_is_not_there_means_it(workspace: Path) -> None:
    (workspace / "notes.md").symlink_to("IDENTITY.md")
    (workspace / "chain.md").symlink_to("notes.md")

    assert locked_name("notes.md", workspace) == "IDENTITY.md"
    assert locked_name("chain.md", workspace) == "IDENTITY.md"


def test_a_linked_folder_leads_to_the_same_file(workspace: Path) -> None:
    (workspace / "here").symlink_to(".")
    (workspace.parent / "alias").symlink_to(workspace)

    assert locked_name("here/here/identity.md", workspace) == "IDENTITY.md"
    assert locked_name(f"{workspace.parent}/alias/IDENTITY.md", workspace) == "IDENTITY.md"


def test_a_workspace_behind_a_link_is_known_by_both_names(workspace: Path) -> None:
    alias = workspace.parent / "alias"
    alias.symlink_to(workspace)

    assert locked_name(f"{alias}/soul.md", alias) == "SOUL.md"
    assert locked_name(f"{workspace}/soul.md", alias) == "SOUL.md"


def test_a_link_of_a_locked_name_is_locked_wherever_it_leads(workspace: Path) -> None:
    (workspace / "SOUL.md").symlink_to("/dev/null")

    assert locked_name("SOUL.md", workspace) == "SOUL.md"


def test_a_second_name_of_a_file_means_the_first(workspace: Path) -> None:
    (workspace / "SOUL.md").write_text("calm")
    os.link(workspace / "SOUL.md", workspace / "copy.txt")
    (workspace / "other.txt").write_text("calm")

    assert locked_name("copy.txt", workspace) == "SOUL.md"
    assert locked_name("other.txt", workspace) is None


def test_links_that_go_round_mean_nothing(workspace: Path) -> None:
    (workspace / "round").symlink_to("round")

    assert locked_name("round/AGENTS.md", workspace) is None


def test_a_workspace_that_is_not_there_is_no_reason_to_let_one_through(tmp_path: Path) -> None:
    assert locked_name("agents.md", tmp_path / "gone") == "AGENTS.md"


@pytest.mark.parametrize(
    "hostile", ["%25", "a\u0301", "../", "/", "/proc/a", "\x00", "$", ":", "'"]
)
def test_no_path_takes_long_to_read(hostile: str, workspace: Path) -> None:
    started = time.process_time()
    locked_name(hostile * 20_000, workspace)

    assert time.process_time() - started < 2
