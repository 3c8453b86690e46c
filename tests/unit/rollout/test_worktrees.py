"""The folders in which promoted skills work: fresh, apart, and never reached through a link."""

import os
from pathlib import Path

import pytest

from understudy.rollout.worktrees import MAX_NAME_CHARS, MAX_TRIES, Worktrees, safe_id, safe_name
from understudy.tools.base import WORKTREES, ToolError
from understudy.tools.paths import parse_path

DAY_MS = 24 * 3600 * 1000


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    root.mkdir()
    return root


def test_a_folder_is_called_by_the_skill_and_the_call(workspace: Path) -> None:
    workdir = Worktrees(workspace).claim("learning:sched", "call_1")

    assert workdir == f"{WORKTREES}/learning-sched/call_1"
    assert [*(workspace / workdir).iterdir()] == []


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("learning:sched", "learning-sched"),
        ("../../etc", "------etc"),
        ("a/b\0c", "a-b-c"),
        ("тест", "----"),
        ("", "-"),
        ("x" * 500, "x" * MAX_NAME_CHARS),
    ],
)
def test_a_name_becomes_that_of_a_folder(name: str, safe: str) -> None:
    assert safe_name(name) == safe


@pytest.mark.parametrize(
    "call_id", ["", "..", ".", "../x", "a/b", "a\0b", "\udcff", "x" * 10_000, ".making-x", "call 1"]
)
def test_whatever_a_model_calls_its_call_the_folder_lies_where_it_belongs(
    workspace: Path, call_id: str
) -> None:
    workdir = Worktrees(workspace).claim("learning:sched", call_id)

    assert parse_path(workdir).parts[:2] == (WORKTREES, "learning-sched")
    assert len(parse_path(workdir).parts) == 3
    assert (workspace / workdir).is_dir()
    assert safe_id(call_id) == safe_id(safe_id(call_id)) == parse_path(workdir).name


def test_the_same_call_id_again_is_given_another_folder(workspace: Path) -> None:
    worktrees = Worktrees(workspace)
    first = worktrees.claim("learning:sched", "call_1")
    (workspace / first / "left.txt").write_text("of the first")

    second = worktrees.claim("learning:sched", "call_1")

    assert second == f"{first}-2"
    assert [*(workspace / second).iterdir()] == []
    assert (workspace / first / "left.txt").exists()


def test_an_id_that_was_given_out_too_often_is_refused(workspace: Path) -> None:
    for number in range(1, MAX_TRIES + 1):
        taken = "call_1" if number == 1 else f"call_1-{number}"
        workspace.joinpath(WORKTREES, "s", taken).mkdir(parents=True)

    with pytest.raises(ToolError) as refused:
        Worktrees(workspace).claim("s", "call_1")

    assert refused.value.code == "worktree_missing"


def test_a_folder_has_what_it_is_filled_with_from_the_first_moment(workspace: Path) -> None:
    def fill(_: Path, folder: Path) -> None:
        assert not [*folder.iterdir()]
        (folder / "a.txt").write_text("of the workspace")

    worktrees = Worktrees(workspace, fill)
    workdir = worktrees.claim("s", "c")

    assert [each.name for each in (workspace / workdir).iterdir()] == ["a.txt"]
    assert [each.name for each in (workspace / WORKTREES / "s").iterdir()] == ["c"]


def test_filling_that_breaks_leaves_nothing_half_done(workspace: Path) -> None:
    def fill(_: Path, folder: Path) -> None:
        (folder / "half").write_text("")
        raise OSError(28, "full")

    with pytest.raises(ToolError) as refused:
        Worktrees(workspace, fill).claim("s", "c")

    assert refused.value.code == "disk_full"
    assert not [*workspace.joinpath(WORKTREES, "s").rglob("half")]


def test_git_takes_the_folders_for_no_part_of_the_workspace(workspace: Path) -> None:
    worktrees = Worktrees(workspace)
    worktrees.claim("s", "c")
    worktrees.claim("s", "d")

    assert (workspace / WORKTREES / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize("depth", [0, 1])
def test_a_link_on_the_way_is_refused_and_nothing_is_made_behind_it(
    workspace: Path, depth: int
) -> None:
    outside = workspace.parent / "outside"
    outside.mkdir()
    names = (WORKTREES, "learning-sched")
    workspace.joinpath(*names[:depth]).mkdir(parents=True, exist_ok=True)
    workspace.joinpath(*names[: depth + 1]).symlink_to(outside)

    with pytest.raises(ToolError) as refused:
        Worktrees(workspace).claim("learning:sched", "call_1")

    assert refused.value.code == "path_link"
    assert [*outside.iterdir()] == []


def test_a_folder_that_was_taken_back_is_made_again_when_it_is_needed(workspace: Path) -> None:
    worktrees = Worktrees(workspace, lambda _, folder: (folder / "a.txt").write_text("x"))
    workdir = worktrees.claim("s", "c")
    worktrees.release(workdir)
    assert not (workspace / workdir).exists()

    place = worktrees.ready(workspace, workdir)

    assert place.path == workspace / workdir
    assert (workspace / workdir / "a.txt").exists()


def test_a_folder_that_is_there_is_left_as_it_is(workspace: Path) -> None:
    worktrees = Worktrees(workspace, lambda _, folder: (folder / "a.txt").write_text("x"))
    workdir = worktrees.claim("s", "c")
    (workspace / workdir / "a.txt").write_text("changed")

    worktrees.ready(workspace, workdir)

    assert (workspace / workdir / "a.txt").read_text() == "changed"


@pytest.mark.parametrize("workdir", ["../x", "/tmp", "", "a\0b", f"{WORKTREES}/../.."])
def test_a_stored_folder_that_would_lie_elsewhere_is_refused(workspace: Path, workdir: str) -> None:
    with pytest.raises(ToolError):
        Worktrees(workspace).ready(workspace, workdir)


def test_taking_back_follows_no_link(workspace: Path) -> None:
    worktrees = Worktrees(workspace)
    kept = workspace.parent / "kept"
    kept.mkdir()
    (kept / "mine.txt").write_text("x")
    workdir = worktrees.claim("s", "c")
    (workspace / workdir / "link").symlink_to(kept)
    linked = workspace / WORKTREES / "s" / "linked"
    linked.symlink_to(kept)

    worktrees.release(workdir)
    worktrees.release(f"{WORKTREES}/s/linked")
    worktrees.release("../kept")

    assert not (workspace / workdir).exists()
    assert (kept / "mine.txt").exists()


def test_old_folders_go_and_those_in_use_stay(workspace: Path) -> None:
    worktrees = Worktrees(workspace)
    old, busy, new = (worktrees.claim("s", name) for name in ("old", "busy", "new"))
    half = workspace / WORKTREES / "s" / ".making-0"
    half.mkdir()
    now_ms = 100 * DAY_MS
    for path in (workspace / old, workspace / busy, half):
        os.utime(path, (80 * 86400, 80 * 86400))
    os.utime(workspace / new, (99 * 86400, 99 * 86400))

    assert worktrees.sweep({busy}, now_ms=now_ms) == 2

    left = sorted(each.name for each in (workspace / WORKTREES / "s").iterdir())
    assert left == ["busy", "new"]


def test_there_is_nothing_to_sweep_where_there_are_no_folders(workspace: Path) -> None:
    assert Worktrees(workspace).sweep((), now_ms=0) == 0
    (workspace / WORKTREES).symlink_to(workspace.parent)
    assert Worktrees(workspace).sweep((), now_ms=10**15) == 0
