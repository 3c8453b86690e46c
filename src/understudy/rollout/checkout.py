"""A checkout of the workspace's last commit in a separate folder.

The folder becomes a small repository that only borrows objects. Git reads no configuration of the
workspace, because an agent may have written it: filters, hooks and helpers are programs.
"""

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from understudy.tools.base import ToolError
from understudy.tools.paths import open_directory, open_regular
from understudy.tools.programs import Programs

log = structlog.get_logger()

GIT: Final = ".git"
TIMEOUT_S: Final = 60.0
MAX_FILES: Final = 20_000
MAX_HEAD_BYTES: Final = 4 * 1024
MAX_REFS_BYTES: Final = 8 * 1024 * 1024

_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_BRANCH: Final = re.compile(r"ref: (refs/heads/[\w+.@/-]{1,200})")
# A repository with alternates borrows objects from repositories that we do not know.
BORROWED: Final = (GIT, "objects", "info", "alternates")
# A symlink could lead out of the folder; checked out as a file it only holds its target.
CONFIG: Final = """\
[core]
\trepositoryformatversion = 0
\tbare = false
\tsymlinks = false
\thooksPath = /dev/null
\tfsmonitor = false
"""
ENVIRONMENT: Final[Mapping[str, str]] = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
}


@dataclass(frozen=True, slots=True)
class Checkout:
    """Checks out the last commit of the workspace; the folder stays empty where that fails."""

    programs: Programs
    max_files: int = MAX_FILES

    def fill(self, workspace: Path, folder: Path) -> bool:
        """Put the files of the last commit into an empty folder; False where there is none."""
        git = shutil.which("git", path=self.programs.path)
        commit = head_of(workspace)
        if git is None or commit is None:
            return False
        try:
            self._lay_out(git, workspace, folder, commit)
        except (OSError, _Failed) as problem:
            log.warning("worktree.left_empty", reason=str(problem)[:200])
            _empty(folder)
            return False
        return True

    def _lay_out(self, git: str, workspace: Path, folder: Path, commit: str) -> None:
        own = folder / GIT
        for name in ("refs/heads", "objects/info"):
            (own / name).mkdir(parents=True)
        objects = workspace.resolve() / GIT / "objects"
        (own / "objects" / "info" / "alternates").write_text(f"{objects}\n")
        (own / "config").write_text(CONFIG)
        (own / "HEAD").write_text(f"{commit}\n")
        self._run(git, own, "read-tree", "HEAD")
        if _entries(own / "index") > self.max_files:
            raise _Failed(f"more than {self.max_files} files are committed")
        self._run(git, own, "checkout-index", "--all", "--force")
        self._run(git, own, "update-index", "-q", "--refresh")

    def _run(self, git: str, own: Path, *words: str) -> None:
        argv = (git, "--git-dir", str(own), "--work-tree", str(own.parent), *words)
        ended = self.programs.run(
            argv, folder=own.parent, timeout_s=TIMEOUT_S, environment=ENVIRONMENT
        )
        if not ended.is_well:
            raise _Failed(f"git {words[0]} ended with {ended.reason} {ended.code}")


class _Failed(Exception):
    """A git command failed."""


def head_of(workspace: Path) -> str | None:
    """The HEAD commit of a workspace; None where it is not a plain repository of its own."""
    try:
        if _is_there(workspace, BORROWED):
            return None
        head = _text(workspace, (GIT, "HEAD"), MAX_HEAD_BYTES).strip()
        named = _BRANCH.fullmatch(head)
        commit = head if named is None else _tip(workspace, named[1])
    except (OSError, ToolError, ValueError):
        return None
    return commit if commit is not None and _COMMIT.fullmatch(commit) else None


def _is_there(workspace: Path, parts: tuple[str, ...]) -> bool:
    try:
        with open_directory(workspace, parts[:-1]) as folder:
            os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _tip(workspace: Path, branch: str) -> str | None:
    parts = tuple(branch.split("/"))
    if any(part in ("", ".", "..") for part in parts):
        return None
    try:
        return _text(workspace, (GIT, *parts), MAX_HEAD_BYTES).strip()
    except FileNotFoundError:
        packed = _text(workspace, (GIT, "packed-refs"), MAX_REFS_BYTES)
        found = re.search(rf"^([0-9a-f]+) {re.escape(branch)}$", packed, re.MULTILINE)
        return None if found is None else found[1]


def _text(workspace: Path, parts: tuple[str, ...], most: int) -> str:
    with (
        open_directory(workspace, parts[:-1]) as folder,
        os.fdopen(open_regular(folder, parts[-1]), "rb") as stream,
    ):
        return stream.read(most).decode()


def _entries(index: Path) -> int:
    """The number of entries of a git index, from its 12-byte header."""
    with index.open("rb") as stream:
        return int.from_bytes(stream.read(12)[8:], "big")


def _empty(folder: Path) -> None:
    """Remove the contents of a folder that nobody else has seen yet."""
    for entry in list(folder.iterdir()):
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)
