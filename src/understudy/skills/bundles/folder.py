"""A skill as a folder on disk, read without following symlinks."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from understudy.core.errors import coded_error
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.limits import MANIFEST, MAX_BUNDLE_BYTES, MAX_DEPTH, MAX_FILES
from understudy.skills.bundles.paths import is_artifact

_MAX_FOLDERS: Final = 2_000
# Non-blocking: a file may have been replaced by a pipe before it is opened.
_AS_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_AS_FOLDER: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC


def read_folder(path: Path) -> Bundle:
    """The bundle in a folder; a symlink as SKILL.md is refused, others and devices are left out.

    An unreadable file fails the whole read, so that nothing is lost silently.
    """
    return Bundle(files_in(path))


def files_in(path: Path) -> dict[str, bytes]:
    """The files of a folder by relative path, whether or not they are a valid skill."""
    try:
        top = os.open(path, _AS_FOLDER)
    except OSError:
        raise coded_error(
            "skills/skill_manifest_missing",
            pointer="/file",
            detail="this is not a folder that can be read",
        ) from None
    try:
        return dict(_Walk(top).files())
    except OSError as error:
        raise coded_error(
            "skills/invalid_skill_path",
            pointer="/files",
            path=path.name,
            cause=f"cannot be read ({error.strerror})",
        ) from None
    finally:
        os.close(top)


def read_open_folder(top: int, name: str) -> tuple[Bundle, tuple[str, ...]]:
    """The bundle in a folder that others can write to, and the symlinks and devices left out.

    A file with another hard link is refused, because it may belong to anybody.
    """
    walk = _Walk(top, only_names=True)
    try:
        return Bundle(dict(walk.files())), tuple(walk.left_out)
    except OSError as error:
        raise coded_error(
            "skills/invalid_skill_path",
            pointer="/files",
            path=name,
            cause=f"cannot be read ({error.strerror})",
        ) from None


def read_file(path: Path, *, limit: int) -> bytes | None:
    """A regular file up to `limit` bytes (one more shows that it is longer); None for a symlink."""
    try:
        opened = os.open(path, _AS_FILE)
    except OSError:
        return None
    try:
        return _content(opened, limit)
    finally:
        os.close(opened)


def _content(opened: int, limit: int) -> bytes | None:
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        return None
    with open(opened, "rb", closefd=False) as file:
        return file.read(limit + 1)


class _Walk:
    """One walk through a folder, which stops at the limits."""

    def __init__(self, top: int, *, only_names: bool = False) -> None:
        self._top = top
        # Whether files with other hard links are refused.
        self._only_names = only_names
        self.left_out: list[str] = []
        self._left = MAX_BUNDLE_BYTES + MAX_BUNDLE_BYTES // 4
        self._count = 0
        self._folders = 0

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Paths and contents, one after another."""
        yield from self._within(self._top, "", 0)

    def _within(self, folder: int, prefix: str, depth: int) -> Iterator[tuple[str, bytes]]:
        self._folders += 1
        if depth > MAX_DEPTH or self._folders > _MAX_FOLDERS:
            raise coded_error(
                "skills/bundle_too_large",
                detail=f"folders nested deeper than {MAX_DEPTH}, or more than {_MAX_FOLDERS} of them",
                limit=MAX_DEPTH,
            )
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
        for name in names:
            if not is_artifact(name):
                yield from self._entry(folder, name, prefix + name, depth)

    def _entry(self, folder: int, name: str, path: str, depth: int) -> Iterator[tuple[str, bytes]]:
        kind = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISDIR(kind):
            inner = self._open(folder, name, path, _AS_FOLDER)
            try:
                yield from self._within(inner, path + "/", depth + 1)
            finally:
                os.close(inner)
        elif stat.S_ISREG(kind):
            yield path, self._read(folder, name, path)
        elif path == MANIFEST:
            raise coded_error(
                "skills/invalid_skill_path",
                pointer="/files",
                path=path,
                cause="is a link or a device, not a file",
            )
        else:
            self.left_out.append(path)

    def _read(self, folder: int, name: str, path: str) -> bytes:
        self._count += 1
        if self._count > MAX_FILES:
            raise coded_error(
                "skills/bundle_too_large",
                detail=f"more than {MAX_FILES} files in the folder",
                limit=MAX_FILES,
            )
        opened = self._open(folder, name, path, _AS_FILE)
        try:
            if self._only_names and os.fstat(opened).st_nlink > 1:
                raise coded_error(
                    "skills/invalid_skill_path",
                    pointer="/files",
                    path=path,
                    cause="is a hard link: it has a name elsewhere too",
                )
            data = _content(opened, self._left)
        finally:
            os.close(opened)
        if data is None:
            raise coded_error(
                "skills/invalid_skill_path",
                pointer="/files",
                path=path,
                cause="is not a file any more",
            )
        self._left -= len(data)
        if self._left < 0:
            raise coded_error(
                "skills/bundle_too_large",
                detail=f"the folder has more than {MAX_BUNDLE_BYTES} bytes",
                limit=MAX_BUNDLE_BYTES,
            )
        return data

    def _open(self, folder: int, name: str, path: str, flags: int) -> int:
        try:
            return os.open(name, flags, dir_fd=folder)
        except OSError as error:
            raise coded_error(
                "skills/invalid_skill_path",
                pointer="/files",
                path=path,
                cause=f"cannot be read ({error.strerror})",
            ) from None


# No valid skill has more files and folders.
MAX_ENTRIES: Final = 2_600
# Path, inode, size, mtime and ctime: a program can set mtime, but not ctime.
Stamp = tuple[tuple[str, int, int, int, int], ...]


def stamp_of(folder: Path) -> Stamp | None:
    """The stamp of a folder; None above the entry limit, `OSError` when it cannot be read."""
    found = []
    for path, entry in _entries(folder, "", 0):
        status = entry.stat(follow_symlinks=False)
        times = (status.st_mtime_ns, status.st_ctime_ns)
        found.append((path, status.st_ino, status.st_size, *times))
        if len(found) > MAX_ENTRIES:
            return None
    return tuple(sorted(found))


def _entries(folder: Path, prefix: str, depth: int) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
    if depth > MAX_DEPTH:
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            path = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from _entries(Path(entry.path), path + "/", depth + 1)
            yield path, entry
