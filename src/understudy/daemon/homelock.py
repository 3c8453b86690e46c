"""One daemon per home and per SQLite file: file locks that the system releases with the process."""

import fcntl
import os
from pathlib import Path


class HomeLocked(Exception):
    """Another daemon holds the lock."""


class HomeLock:
    """Holds `<home>/daemon.lock`, or another file there, for the life of the process."""

    def __init__(self, home: Path, name: str = "daemon.lock") -> None:
        self._path = home / name
        self._descriptor: int | None = None

    def __enter__(self) -> "HomeLock":
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise HomeLocked(str(self._path)) from None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        self._descriptor = descriptor
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
