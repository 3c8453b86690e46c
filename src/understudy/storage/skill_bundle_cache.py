"""A cache of bundles on this machine, by digest, where the bundles themselves are rows."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from understudy.core.errors import Invalid, LimitExceeded, coded_error
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.folder import read_folder
from understudy.storage import bundle_folders as folders
from understudy.storage.files import opened
from understudy.storage.skill_bundle_places import unfinished_in

log = structlog.get_logger()

MAX_BUNDLES: Final = 500
MAX_BYTES: Final = 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Copy:
    """The size of a copy, and when it was last used."""

    name: str
    size: int
    used_at_ns: int


class BundleCache:
    """An LRU cache of folders that are named by the digest of their bundle.

    All units of a daemon share one; no other process writes here.
    """

    def __init__(
        self, directory: Path, *, max_bundles: int = MAX_BUNDLES, max_bytes: int = MAX_BYTES
    ) -> None:
        self._directory = directory
        self._max_bundles = max_bundles
        self._max_bytes = max_bytes
        self._writing = threading.Lock()

    def find(self, digest: str) -> Path | None:
        """The exact copy of a bundle; None without one."""
        path = self._directory / digest
        with suppress(Invalid, LimitExceeded):
            if read_folder(path).digest == digest:
                # Without the new access time it is only evicted earlier.
                with suppress(OSError):
                    os.utime(path)
                return path
        return None

    def keep(self, bundle: Bundle) -> Path:
        """Make a copy, unless there is an exact one."""
        with self._writing, _or_unavailable():
            held = self.find(bundle.digest)
            if held is not None:
                return held
            self._directory.mkdir(mode=0o755, parents=True, exist_ok=True)
            with opened(self._directory) as top:
                if folders.is_there(bundle.digest, within=top):
                    folders.remove(top, bundle.digest)
                self._make_room(top, bundle)
                folders.place(top, bundle.digest, bundle)
        return self._directory / bundle.digest

    def drop(self, digest: str) -> None:
        """Remove a copy, if there is one."""
        with (
            self._writing,
            _or_unavailable(),
            suppress(FileNotFoundError),
            opened(self._directory) as top,
        ):
            folders.remove(top, digest)

    def sweep(self) -> int:
        """Remove leftovers of a crash and evict what is over the limit; returns how many."""
        with self._writing:
            try:
                with opened(self._directory) as top:
                    left = unfinished_in(top)
                    for name in left:
                        folders.drop(top, name)
                    return len(left) + self._make_room(top)
            except FileNotFoundError:
                return 0
            except OSError as problem:
                # A failure here must not stop the start of the daemon.
                log.warning("skills.copies_not_swept", reason=problem.strerror)
                return 0

    def _make_room(self, top: int, coming: Bundle | None = None) -> int:
        """Evict the least recently used copies until there is room for a new one."""
        copies = sorted(_copies(top), key=lambda copy: copy.used_at_ns)
        count = len(copies) + (coming is not None)
        size = sum(copy.size for copy in copies) + (0 if coming is None else coming.size)
        gone = 0
        for copy in copies:
            if count - gone <= self._max_bundles and size <= self._max_bytes:
                break
            folders.remove(top, copy.name)
            gone += 1
            size -= copy.size
        return gone


def _copies(top: int) -> Iterator[_Copy]:
    for name in folders.names_in(top):
        with suppress(OSError), opened(name, within=top) as folder:
            size = sum(file.size for file in folders.listed(folder))
            yield _Copy(name, size, os.fstat(folder).st_mtime_ns)


@contextmanager
def _or_unavailable() -> Iterator[None]:
    """Turn an `OSError` into `Unavailable`."""
    try:
        yield
    except OSError as problem:
        raise coded_error(
            "skills/skill_storage_unavailable", strerror=problem.strerror
        ) from problem
