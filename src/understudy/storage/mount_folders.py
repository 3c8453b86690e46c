"""The files of promoted skills under the home, a folder for each learning.

Every step goes from an open directory to a name in it, and never follows a symlink.
"""

import errno
import os
from collections.abc import Hashable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from understudy.core.errors import UnderstudyError
from understudy.rollout.mounts import PLACE
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.folder import read_open_folder, stamp_of
from understudy.storage import bundle_folders as folders
from understudy.storage.files import made, opened

_NO_FOLDER: Final = frozenset({errno.ENOTDIR, errno.ELOOP})


class MountFolders:
    """Folders written under a temporary name and renamed, so that each is complete or absent."""

    def __init__(self, home: Path) -> None:
        self._home = home

    @property
    def root(self) -> Path:
        """The folder that holds all mounts."""
        return self._home.joinpath(*PLACE)

    def path(self, name: str) -> Path:
        """The path of a folder, existing or not."""
        return self.root / name

    def names(self) -> Sequence[str]:
        """The names of all entries, including temporary ones that a crash left."""
        with self._opened() as root:
            return () if root is None else tuple(folders.names_in(root))

    def has(self, name: str) -> bool:
        """Whether an entry has this name."""
        with self._opened() as root:
            return root is not None and folders.is_there(name, within=root)

    def digest(self, name: str) -> str | None:
        """The digest of the files in a folder; None if it is missing, "" if it is no skill."""
        with self._opened() as root:
            if root is None or not folders.is_there(name, within=root):
                return None
            try:
                with opened(name, within=root) as folder:
                    bundle, left_out = read_open_folder(folder, name)
            except OSError as problem:
                if problem.errno in _NO_FOLDER:
                    return ""
                raise
            except UnderstudyError:
                return ""
        return "" if left_out else bundle.digest

    def look(self, name: str) -> Hashable:
        """A stamp that changes whenever anything in a folder is touched."""
        # A change behind a symlink changes the stamp, too; then the folder is read.
        try:
            return stamp_of(self.path(name))
        except OSError:
            # Missing or unreadable: reading the folder raises the same error.
            return None

    def write(self, name: str, bundle: Bundle) -> None:
        """Replace the files of a folder atomically."""
        with self._made() as root:
            folders.remove(root, name)
            folders.place(root, name, bundle)

    def remove(self, name: str) -> None:
        """Delete the entry of this name."""
        with self._opened() as root:
            if root is None:
                return
            if folders.UNFINISHED.fullmatch(name):
                folders.drop(root, name)
            else:
                _remove(root, name)

    @contextmanager
    def _opened(self) -> Iterator[int | None]:
        """Open the root folder; None while it does not exist."""
        with ExitStack() as stack:
            try:
                here: int | None = stack.enter_context(opened(self._home))
                for name in PLACE:
                    here = stack.enter_context(opened(name, within=here))
            except FileNotFoundError:
                here = None
            yield here

    @contextmanager
    def _made(self) -> Iterator[int]:
        with ExitStack() as stack:
            here = stack.enter_context(opened(self._home))
            for name in PLACE:
                here = stack.enter_context(made(name, within=here))
            yield here


def _remove(root: int, name: str) -> None:
    """Delete a folder; what cannot be deleted keeps its name, so that it can be reported."""
    going = folders.unfinished()
    with suppress(FileNotFoundError):
        os.rename(name, going, src_dir_fd=root, dst_dir_fd=root)
        try:
            folders.drop(root, going)
        except OSError:
            os.rename(going, name, src_dir_fd=root, dst_dir_fd=root)
            raise
