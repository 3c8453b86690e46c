"""A session with a folder of its own works there: no tool of it touches anything beside it."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from understudy.agents.model import CONTEXT_FILES
from understudy.evolution.names import locked_name
from understudy.tools.base import WORKTREES, FolderPlace, Tool, ToolContext, ToolError
from understudy.tools.edit import EditFile
from understudy.tools.files import ListFiles, ReadFile, WriteFile
from understudy.tools.search import SearchFiles
from understudy.tools.shell import Shell

BELOW = (WORKTREES, "learning-sched", "call_1")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with a file that is none of the session's business, and the session's folder."""
    root = tmp_path / "workspace"
    root.joinpath(*BELOW).mkdir(parents=True)
    (root / "secret.txt").write_text("beside it")
    return root


def context_in(folder: Path, depth: int) -> ToolContext:
    """The context of some call in a folder, whose last names the daemon chose."""
    return ToolContext(
        session_id="s",
        run_id="r",
        agent_id="a",
        user_id="u",
        call_id="c",
        call_key="k",
        workspace=folder,
        depth=depth,
    )


def call(
    tool: Tool, workspace: Path, *, below: tuple[str, ...] = BELOW, **arguments: object
) -> str:
    context = context_in(workspace.joinpath(*below), len(below))
    return asyncio.run(tool.call(tool.parameters(**arguments), context))


def test_the_place_is_where_the_daemon_begins_and_what_it_chose(workspace: Path) -> None:
    apart = context_in(workspace.joinpath(*BELOW), 3)

    assert apart.place == FolderPlace(workspace, BELOW)
    assert apart.place.path == apart.workspace


def test_the_file_tools_work_in_the_folder(workspace: Path) -> None:
    call(WriteFile(), workspace, path="notes/a.txt", content="one two")
    call(EditFile(), workspace, path="notes/a.txt", old_text="two", new_text="three")

    assert call(ReadFile(), workspace, path="notes/a.txt") == "one three"
    assert call(ListFiles(), workspace) == "notes/"
    assert call(SearchFiles(), workspace, pattern="three") == "notes/a.txt:1: one three"
    assert workspace.joinpath(*BELOW, "notes", "a.txt").read_text() == "one three"
    assert call(SearchFiles(), workspace, pattern="beside") == "[no match in 1 files]"


@pytest.mark.parametrize("path", ["../../../secret.txt", "/secret.txt", "secret.txt"])
def test_what_lies_beside_the_folder_cannot_be_read(workspace: Path, path: str) -> None:
    with pytest.raises(ToolError):
        call(ReadFile(), workspace, path=path)


@pytest.mark.parametrize("name", BELOW)
def test_a_folder_that_became_a_link_is_not_followed(workspace: Path, name: str) -> None:
    outside = workspace.parent / "outside"
    inner = BELOW[BELOW.index(name) + 1 :]
    outside.joinpath(*inner).mkdir(parents=True)
    outside.joinpath(*inner, "secret.txt").write_text("from outside")
    swapped = workspace.joinpath(*BELOW[: BELOW.index(name) + 1])
    os.renames(swapped, workspace.parent / "gone" / name)
    swapped.parent.mkdir(parents=True, exist_ok=True)
    swapped.symlink_to(outside)

    calls: tuple[tuple[Tool, dict[str, Any]], ...] = (
        (ReadFile(), {"path": "secret.txt"}),
        (ListFiles(), {}),
        (SearchFiles(), {"pattern": "from"}),
        (WriteFile(), {"path": "mine.txt", "content": "x"}),
        (EditFile(), {"path": "secret.txt", "old_text": "from", "new_text": "x"}),
    )
    for tool, arguments in calls:
        with pytest.raises(ToolError) as refused:
            call(tool, workspace, **arguments)
        assert refused.value.code == "workspace_missing"
    assert [each.name for each in outside.joinpath(*inner).iterdir()] == ["secret.txt"]


def test_a_command_begins_in_the_folder_and_is_at_home_there(workspace: Path) -> None:
    answer = call(Shell({"PATH": os.environ["PATH"]}), workspace, command='pwd; echo "$HOME"')

    own = str(workspace.joinpath(*BELOW))
    assert answer.splitlines()[1:3] == [own, own]


@pytest.mark.parametrize("name", CONTEXT_FILES)
@pytest.mark.parametrize("spelled", ["{}", "./{}", "/{}", "{root}/{}", "notes/../{}", "$PWD/{}"])
def test_the_context_files_have_their_names_there_too(
    workspace: Path, name: str, spelled: str
) -> None:
    own = workspace.joinpath(*BELOW)

    assert locked_name(spelled.format(name, root=own), own) == name
    assert locked_name(f"notes/{name}", own) is None


def test_a_search_of_the_workspace_passes_over_the_folders(workspace: Path) -> None:
    workspace.joinpath(*BELOW, "copy.txt").write_text("beside it")

    found = call(SearchFiles(), workspace, below=(), pattern="beside")

    assert found == "secret.txt:1: beside it"
