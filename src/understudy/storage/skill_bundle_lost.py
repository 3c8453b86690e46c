"""Versions that no row knows: `.lost/<slug>.<number>`, until a row knows them again.

They may be all that is left of somebody's work, where a daemon was started once with another
database or with an old copy of it, so none is ever removed.
"""

import os
import re
from functools import partial
from typing import Final

from understudy.core.errors import Invalid, LimitExceeded
from understudy.skills.bundles.folder import read_open_folder
from understudy.skills.ports import BundlePlace, Places
from understudy.storage import bundle_folders as folders
from understudy.storage.skill_bundle_places import (
    LOST,
    Place,
    free_name,
    inside,
    made_place,
    place_of,
)

_NAME: Final = re.compile(r"(?P<slug>[a-z0-9-]+)\.(?P<number>[1-9][0-9]{0,8})(?:-[0-9]+)?")


def set_aside(top: int, place: Place, slug: str, number: int) -> None:
    """Move one version out of a place.

    Nothing waits for the disk here: what a crash undoes is done again at the next start.
    """
    with inside(top, *place) as folder, folders.made(LOST, within=top) as lost:
        if folder is not None:
            name = free_name(slug, number, partial(folders.is_there, within=lost))
            os.rename(str(number), name, src_dir_fd=folder, dst_dir_fd=lost)


def lost_names(top: int) -> list[str]:
    """Everything that was set aside."""
    with inside(top, LOST) as lost:
        return [] if lost is None else folders.names_in(lost)


def bring_back(top: int, name: str, places: Places) -> bool:
    """Have what was set aside where a row says that knows exactly it again; tells whether one does."""
    named = _NAME.fullmatch(name)
    if named is None:
        return False
    slug, number = named["slug"], int(named["number"])
    wanted = places.get(slug, {}).get(number)
    if wanted is None or not _is_exact(top, (LOST, name), wanted):
        return False
    place = place_of(slug, wanted.trash_name)
    if _is_exact(top, (*place, str(number)), wanted):
        return False
    _put_back(top, name, place, slug, number)
    return True


def _put_back(top: int, name: str, place: Place, slug: str, number: int) -> None:
    """Give a version its place, and whatever has that place another one."""
    with inside(top, *place) as folder:
        if folder is not None and folders.is_there(str(number), within=folder):
            set_aside(top, place, slug, number)
    with inside(top, LOST) as lost, made_place(top, place) as folder:
        os.rename(name, str(number), src_dir_fd=lost, dst_dir_fd=folder)


def _is_exact(top: int, place: Place, wanted: BundlePlace) -> bool:
    with inside(top, *place) as folder:
        if folder is None:
            return False
        try:
            bundle, _ = read_open_folder(folder, place[-1])
        except (Invalid, LimitExceeded):
            return False
        return bundle.digest == wanted.digest
