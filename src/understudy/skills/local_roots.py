"""Skills that lie in folders of the machine: where they are looked for, and what is found there."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from understudy.skills.limits import MANIFEST
from understudy.skills.local_skill import LocalSkill, Warned, load_skill

MAX_LEVELS: Final = 6
MAX_FOLDERS: Final = 2_000
WORKSPACE_ROOTS: Final = ("skills", ".claude/skills", ".agents/skills")
HOME_ROOTS: Final = ("skills", ".agents/skills", ".claude/skills")


class RootScope(StrEnum):
    """Why a folder is looked into."""

    EXPLICIT = "explicit"
    REPO = "repo"
    USER = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A folder that may hold skills."""

    path: Path
    scope: RootScope


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalCatalogue:
    """The skills that were found, first come first, and what was wrong with others."""

    skills: tuple[LocalSkill, ...]
    warnings: tuple[Warned, ...]


def roots_for(
    *, explicit: Sequence[Path] = (), workspace: Path | None = None, home: Path | None = None
) -> tuple[Root, ...]:
    """The roots in the order in which they win; none twice."""
    above = [] if workspace is None else [workspace, *workspace.parents]
    found = [
        *(Root(path=path, scope=RootScope.EXPLICIT) for path in explicit),
        *(
            Root(path=folder / name, scope=RootScope.REPO)
            for folder in above
            for name in WORKSPACE_ROOTS
        ),
        *(Root(path=home / name, scope=RootScope.USER) for name in HOME_ROOTS if home is not None),
    ]
    first: dict[Path, Root] = {}
    for root in found:
        first.setdefault(root.path, root)
    return tuple(first.values())


def find_local(roots: Iterable[Root]) -> LocalCatalogue:
    """Every skill under the roots; of two with one name the first wins."""
    skills: dict[str, LocalSkill] = {}
    warnings: list[Warned] = []
    for root in roots:
        walk = _Walk(root)
        for file in walk.manifests():
            loaded = load_skill(file, root=walk.top, scope=root.scope)
            warnings.extend(loaded.warnings)
            if loaded.skill is None:
                continue
            winner = skills.setdefault(loaded.skill.name, loaded.skill)
            if winner is not loaded.skill:
                detail = f"{winner.path} has the same name and comes first"
                warnings.append(Warned(path=file, code="name_taken", detail=detail))
        warnings.extend(walk.warnings)
    return LocalCatalogue(skills=tuple(skills.values()), warnings=tuple(warnings))


@dataclass(slots=True)
class _Walk:
    """One walk through a root, level by level, each folder in the order of its names."""

    root: Root
    top: Path = field(init=False)
    warnings: list[Warned] = field(default_factory=list)
    _seen: set[tuple[int, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.top = Path(os.path.realpath(self.root.path))

    def manifests(self) -> Iterator[Path]:
        """Each SKILL.md, by its real path within the root."""
        level = [self.top] if self.top.is_dir() and not self._foreign() else []
        for _ in range(MAX_LEVELS + 1):
            below: list[Path] = []
            for folder in level:
                if not self._enter(folder):
                    return
                for entry in self._entries(folder):
                    if entry.name == MANIFEST:
                        yield entry
                    else:
                        below.append(entry)
            level = below

    def _enter(self, folder: Path) -> bool:
        """Count a folder; False when there were too many."""
        if len(self._seen) >= MAX_FOLDERS:
            self._warn(folder, "too_many_folders", f"only {MAX_FOLDERS} folders are looked into")
            return False
        try:
            status = folder.stat()
        except OSError:
            return True
        self._seen.add((status.st_dev, status.st_ino))
        return True

    def _entries(self, folder: Path) -> Iterator[Path]:
        """The SKILL.md and the folders in a folder; links only where they stay in the root."""
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:
            self._warn(folder, "unreadable", "the folder cannot be read")
            return
        for entry in entries:
            path = Path(entry.path)
            if entry.name == MANIFEST:
                if self._inside(path, entry):
                    yield path
            elif not entry.name.startswith(".") and entry.is_dir() and self._inside(path, entry):
                yield from self._new(path)

    def _inside(self, path: Path, entry: "os.DirEntry[str]") -> bool:
        if not entry.is_symlink():
            return True
        if Path(os.path.realpath(path)).is_relative_to(self.top):
            return True
        self._warn(path, "link_leaves_root", "a link that leads out of the root is not followed")
        return False

    def _new(self, path: Path) -> Iterator[Path]:
        real = Path(os.path.realpath(path))
        try:
            status = real.stat()
        except OSError:
            return
        if (status.st_dev, status.st_ino) not in self._seen:
            yield path

    def _foreign(self) -> bool:
        """Folders above a workspace may be anybody's: one of another user's is not trusted."""
        if self.root.scope is not RootScope.REPO:
            return False
        owner = self.top.stat().st_uid
        if owner in {0, os.geteuid()}:
            return False
        self._warn(self.top, "foreign_root", "the folder belongs to another user")
        return True

    def _warn(self, path: Path, code: str, detail: str) -> None:
        self.warnings.append(Warned(path=path, code=code, detail=detail))
