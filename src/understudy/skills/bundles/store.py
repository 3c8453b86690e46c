"""Where bundles are stored: the port of the stores, and reading versions without damage."""

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from pydantic import computed_field

from understudy.core.errors import DamagedRecord, coded_error
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.model import SkillVersion

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# More damaged versions than this are not listed.
_MAX_DAMAGED: Final = 100


class BundlePlace(NamedTuple):
    """The place of a version by its row: its trash name, or None, and its digest."""

    trash_name: str | None
    digest: str


# The places of all versions, by slug and number.
Places = Mapping[str, Mapping[int, BundlePlace]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleFile:
    """A file of a bundle; a bundle lists no folders."""

    path: str
    size: int
    is_dir: bool = False

    @computed_field
    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """How many versions `settle` moved, removed, set aside and brought back."""

    moved: int = 0
    # Only incomplete bundles.
    removed: int = 0
    # Versions without a row, and versions whose row came back.
    set_aside: int = 0
    brought_back: int = 0

    def __add__(self, other: "Settled") -> "Settled":
        return Settled(
            moved=self.moved + other.moved,
            removed=self.removed + other.removed,
            set_aside=self.set_aside + other.set_aside,
            brought_back=self.brought_back + other.brought_back,
        )


class BundleStore(Protocol):
    """Immutable bundles by slug and number; a number is never used again.

    The changes of a unit are undone when it rolls back. A bundle is found in its place or in the
    trash: the rows say which version is current and who may read it. Raises `Unavailable` when the
    store fails.
    """

    def stage(self, bundle: Bundle) -> None:
        """Write a large bundle before the write transaction, so that other writers do not wait for
        it."""
        ...

    def unstage(self, bundle: Bundle) -> None:
        """Remove a staged bundle that was not stored."""
        ...

    def put(self, slug: str, number: int, bundle: Bundle) -> None:
        """Store a bundle; `Conflict` when the number is in use."""
        ...

    def get(self, slug: str, number: int) -> Bundle | None:
        """The bundle of a version; None without one. Symbolic links are not followed."""
        ...

    def read(self, slug: str, number: int, path: str) -> bytes | None:
        """A file of a version; None when there is none, or it is a symbolic link."""
        ...

    def folder(self, slug: str, number: int, *, unpack: bool = True) -> Path | None:
        """The folder of a version on this machine; without `unpack` only if it exists already."""
        ...

    def numbers(self, slug: str) -> frozenset[int]:
        """All numbers in use, also in the trash and by bundles without a row."""
        ...

    def trash(self, slug: str, *, at_ms: int) -> str:
        """Move all versions of a slug to the trash; returns their trash name."""
        ...

    def restore(self, slug: str, trash_name: str) -> None:
        """Move versions back from the trash; `NotFound` when they are not there."""
        ...

    def erase(self, slug: str, numbers: Collection[int]) -> None:
        """Remove the files of versions wherever they are; not undone by a rollback."""
        ...

    def settle(self, places: Places) -> Settled:
        """Move every version to the place that its row names. Versions without a row are set aside
        and not removed: the row may be in another database or come back."""
        ...


def next_number(unit: "Unit", slug: str) -> int:
    """The number of the next version; only while the slug is locked."""
    in_use = unit.skill_bundles.numbers(slug)
    return max((unit.skills.last_number(slug), *in_use)) + 1


def require_bundle(unit: "Unit", slug: str, version: SkillVersion) -> Bundle:
    """The bundle of a version exactly as it was stored, or `DamagedRecord`; `NotFound` once it is
    erased."""
    if version.erased_at_ms is not None:
        raise coded_error("skills/skill_version_erased", number=version.number, slug=slug)
    bundle = unit.skill_bundles.get(slug, version.number)
    if bundle is None or bundle.digest != version.digest:
        raise coded_error("skills/skill_bundle_damaged", number=version.number, slug=slug)
    return bundle


class BundleChecks:
    """Reads bundles and records which versions are damaged, until they are whole again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._damaged: dict[tuple[str, int], None] = {}

    def require(self, unit: "Unit", slug: str, version: SkillVersion) -> Bundle:
        """The bundle of a version, or `DamagedRecord`."""
        met = (slug, version.number)
        try:
            bundle = require_bundle(unit, slug, version)
        except DamagedRecord:
            with self._lock:
                if len(self._damaged) < _MAX_DAMAGED:
                    self._damaged[met] = None
            raise
        with self._lock:
            self._damaged.pop(met, None)
        return bundle

    def damaged(self) -> tuple[tuple[str, int], ...]:
        """The slugs and numbers of the damaged versions."""
        with self._lock:
            return tuple(self._damaged)
