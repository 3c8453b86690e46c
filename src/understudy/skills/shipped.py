"""The skills that come with the product, as they lie in the package."""

from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from understudy.skills.bundles.bundle import Bundle

FOLDER: Final = "system"
# Folders that begin so are shared by skills, and are none.
NOT_SKILLS: Final = ("_", ".")


def shipped_skills() -> Mapping[str, Bundle]:
    """Every shipped bundle by its slug, which is the name of its folder."""
    folders = sorted(
        files("understudy.skills").joinpath(FOLDER).iterdir(), key=lambda one: one.name
    )
    return {
        folder.name: Bundle(dict(_files(folder)))
        for folder in folders
        if folder.is_dir() and not folder.name.startswith(NOT_SKILLS)
    }


def _files(folder: Traversable, below: str = "") -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        path = f"{below}{entry.name}"
        if entry.is_dir():
            yield from _files(entry, f"{path}/")
        else:
            yield path, entry.read_bytes()
