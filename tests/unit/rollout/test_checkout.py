"""What a workspace has committed is laid out without a word of its settings being obeyed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from understudy.rollout.checkout import Checkout, head_of
from understudy.tools.processes import ChildProcesses
from understudy.tools.programs import Programs

GIT = shutil.which("git")
pytestmark = pytest.mark.skipif(GIT is None, reason="there is no git")
IDENTITY = ("-c", "user.name=ann", "-c", "user.email=ann@example.com", "-c", "gc.auto=0")


def git(folder: Path, *words: str) -> str:
    assert GIT is not None
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    argv = [GIT, "-C", str(folder), *IDENTITY, *words]
    done = subprocess.run(argv, check=True, capture_output=True, env=environment)
    return done.stdout.decode().strip()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A repository with a commit, and something that is not committed."""
    root = tmp_path / "workspace"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.txt").write_text("committed\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    (root / "draft.txt").write_text("not committed")
    return root


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    made.mkdir()
    return made


def fill(workspace: Path, folder: Path) -> bool:
    return Checkout(Programs(os.environ, ChildProcesses())).fill(workspace, folder)


def files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.parts
    }


def test_what_is_committed_is_laid_out_and_the_repository_stays_untouched(
    workspace: Path, folder: Path
) -> None:
    before = sorted(str(path) for path in (workspace / ".git").rglob("*"))

    assert fill(workspace, folder)

    assert files(folder) == {"src/a.txt": "committed\n"}
    assert sorted(str(path) for path in (workspace / ".git").rglob("*")) == before


def test_what_is_done_there_stays_there(workspace: Path, folder: Path) -> None:
    fill(workspace, folder)
    (folder / "src" / "a.txt").write_text("changed")
    assert git(folder, "status", "--porcelain") == "M src/a.txt"
    git(folder, "commit", "-q", "-a", "-m", "mine")

    assert git(workspace, "log", "--format=%s") == "first"
    assert git(folder, "log", "--format=%s").splitlines() == ["mine", "first"]


def test_the_head_may_be_packed_or_detached(workspace: Path, folder: Path) -> None:
    git(workspace, "pack-refs", "--all")
    packed = head_of(workspace)
    git(workspace, "checkout", "-q", "--detach")

    assert packed == head_of(workspace) == git(workspace, "rev-parse", "HEAD")


def test_programs_that_the_repository_names_are_not_run(workspace: Path, folder: Path) -> None:
    witness = workspace.parent / "witness"
    program = f"sh -c 'touch {witness}; cat'"
    (workspace / ".gitattributes").write_text("* filter=evil\n")
    git(workspace, "add", ".gitattributes")
    git(workspace, "commit", "-q", "-m", "attributes")
    with (workspace / ".git" / "config").open("a") as config:
        config.write(f'[filter "evil"]\n\tsmudge = {program}\n\tprocess = {program}\n')
        config.write(f"[core]\n\tfsmonitor = {program}\n\thooksPath = hooks\n")
    for place in (workspace / "hooks", workspace / ".git" / "hooks"):
        place.mkdir(exist_ok=True)
        hook = place / "post-checkout"
        hook.write_text(f"#!/bin/sh\ntouch {witness}\n")
        hook.chmod(0o755)

    assert fill(workspace, folder)

    assert files(folder)["src/a.txt"] == "committed\n"
    assert not witness.exists()


def test_a_link_that_is_committed_becomes_a_file(workspace: Path, folder: Path) -> None:
    (workspace / "out").symlink_to("/etc")
    git(workspace, "add", "out")
    git(workspace, "commit", "-q", "-m", "link")

    assert fill(workspace, folder)

    assert not (folder / "out").is_symlink()
    assert (folder / "out").read_text() == "/etc"


def test_objects_of_other_repositories_are_not_shown(workspace: Path, folder: Path) -> None:
    (workspace / ".git" / "objects" / "info" / "alternates").write_text("/somewhere/else\n")

    assert not fill(workspace, folder)
    assert [*folder.iterdir()] == []


def test_a_commit_that_is_only_half_there_leaves_the_folder_empty(
    workspace: Path, folder: Path
) -> None:
    (workspace / "b.txt").write_text("there\n")
    (workspace / "z.txt").write_text("lost\n")
    git(workspace, "add", "b.txt", "z.txt")
    git(workspace, "commit", "-q", "-m", "second")
    lost = git(workspace, "rev-parse", "HEAD:z.txt")
    (workspace / ".git" / "objects" / lost[:2] / lost[2:]).unlink()

    assert not fill(workspace, folder)
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize(
    "head",
    [
        "",
        "ref: refs/heads/none",
        "ref: refs/heads/../../../../etc/passwd",
        "ref: ../HEAD",
        "0" * 40,
        "\x00" * 40,
        "z" * 100_000,
    ],
)
def test_a_head_that_leads_nowhere_leaves_the_folder_empty(
    workspace: Path, folder: Path, head: str
) -> None:
    (workspace / ".git" / "HEAD").write_text(head)

    assert not fill(workspace, folder)
    assert [*folder.iterdir()] == []


def test_a_repository_that_lies_elsewhere_is_none_of_the_workspace(
    workspace: Path, folder: Path
) -> None:
    elsewhere = workspace.parent / "elsewhere"
    (workspace / ".git").rename(elsewhere)
    (workspace / ".git").symlink_to(elsewhere)
    assert head_of(workspace) is None

    (workspace / ".git").unlink()
    (workspace / ".git").write_text(f"gitdir: {elsewhere}\n")
    assert head_of(workspace) is None
    assert not fill(workspace, folder)


def test_a_workspace_that_is_no_repository_gives_an_empty_folder(
    tmp_path: Path, folder: Path
) -> None:
    assert not fill(tmp_path, folder)
    assert [*folder.iterdir()] == []


def test_more_files_than_a_skill_needs_are_not_laid_out(workspace: Path, folder: Path) -> None:
    few = Checkout(Programs(os.environ, ChildProcesses()), max_files=0)

    assert not few.fill(workspace, folder)
    assert [*folder.iterdir()] == []
