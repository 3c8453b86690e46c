"""Local roots: the folders that may hold skills, and the search through them."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Final

from understudy.skills.bundles.limits import MANIFEST
from understudy.skills.local.skill import LocalLoad, LocalSkill, Warned, load_skill

MAX_LEVELS: Final = 6
MAX_FOLDERS: Final = 2_000
# Files and folders without a skill count as well.
MAX_ENTRIES: Final = 50_000
WORKSPACE_ROOTS: Final = ("skills", ".claude/skills", ".agents/skills")
HOME_ROOTS: Final = ("skills", ".agents/skills", ".claude/skills")


# Reads the skill of a SKILL.md, given the root and the scope in which it was found.
Load = Callable[[Path, Path, str], LocalLoad]


class RootScope(StrEnum):
    """Why a folder is a root."""

    EXPLICIT = "explicit"
    REPO = "repo"
    USER = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A folder that may hold skills."""

    path: Path
    scope: RootScope
    # The folder that must contain the root, where a symbolic link may not lead out of it.
    base: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalCatalogue:
    """The local skills in the order of their roots, and warnings about others."""

    skills: tuple[LocalSkill, ...]
    warnings: tuple[Warned, ...]


def roots_for(
    *, explicit: Sequence[Path] = (), workspace: Path | None = None, home: Path | None = None
) -> tuple[Root, ...]:
    """The roots in the order of precedence; none twice."""
    above = [] if workspace is None else [workspace, *workspace.parents]
    # A user's own root may be a symbolic link, as no agent writes there.
    own = home if home != workspace else None
    found = [
        *(Root(path=path, scope=RootScope.EXPLICIT) for path in explicit),
        *(
            Root(path=folder / name, scope=RootScope.REPO, base=None if folder == own else folder)
            for folder in above
            for name in WORKSPACE_ROOTS
        ),
        *(Root(path=home / name, scope=RootScope.USER) for name in HOME_ROOTS if home is not None),
    ]
    first: dict[Path, Root] = {}
    for root in found:
        first.setdefault(root.path, root)
    return tuple(first.values())


def _load(path: Path, root: Path, scope: str) -> LocalLoad:
    return load_skill(path, root=root, scope=scope)


def find_local(
    roots: Iterable[Root],
    *,
    load: Load = _load,
    stores: Sequence[Path] = (),
    mounts: Sequence[Path] = (),
) -> LocalCatalogue:
    """The skills under the roots; of two with the same name the first wins.

    A root that touches one of the stores, where not everybody's skills lie, is passed over. So is
    every folder in one of the mounts, whose skills come into the catalogue on another way.
    """
    skills: dict[str, LocalSkill] = {}
    warnings: list[Warned] = []
    for root in roots:
        walk = _Walk(root, stores, tuple(Path(os.path.realpath(each)) for each in mounts))
        for file in walk.manifests():
            loaded = load(file, walk.top, root.scope)
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
    """A breadth-first walk through a root; each folder in the order of its names."""

    root: Root
    stores: Sequence[Path] = ()
    mounts: Sequence[Path] = ()
    top: Path = field(init=False)
    warnings: list[Warned] = field(default_factory=list)
    _left: int = MAX_ENTRIES
    _seen: set[tuple[int, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.top = Path(os.path.realpath(self.root.path))

    def manifests(self) -> Iterator[Path]:
        """The real path of each SKILL.md within the root."""
        level = [self.top] if self.top.is_dir() and not self._refused() else []
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
        """Count a folder; False when the limit of folders or files is reached."""
        if self._left < 0:
            return False
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
        """The SKILL.md and the subfolders of a folder; symbolic links only within the root."""
        try:
            with os.scandir(folder) as found:
                entries = sorted(islice(found, self._left + 1), key=lambda entry: entry.name)
        except OSError:
            self._warn(folder, "unreadable", "the folder cannot be read")
            return
        self._left -= len(entries)
        if self._left < 0:
            self._warn(folder, "too_many_files", f"only {MAX_ENTRIES} files are passed by")
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
        if any(real.is_relative_to(each) for each in self.mounts):
            return
        try:
            status = real.stat()
        except OSError:
            return
        if (status.st_dev, status.st_ino) not in self._seen:
            yield path

    def _refused(self) -> bool:
        """Whether a root is skipped, with a warning."""
        reason = next(((code, why) for code, why, applies in _REFUSED if applies(self)), None)
        if reason is not None:
            self._warn(self.root.path, *reason)
        return reason is not None

    @property
    def is_linked(self) -> bool:
        """Whether a symbolic link leads out of the folder that must contain the root."""
        if self.root.base is None:
            return False
        base = Path(os.path.realpath(self.root.base))
        return self.top != base / self.root.path.relative_to(self.root.base)

    @property
    def is_foreign(self) -> bool:
        """Whether others can write to a folder above the workspace, so that it is not trusted."""
        if self.root.scope is not RootScope.REPO:
            return False
        status = self.top.stat()
        return status.st_uid not in {0, os.geteuid()} or bool(status.st_mode & stat.S_IWOTH)

    @property
    def touches_store(self) -> bool:
        """Whether a folder is, contains or lies in a folder where the daemon stores skills."""
        if any(is_within(self.top, each) for each in self.mounts):
            return True
        return any(
            is_within(self.top, store) or is_within(store, self.top)
            for store in map(Path, map(os.path.realpath, self.stores))
        )

    def _warn(self, path: Path, code: str, detail: str) -> None:
        self.warnings.append(Warned(path=path, code=code, detail=detail))


def is_within(path: Path, folder: Path) -> bool:
    """Whether a path is a folder or lies in it, compared by inode."""
    return path.is_relative_to(folder) or any(
        _is_same(each, folder) for each in (path, *path.parents)
    )


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


# In this order: the first that applies is told.
_REFUSED: Final[tuple[tuple[str, str, Callable[[_Walk], bool]], ...]] = (
    ("linked_root", "a link stands in the place of the folder", lambda walk: walk.is_linked),
    (
        "store_root",
        "the daemon keeps skills there, not all of them for everybody",
        lambda walk: walk.touches_store,
    ),
    ("foreign_root", "another user can write to the folder", lambda walk: walk.is_foreign),
)
