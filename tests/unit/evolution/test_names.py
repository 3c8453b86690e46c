"""Which context file a path means: every spelling that some system would take for one."""

import os
import time
from pathlib import Path

import pytest

from understudy.agents.model import CONTEXT_FILES
from understudy.evolution.names import locked_name

# `{ws}` is the workspace, which is called `ws`.
SPELLINGS = {
    "as it is": "AGENTS.md",
    "dot": "./AGENTS.md",
    "dots": "././AGENTS.md",
    "into and out of a folder": "x/../AGENTS.md",
    "out of two folders": "x/y/../../AGENTS.md",
    "around": "../ws/AGENTS.md",
    "many dots": "./" * 3000 + "AGENTS.md",
    "slash behind": "AGENTS.md/",
    "dot behind": "AGENTS.md/.",
    "at the root": "/AGENTS.md",
    "two slashes": "//AGENTS.md",
    "root and dot": "/./AGENTS.md",
    "absolute": "{ws}/AGENTS.md",
    "absolute and around": "{ws}/../ws/./AGENTS.md",
    "absolute with two slashes": "{ws}//AGENTS.md",
    "absolute in capitals": "{WS}/AGENTS.md",
    "own process": "/proc/self/cwd/AGENTS.md",
    "own process with dots": "/proc//self/./cwd/AGENTS.md",
    "own process and around": "/proc/self/cwd/../ws/AGENTS.md",
    "own thread": "/proc/thread-self/cwd/AGENTS.md",
    "another process": "/proc/42/task/42/cwd/AGENTS.md",
    "root of a process": "/proc/self/root{ws}/AGENTS.md",
    "open folder": "/dev/fd/3/AGENTS.md",
    "open folder of a process": "/proc/self/fd/3/AGENTS.md",
    "small letters": "agents.md",
    "ending in capitals": "AGENTS.MD",
    "mixed letters": "aGeNtS.mD",
    "blank behind": "AGENTS.md ",
    "blank before": " AGENTS.md",
    "tab before": "\tAGENTS.md",
    "line break behind": "AGENTS.md\n",
    "dot at the end": "AGENTS.md.",
    "dots and blanks at the end": "AGENTS.md. . ",
    "folder with a blank": "x/.. /AGENTS.md",
    "full-width letters": "ＡＧＥＮＴＳ.md",
    "full-width dot": "AGENTS\uff0emd",
    "dot leader": "AGENTS\u2024md",
    "full-width slash": ".\uff0fAGENTS.md",
    "division slash": "a\u2215..\u2215AGENTS.md",
    "long s": "AGENT\u017f.md",
    "zero width": "AGE\u200bNTS.md",
    "soft hyphen": "AGE\u00adNTS.md",
    "turned around": "\u202eAGENTS.md",
    "byte order mark": "\ufeffAGENTS.md",
    "NUL behind": "AGENTS.md\x00",
    "NUL and another ending": "AGENTS.md\x00.txt",
    "NUL within": "AGE\x00NTS.md",
    "percent": "%41GENTS.md",
    "percent for the dot": "AGENTS%2emd",
    "percent for slashes": "x%2f..%2FAGENTS.md",
    "percent twice": "%2541GENTS.md",
    "percent and NUL": "AGENTS.md%00.txt",
    "default stream": "AGENTS.md::$DATA",
    "stream": "AGENTS.md:$DATA",
    "named stream": "AGENTS.md:x:$DATA",
    "back-slash": ".\\AGENTS.md",
    "back-slashes": "x\\..\\AGENTS.md",
    "drive": "C:AGENTS.md",
    "drive and back-slash": "C:\\AGENTS.md",
    "long form of a drive": "\\\\?\\C:\\AGENTS.md",
    "file URL": "file://{ws}/AGENTS.md",
    "file URL of this host": "file://localhost{ws}/AGENTS.md",
    "short file URL": "file:AGENTS.md",
    "home": "~/AGENTS.md",
    "variable": "$PWD/AGENTS.md",
    "variable in braces": "${{PWD}}/AGENTS.md",
    "in quotes": "'AGENTS.md'",
    "in double quotes": '"AGENTS.md"',
}
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


def spelled(pattern: str, workspace: Path) -> str:
    return pattern.format(ws=workspace, WS=str(workspace).upper())


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
