"""Copies of bundles on this machine, by their hash, where the bundles themselves are rows."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from understudy.core.errors import Invalid, LimitExceeded, Unavailable
from understudy.skills.bundle import Bundle
from understudy.skills.folder import read_folder
from understudy.storage import bundle_folders as folders
from understudy.storage.files import opened


class BundleCache:
    """Folders named by the digest of what is in them; one that was changed is made anew."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def find(self, digest: str) -> Path | None:
        """The copy of a bundle; None when there is none that is exact."""
        path = self._directory / digest
        with suppress(Invalid, LimitExceeded):
            if read_folder(path).digest == digest:
                return path
        return None

    def keep(self, bundle: Bundle) -> Path:
        """Make a copy, in place of one that is not exact."""
        with _speaking():
            self._directory.mkdir(mode=0o755, parents=True, exist_ok=True)
            with opened(self._directory) as top:
                if folders.is_there(bundle.digest, within=top):
                    folders.remove(top, bundle.digest)
                try:
                    folders.place(top, bundle.digest, bundle)
                except OSError:
                    # Somebody else was faster, unless it is something worse.
                    if self.find(bundle.digest) is None:
                        raise
        return self._directory / bundle.digest


@contextmanager
def _speaking() -> Iterator[None]:
    """Say of a file system that fails that it does."""
    try:
        yield
    except OSError as problem:
        raise Unavailable(
            "skill_storage_unavailable",
            domain="skills",
            detail=f"the files of the skills cannot be kept now: {problem.strerror}",
        ) from problem
