"""Bundles as folders: written under a temporary name, synced, and renamed into place atomically.

Every step goes from an open directory to a name in it, and never follows a symlink.
"""

import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

from understudy.skills.bundles.limits import MAX_BUNDLE_BYTES, MAX_FILES
from understudy.skills.bundles.paths import is_artifact, refused_by, tidy
from understudy.skills.bundles.store import BundleFile
from understudy.storage.files import opened, read_file

# Temporary names that a crash between writing and renaming leaves behind.
UNFINISHED: Final = re.compile(r"\.tmp-[0-9a-f]{16}")
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER_MODE: Final = 0o755
_FILE_MODE: Final = 0o644


def make(name: str, *, within: int, is_lasting: bool = True) -> None:
    """Create a folder, unless it exists."""
    with suppress(FileExistsError):
        os.mkdir(name, _FOLDER_MODE, dir_fd=within)
        if is_lasting:
            os.fsync(within)


@contextmanager
def made(name: str, *, within: int, is_lasting: bool = True) -> Iterator[int]:
    """Create a world-readable folder, unless it exists, and open it."""
    make(name, within=within, is_lasting=is_lasting)
    with opened(name, within=within) as folder:
        # Independent of the umask.
        os.fchmod(folder, _FOLDER_MODE)
        yield folder


def is_there(name: str, *, within: int) -> bool:
    """Whether the name exists, even as a symlink."""
    try:
        os.stat(name, dir_fd=within, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def names_in(folder: int) -> list[str]:
    """The names in a folder, sorted."""
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries)


def place(folder: int, name: str, files: Mapping[str, bytes]) -> None:
    """Write files under a new name, atomically."""
    staged = unfinished()
    try:
        with made(staged, within=folder) as top:
            _write_all(top, files)
            _make_lasting(top)
        os.rename(staged, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            shutil.rmtree(staged, dir_fd=folder)
        raise
    os.fsync(folder)


def remove(folder: int, name: str) -> None:
    """Delete a version; it is renamed first, so that nobody reads a half-deleted one as whole."""
    going = unfinished()
    with suppress(FileNotFoundError):
        os.rename(name, going, src_dir_fd=folder, dst_dir_fd=folder)
        drop(folder, going)


def drop(folder: int, name: str) -> None:
    """Delete a temporary folder; a symlink is deleted, not its target.

    Subfolders are moved to the top, level by level: at any depth, only one folder is open.
    """
    going = [name]
    while going:
        name = going.pop()
        if _is_folder(name, within=folder):
            with opened(name, within=folder) as here:
                going += _emptied(here, folder)
            os.rmdir(name, dir_fd=folder)
        else:
            os.unlink(name, dir_fd=folder)


def _emptied(here: int, top: int) -> Iterator[str]:
    """Empty a folder; yields the new names of its subfolders at the top."""
    for name in names_in(here):
        if _is_folder(name, within=here):
            lifted = unfinished()
            os.rename(name, lifted, src_dir_fd=here, dst_dir_fd=top)
            yield lifted
        else:
            os.unlink(name, dir_fd=here)


def _is_folder(name: str, *, within: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=within, follow_symlinks=False).st_mode)


def unfinished() -> str:
    """A new temporary name."""
    return f".tmp-{secrets.token_hex(8)}"


def drop_if_empty(folder: int, name: str) -> None:
    """Delete a folder if it is empty."""
    with suppress(OSError):
        os.rmdir(name, dir_fd=folder)


def listed(top: int) -> tuple[BundleFile, ...]:
    """The regular files below a folder, by path; without symlinks, devices and artifacts."""
    found = []
    for root, folders, names, folder in os.fwalk(".", dir_fd=top, follow_symlinks=False):
        folders[:] = sorted(name for name in folders if not is_artifact(name))
        prefix = root.removeprefix(".").removeprefix("/")
        for name in names:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) and not is_artifact(name):
                path = f"{prefix}/{name}" if prefix else name
                found.append(BundleFile(path=path, size=status.st_size))
        if len(found) > MAX_FILES:
            break
    return tuple(sorted(found, key=lambda file: file.path))


def is_path(path: str) -> bool:
    """Whether this is a valid path of a bundle file, in normal form."""
    return refused_by(path) is None and tidy(path) == path and not is_artifact(path)


def content(top: int, path: str) -> bytes | None:
    """One regular file below a folder; None for a symlink, a device or an invalid path."""
    if not is_path(path):
        return None
    *folders, name = path.split("/")
    with suppress(FileNotFoundError, NotADirectoryError), ExitStack() as stack:
        here = top
        for folder in folders:
            here = stack.enter_context(opened(folder, within=here))
        data = read_file(here, name, limit=MAX_BUNDLE_BYTES + 1)
        return None if data is None or len(data) > MAX_BUNDLE_BYTES else data
    return None


def _write_all(top: int, files: Mapping[str, bytes]) -> None:
    """Write the files folder by folder, so that each folder is created and opened once."""
    by_folder: dict[str, dict[str, bytes]] = {}
    for path, data in files.items():
        folder, _, name = path.rpartition("/")
        by_folder.setdefault(folder, {})[name] = data
    for path, contents in by_folder.items():
        with ExitStack() as stack:
            here = top
            for folder in filter(None, path.split("/")):
                here = stack.enter_context(made(folder, within=here, is_lasting=False))
            for name, data in contents.items():
                _write(here, name, data)


def _write(folder: int, name: str, data: bytes) -> None:
    descriptor = os.open(name, _CREATE, _FILE_MODE, dir_fd=folder)
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        os.fchmod(descriptor, _FILE_MODE)
        left = memoryview(data)
        while left:
            left = left[file.write(left) :]


def _make_lasting(top: int) -> None:
    for _, _, names, folder in os.fwalk(".", dir_fd=top, follow_symlinks=False):
        for name in names:
            _sync(folder, name)
        os.fsync(folder)


def _sync(folder: int, name: str) -> None:
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
