"""A folder's stamp: equal as long as nobody touched a file in it, without reading any."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from understudy.skills.bundles.limits import MAX_DEPTH

# Nothing that may be a skill has more files and folders than this.
MAX_ENTRIES: Final = 2_600
# Path, inode, size, and both times: a program may set the one, but not the other.
Stamp = tuple[tuple[str, int, int, int, int], ...]


def stamp_of(folder: Path) -> Stamp | None:
    """The stamp of a folder; None when it holds too much, `OSError` when it cannot be read."""
    found = []
    for path, entry in _entries(folder, "", 0):
        status = entry.stat(follow_symlinks=False)
        times = (status.st_mtime_ns, status.st_ctime_ns)
        found.append((path, status.st_ino, status.st_size, *times))
        if len(found) > MAX_ENTRIES:
            return None
    return tuple(sorted(found))


def _entries(folder: Path, prefix: str, depth: int) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
    if depth > MAX_DEPTH:
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            path = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from _entries(Path(entry.path), path + "/", depth + 1)
            yield path, entry
