"""One after another: whoever does the same waits, within this process, for the one before."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class Turns:
    """Locks by name, which are there as long as somebody holds or awaits one."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._locks: dict[str, Lock] = {}
        self._wanted: dict[str, int] = {}

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """While nobody else has the turn of this name."""
        with self._guard:
            lock = self._locks.setdefault(name, Lock())
            self._wanted[name] = self._wanted.get(name, 0) + 1
        try:
            with lock:
                yield
        finally:
            with self._guard:
                self._wanted[name] -= 1
                if not self._wanted[name]:
                    del self._locks[name], self._wanted[name]
