"""Files that go under another name of their directory until a change is certain.

A database takes a change back and a file system does not, so a file that is to be removed is renamed
first: it goes once the change is committed, and is put back if it is not.
"""

import errno
import os
import stat
from contextlib import suppress
from typing import Final

PREFIX: Final = ".aside-"


def set_aside(directory: int, name: str) -> None:
    """Take a file from its place; one that is not there is fine, a directory is not a file."""
    if _is_directory(directory, name):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    with suppress(FileNotFoundError):
        os.rename(name, PREFIX + name, src_dir_fd=directory, dst_dir_fd=directory)


def put_back(directory: int, name: str) -> None:
    """Bring a file back to its place, unless there is another by now."""
    if _status(directory, name) is not None:
        drop(directory, name)
        return
    with suppress(FileNotFoundError):
        os.rename(PREFIX + name, name, src_dir_fd=directory, dst_dir_fd=directory)


def drop(directory: int, name: str) -> None:
    """Remove what was set aside."""
    with suppress(FileNotFoundError):
        os.unlink(PREFIX + name, dir_fd=directory)


def name_before(name: str) -> str | None:
    """The name of a file before it was set aside; None for one that was not."""
    before = name.removeprefix(PREFIX)
    return None if before in {name, "", ".", ".."} else before


def _is_directory(directory: int, name: str) -> bool:
    found = _status(directory, name)
    return found is not None and stat.S_ISDIR(found.st_mode)


def _status(directory: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
