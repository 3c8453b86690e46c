"""Files replaced atomically, in directories opened without following symlinks."""

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

# Temporary files that a crash between writing and renaming leaves behind.
LEFTOVER: Final = re.compile(r"\.new-[0-9a-f]{16}")
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NOT_A_FILE: Final = frozenset({errno.ENOENT, errno.ELOOP, errno.ENXIO})


@contextmanager
def opened(directory: Path | str, *, within: int | None = None) -> Iterator[int]:
    """Open a directory without following a symlink."""
    descriptor = os.open(directory, _DIRECTORY, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def made(name: str, *, within: int) -> Iterator[int]:
    """Create a directory with mode 0700 unless it exists; open it without following symlinks."""
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=within)
    with opened(name, within=within) as descriptor:
        yield descriptor


def replace_file(directory: int, name: str, data: bytes) -> os.stat_result:
    """Atomically replace a file, with mode 0600; returns its new status."""
    new = f".new-{secrets.token_hex(8)}"
    try:
        with os.fdopen(os.open(new, _CREATE, 0o600, dir_fd=directory), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            written = os.fstat(file.fileno())
        os.rename(new, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with suppress(OSError):
            os.unlink(new, dir_fd=directory)
        raise
    os.fsync(directory)
    return written


def read_file(directory: int, name: str, *, limit: int) -> bytes | None:
    """The first `limit` bytes of a regular file; None when there is no such file."""
    try:
        descriptor = os.open(name, _READ, dir_fd=directory)
    except OSError as problem:
        if problem.errno in _NOT_A_FILE:
            return None
        raise
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(limit)
    finally:
        os.close(descriptor)
