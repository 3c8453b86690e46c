"""Large bundles on their way to become versions: `.staged/<digest>`, complete or not at all.

On SQLite all who write wait for the one who does, and many files take a while. Nothing depends on
what is staged: a bundle that is not there is written when it is put.
"""

import os
from contextlib import suppress
from typing import Final

from understudy.skills.bundles.bundle import Bundle
from understudy.storage import bundle_folders as folders
from understudy.storage.skill_bundle_places import STAGED, inside

# Fewer files than this are written at once.
MANY_FILES: Final = 10


def is_large(bundle: Bundle) -> bool:
    """Whether it is worth it."""
    return len(bundle) >= MANY_FILES


def stage(top: int, bundle: Bundle) -> None:
    """Write a bundle down; a disk that fails is told of when it is put."""
    with suppress(OSError), folders.made(STAGED, within=top) as staged:
        if not folders.is_there(bundle.digest, within=staged):
            folders.place(staged, bundle.digest, bundle)


def unstage(top: int, bundle: Bundle) -> None:
    """Remove what was written and not named."""
    with inside(top, STAGED) as staged:
        if staged is not None:
            folders.remove(staged, bundle.digest)


def unstage_all(top: int) -> int:
    """Remove what a crash left; how much it was."""
    with inside(top, STAGED) as staged:
        if staged is None:
            return 0
        names = folders.names_in(staged)
        for name in names:
            folders.drop(staged, name)
    folders.drop_if_empty(top, STAGED)
    return len(names)


def place(top: int, folder: int, name: str, bundle: Bundle) -> None:
    """Have a bundle under a new name: the staged one if there is one, else by writing it."""
    with inside(top, STAGED) as staged:
        if staged is not None:
            with suppress(FileNotFoundError):
                os.rename(bundle.digest, name, src_dir_fd=staged, dst_dir_fd=folder)
                os.fsync(folder)
                return
    folders.place(folder, name, bundle)
