"""The places of versions: the folder of their slug, or a folder of the slug in the trash.

A number is used once for a slug, so a version is the same one wherever it is found.
"""

import errno
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain, count
from typing import Final

from understudy.skills.slug import slug_refused
from understudy.storage import bundle_folders as folders
from understudy.storage.files import opened

TRASH: Final = ".trash"
# Folders of versions without a row, and of staged bundles.
LOST: Final = ".lost"
STAGED: Final = ".staged"
# The names of the folders from the top of the store down.
Place = tuple[str, ...]
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,8}")
_IN_TRASH: Final = re.compile(r"(?P<slug>[a-z0-9-]+)\.[0-9]+(?:-[0-9]+)?")
_NO_FOLDER: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})


def place_of(slug: str, trash_name: str | None) -> Place:
    """The place of versions: the folder of the slug, or a folder in the trash."""
    return (slug,) if trash_name is None else (TRASH, trash_name)


def is_trash_of(slug: str, name: str) -> bool:
    """Whether a folder of the trash holds versions of this slug."""
    named = _IN_TRASH.fullmatch(name)
    return named is not None and named["slug"] == slug


def free_name(slug: str, number: int, is_taken: Callable[[str], bool]) -> str:
    """An unused name in the trash or among lost versions."""
    first = f"{slug}.{number}"
    others = (f"{first}-{number}" for number in count(1))
    return next(name for name in chain((first,), others) if not is_taken(name))


@contextmanager
def inside(top: int, *place: str) -> Iterator[int | None]:
    """A folder of the store; None when there is none, or a symbolic link."""
    with ExitStack() as stack:
        here: int | None = top
        try:
            for name in place:
                here = stack.enter_context(opened(name, within=here))
        except OSError as problem:
            if problem.errno not in _NO_FOLDER:
                raise
            here = None
        yield here


def places_of(top: int, slug: str) -> Iterator[Place]:
    """All places of the versions of a slug; its own folder first."""
    if slug_refused(slug) is None:
        yield (slug,)
        # Unsorted, as the trash may be large.
        mine = [name for name in _names(top, TRASH) if name.startswith(f"{slug}.")]
        yield from ((TRASH, name) for name in sorted(mine) if is_trash_of(slug, name))


def all_places(top: int) -> Iterator[tuple[str, Place]]:
    """All places of versions, with their slugs."""
    yield from ((name, (name,)) for name in folders.names_in(top) if slug_refused(name) is None)
    for name in sorted(_names(top, TRASH)):
        named = _IN_TRASH.fullmatch(name)
        if named is not None:
            yield named["slug"], (TRASH, name)


def numbers_at(top: int, place: Place) -> frozenset[int]:
    """The version numbers that are in use in a place."""
    return frozenset(int(name) for name in _names(top, *place) if _NUMBER.fullmatch(name))


def unfinished_in(folder: int) -> tuple[str, ...]:
    """Incomplete folders that a crash left in a place."""
    return tuple(name for name in folders.names_in(folder) if folders.UNFINISHED.fullmatch(name))


def drop_place(top: int, place: Place) -> None:
    """Remove an empty place."""
    with inside(top, *place[:-1]) as parent:
        if parent is not None:
            folders.drop_if_empty(parent, place[-1])


@contextmanager
def made_place(top: int, place: Place) -> Iterator[int]:
    """A place, created if needed."""
    with _parent(top, place) as parent, folders.made(place[-1], within=parent) as folder:
        yield folder


def move_all(top: int, source: Place, target: Place) -> frozenset[int]:
    """Move all versions from one place to another; returns their numbers."""
    moved = numbers_at(top, source)
    with _parent(top, source) as before, _parent(top, target) as after:
        if not folders.is_there(target[-1], within=after):
            with suppress(FileNotFoundError):
                _rename(before, source[-1], after, target[-1])
            return moved
    move(top, source, target, moved)
    return moved


def move(top: int, source: Place, target: Place, numbers: frozenset[int]) -> None:
    """Move some versions; an empty place is removed."""
    if numbers and numbers == numbers_at(top, source) and not _is_place(top, target):
        # Rename the folder itself: a full disk has no room for a new one.
        move_all(top, source, target)
        return
    if numbers:
        with inside(top, *source) as before, made_place(top, target) as after:
            for name in map(str, sorted(numbers)):
                if before is not None and not folders.is_there(name, within=after):
                    with suppress(FileNotFoundError):
                        _rename(before, name, after, name)
    drop_place(top, source)


def _is_place(top: int, place: Place) -> bool:
    with inside(top, *place[:-1]) as parent:
        return parent is not None and folders.is_there(place[-1], within=parent)


def _rename(before: int, name: str, after: int, new_name: str) -> None:
    os.rename(name, new_name, src_dir_fd=before, dst_dir_fd=after)
    os.fsync(after)
    os.fsync(before)


@contextmanager
def _parent(top: int, place: Place) -> Iterator[int]:
    """The folder that a place is in."""
    if len(place) == 1:
        yield top
        return
    with folders.made(place[0], within=top) as trash:
        yield trash


def _names(top: int, *place: str) -> list[str]:
    with inside(top, *place) as folder:
        # An open folder has no path to ask.
        return [] if folder is None else os.listdir(folder)  # noqa: PTH208
