"""Files renamed aside until the transaction commits.

A database rolls a change back and a file system does not, so a file that is to be deleted is
renamed first: it is deleted after the commit, and renamed back after a rollback.
"""

import errno
import os
import stat
from contextlib import suppress
from typing import Final

PREFIX: Final = ".aside-"


def set_aside(directory: int, name: str) -> None:
    """Rename a file aside; a missing one is fine, a directory is an error."""
    if _is_directory(directory, name):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    with suppress(FileNotFoundError):
        os.rename(name, PREFIX + name, src_dir_fd=directory, dst_dir_fd=directory)


def put_back(directory: int, name: str) -> None:
    """Rename a file back, unless another has taken its name meanwhile."""
    if _status(directory, name) is not None:
        drop(directory, name)
        return
    with suppress(FileNotFoundError):
        os.rename(PREFIX + name, name, src_dir_fd=directory, dst_dir_fd=directory)


def drop(directory: int, name: str) -> None:
    """Delete a file that was set aside."""
    with suppress(FileNotFoundError):
        os.unlink(PREFIX + name, dir_fd=directory)


def name_before(name: str) -> str | None:
    """The name of a file before it was set aside; None for any other file."""
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
