"""Where bundles are stored: the port of the stores, and reading versions without damage."""

import threading
from collections.abc import Mapping
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
    """What the rows say of a version: its place in the trash, or None, and its digest."""

    trash_name: str | None
    digest: str


# Of every slug, for each number that the rows know.
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
    """What bringing the bundles in line with the rows took."""

    moved: int = 0
    # Only what was never complete.
    removed: int = 0
    # Versions that no row knows, and such that one knows again.
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
    """Bundles by slug and number, never changed and never given the number of another.

    What a unit does here is taken back when it comes to nothing. A bundle is found wherever it lies,
    in its place or in the trash: the rows say which one counts and whether it may be read. Raises
    `Unavailable` where the store itself fails.
    """

    def stage(self, bundle: Bundle) -> None:
        """Write a large bundle down already, in a unit that only reads, so that those who write do
        not wait for it when it is put."""
        ...

    def unstage(self, bundle: Bundle) -> None:
        """Remove what was staged and not put."""
        ...

    def put(self, slug: str, number: int, bundle: Bundle) -> None:
        """Keep a bundle for good; `Conflict` when the number is in use."""
        ...

    def get(self, slug: str, number: int) -> Bundle | None:
        """The whole bundle; None when there is none. No link is followed."""
        ...

    def read(self, slug: str, number: int, path: str) -> bytes | None:
        """One of its files; None when there is none of that path, or it is a link."""
        ...

    def folder(self, slug: str, number: int, *, unpack: bool = True) -> Path | None:
        """Where its files can be opened on this machine; without `unpack` only if they lie there."""
        ...

    def numbers(self, slug: str) -> frozenset[int]:
        """Every number in use, also in the trash and by bundles that no row knows."""
        ...

    def trash(self, slug: str, *, at_ms: int) -> str:
        """Move all versions of a slug to the trash; answers the name they have there."""
        ...

    def restore(self, slug: str, trash_name: str) -> None:
        """Move versions back from the trash; `NotFound` when they are not there."""
        ...

    def settle(self, places: Places) -> Settled:
        """Have every version where the rows say. What they do not know of is set aside and not
        removed: it may be another database's, and its rows may come back."""
        ...


def next_number(unit: "Unit", slug: str) -> int:
    """The number of the next version; only while the slug is held."""
    in_use = unit.skill_bundles.numbers(slug)
    return max((unit.skills.last_number(slug), *in_use)) + 1


def require_bundle(unit: "Unit", slug: str, version: SkillVersion) -> Bundle:
    """The bundle of a version exactly as it was put, or `DamagedRecord`."""
    bundle = unit.skill_bundles.get(slug, version.number)
    if bundle is None or bundle.digest != version.digest:
        raise coded_error("skills/skill_bundle_damaged", number=version.number, slug=slug)
    return bundle


class BundleChecks:
    """Notes which damaged versions anybody met; one that is whole again is forgotten."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._damaged: dict[tuple[str, int], None] = {}

    def require(self, unit: "Unit", slug: str, version: SkillVersion) -> Bundle:
        """All files of a version, or `DamagedRecord` where one is not what it was."""
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
        """The slugs and numbers of those that were met."""
        with self._lock:
            return tuple(self._damaged)
