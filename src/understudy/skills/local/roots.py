"""Skill roots: the folders whose skills are offered, and the search through them."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Final

from understudy.skills.bundles.limits import MANIFEST
from understudy.skills.local.skill import LocalLoad, LocalSkill, Warned, load_skill

MAX_LEVELS: Final = 6
MAX_FOLDERS: Final = 2_000
# Files and folders without a skill count as well.
MAX_ENTRIES: Final = 50_000
# The usual folders for skills, in a workspace and in a home: none is read unless it is a root.
USUAL_FOLDERS: Final = ("skills", ".claude/skills", ".agents/skills")


# Reads the skill of a SKILL.md, given the root in which it was found.
Load = Callable[[Path, Path], LocalLoad]


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A folder whose skills are offered."""

    path: Path
    # The operator who added it and is alone offered its skills; None for a root of the config file,
    # whose skills are offered to everybody.
    owner_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalCatalogue:
    """The local skills in the order of their roots, and warnings about others."""

    skills: tuple[LocalSkill, ...]
    warnings: tuple[Warned, ...]


def find_local(
    roots: Iterable[Root],
    *,
    load: Load = load_skill,
    stores: Sequence[Path] = (),
    mounts: Sequence[Path] = (),
    before: Iterable[LocalSkill] = (),
) -> LocalCatalogue:
    """The skills under the roots; of two with the same name or slug the first wins, and those of
    `before` win over all of them.

    A root that touches one of the stores, where not everybody's skills lie, is passed over. So is
    every folder in one of the mounts, whose skills come into the catalogue on another way.
    """
    winners = {word: skill for skill in before for word in _words(skill)}
    skills: list[LocalSkill] = []
    warnings: list[Warned] = []
    for root in roots:
        walk = _Walk(root, stores, tuple(Path(os.path.realpath(each)) for each in mounts))
        for file in walk.manifests():
            loaded = load(file, walk.top)
            warnings.extend(loaded.warnings)
            if loaded.skill is None:
                continue
            words = _words(loaded.skill)
            taken = next(((what, winners[what]) for what in words if what in winners), None)
            if taken is None:
                skills.append(replace(loaded.skill, owner_id=root.owner_id))
                winners.update(dict.fromkeys(words, loaded.skill))
                continue
            (what, _), winner = taken
            detail = f"{winner.path} has the same {what} and comes first"
            warnings.append(Warned(path=file, code=f"{what}_taken", detail=detail))
        warnings.extend(walk.warnings)
    return LocalCatalogue(skills=tuple(skills), warnings=tuple(warnings))


def _words(skill: LocalSkill) -> tuple[tuple[str, str], ...]:
    """The keys that must be unique among local skills."""
    return (("name", skill.name), ("slug", skill.slug))


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
        try:
            self.top = Path(os.path.realpath(self.root.path))
        except OSError:
            # An unreadable symlink on the path: `_refused` reports it.
            self.top = self.root.path

    def manifests(self) -> Iterator[Path]:
        """The real path of each SKILL.md within the root."""
        level = [] if self._refused() else [self.top]
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
            try:
                wanted = self._found(entry)
            except OSError:
                # An unreadable symlink or folder does not affect the others.
                self._warn(Path(entry.path), "unreadable", "it cannot be read")
                continue
            if wanted is not None:
                yield wanted

    def _found(self, entry: "os.DirEntry[str]") -> Path | None:
        """An entry that is a SKILL.md or a folder to scan, else None."""
        path = Path(entry.path)
        if entry.name == MANIFEST:
            return path if self._inside(path, entry) else None
        is_folder = not entry.name.startswith(".") and entry.is_dir()
        return path if is_folder and self._inside(path, entry) and self._is_new(path) else None

    def _inside(self, path: Path, entry: "os.DirEntry[str]") -> bool:
        if not entry.is_symlink():
            return True
        if Path(os.path.realpath(path)).is_relative_to(self.top):
            return True
        self._warn(path, "link_leaves_root", "a link that leads out of the root is not followed")
        return False

    def _is_new(self, path: Path) -> bool:
        real = Path(os.path.realpath(path))
        if any(real.is_relative_to(each) for each in self.mounts):
            return False
        try:
            status = real.stat()
        except OSError:
            return False
        return (status.st_dev, status.st_ino) not in self._seen

    def _refused(self) -> bool:
        """Whether a root is skipped, with a warning."""
        try:
            reason = next(((code, why) for code, why, applies in _REFUSED if applies(self)), None)
        except OSError:
            # An unreadable root does not affect the others.
            reason = ("unreadable", "the folder cannot be read")
        if reason is not None:
            self._warn(self.root.path, *reason)
        return reason is not None

    @property
    def is_linked(self) -> bool:
        """Whether a symlink has replaced the folder that an operator added."""
        return self.root.owner_id is not None and self.top != self.root.path

    @property
    def is_open(self) -> bool:
        """Whether every account of the machine can write to a folder that an operator added."""
        return self.root.owner_id is not None and is_writable_by_all(self.top)

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


def is_writable_by_all(folder: Path) -> bool:
    """Whether every account of the machine can write to a folder."""
    return bool(folder.stat().st_mode & stat.S_IWOTH)


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


# In order: the first match is reported.
_REFUSED: Final[tuple[tuple[str, str, Callable[[_Walk], bool]], ...]] = (
    ("root_missing", "there is no such folder", lambda walk: not walk.top.is_dir()),
    ("linked_root", "a link stands in the place of the folder", lambda walk: walk.is_linked),
    (
        "store_root",
        "the daemon keeps skills there, not all of them for everybody",
        lambda walk: walk.touches_store,
    ),
    (
        "open_root",
        "every account of the machine can write to the folder",
        lambda walk: walk.is_open,
    ),
)
