"""Worktrees: fresh folders within the workspace in which promoted skills work."""

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from secrets import token_hex
from typing import Final

import structlog

from understudy.core.clock import DAY_MS
from understudy.tools.base import WORKTREES, FolderPlace, ToolError
from understudy.tools.paths import open_directory, parse_path, readable_errors

log = structlog.get_logger()

MAX_NAME_CHARS: Final = 100
MAX_TRIES: Final = 1000
KEPT_MS: Final = 7 * DAY_MS
# Prefix of a folder that is not filled yet.
MAKING: Final = ".making-"
IGNORED: Final = ".gitignore"

_OTHER_CHARS: Final = re.compile(r"[^A-Za-z0-9_-]")
_PLAIN: Final = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_NAME_CHARS}}}")

# Fills an empty folder from the workspace.
Fill = Callable[[Path, Path], object]


@dataclass(frozen=True, slots=True)
class Worktrees:
    """Creates folders below `.understudy-procedural-worktrees`, and removes old ones."""

    workspace: Path
    fill: Fill = lambda _, __: None

    def claim(self, name: str, call_id: str) -> str:
        """A fresh folder for a skill, by its path in the workspace."""
        inside = (WORKTREES, safe_name(name))
        with readable_errors(WORKTREES):
            with open_directory(self.workspace, inside, create=True) as folder:
                own = _first_free(folder, safe_id(call_id))
            self._hide()
            self._make((*inside, own))
        return "/".join((*inside, own))

    def ready(self, workspace: Path, workdir: str) -> FolderPlace:
        """The folder, created again if it is missing; raises `ToolError` when it cannot be used."""
        place = FolderPlace(workspace, parse_path(workdir).parts)
        with readable_errors(workdir):
            try:
                with open_directory(workspace, place.below):
                    return place
            except FileNotFoundError:
                self._make(place.below)
            with open_directory(workspace, place.below):
                return place

    def release(self, workdir: str) -> None:
        """Remove a folder that no run worked in."""
        with suppress(OSError, ToolError):
            path = parse_path(workdir)
            with open_directory(self.workspace, path.folder) as folder:
                shutil.rmtree(path.name, ignore_errors=True, dir_fd=folder)

    def sweep(self, busy: Collection[str], *, now_ms: int, kept_ms: int = KEPT_MS) -> int:
        """Remove the folders that no run uses and that were not changed lately; answers how many."""
        old = [
            workdir
            for workdir, changed_ms in self._all()
            if changed_ms < now_ms - kept_ms and workdir not in busy
        ]
        for workdir in old:
            self.release(workdir)
        if old:
            log.info("worktrees.swept", count=len(old))
        return len(old)

    def _make(self, parts: tuple[str, ...]) -> None:
        """Fill a folder under a temporary name, then rename it: complete, or not at all."""
        *inside, own = parts
        making = f"{MAKING}{token_hex(8)}"
        with open_directory(self.workspace, inside, create=True) as folder:
            os.mkdir(making, 0o700, dir_fd=folder)
            try:
                self.fill(self.workspace, self.workspace.joinpath(*inside, making))
                # The rename replaces an empty folder; one with content stays.
                with suppress(OSError):
                    os.rename(making, own, src_dir_fd=folder, dst_dir_fd=folder)
            finally:
                shutil.rmtree(making, ignore_errors=True, dir_fd=folder)

    def _hide(self) -> None:
        """Keep the folders out of git."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with (
            suppress(OSError),
            open_directory(self.workspace, (WORKTREES,)) as folder,
            os.fdopen(os.open(IGNORED, flags, 0o600, dir_fd=folder), "w") as file,
        ):
            file.write("*\n")

    def _all(self) -> Iterator[tuple[str, int]]:
        """Every folder, also unfinished ones, with the time of its last change."""
        skills: list[str] = []
        with suppress(OSError, ToolError), open_directory(self.workspace, (WORKTREES,)) as top:
            skills = _folders(top)
        for skill in skills:
            yield from self._of(skill)

    def _of(self, skill: str) -> Iterator[tuple[str, int]]:
        inside = (WORKTREES, skill)
        with suppress(OSError, ToolError), open_directory(self.workspace, inside) as folder:
            for name in _folders(folder):
                changed = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime_ns
                yield "/".join((*inside, name)), changed // 1_000_000


def safe_name(name: str) -> str:
    """The name of a skill as a folder name."""
    return _OTHER_CHARS.sub("-", name)[:MAX_NAME_CHARS] or "-"


def safe_id(call_id: str) -> str:
    """The id of a call as a folder name; a model may have put anything into it."""
    if _PLAIN.fullmatch(call_id):
        return call_id
    return hashlib.sha256(call_id.encode(errors="replace")).hexdigest()[:32]


def _first_free(folder: int, name: str) -> str:
    """Create the first folder name that is free: models reuse call ids."""
    for number in islice(count(1), MAX_TRIES):
        own = name if number == 1 else f"{name}-{number}"
        with suppress(FileExistsError):
            os.mkdir(own, 0o700, dir_fd=folder)
            return own
    raise ToolError("there is no free folder for this call", code="worktree_missing")


def _folders(at: int) -> list[str]:
    with os.scandir(at) as scan:
        return sorted(entry.name for entry in scan if entry.is_dir(follow_symlinks=False))
