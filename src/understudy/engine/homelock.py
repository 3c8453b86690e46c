"""One daemon per home: a lock on a file that the system lets go when the process ends."""

import fcntl
import os
from pathlib import Path
from types import TracebackType


class HomeLocked(Exception):
    """Another daemon works in this home."""


class HomeLock:
    """Holds `<home>/daemon.lock` for the life of the process."""

    def __init__(self, home: Path) -> None:
        self._path = home / "daemon.lock"
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
