"""What skills need from outside: rows, grants, bundles, and the units that hold them."""

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from understudy.core.page import Page, PageRequest
from understudy.sessions.ports import SessionUnit, Units
from understudy.skills import caller_errors
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.filters import SkillFilter
from understudy.skills.grant_ports import GrantStore
from understudy.skills.model import (
    GrantedSkill,
    Skill,
    SkillStatus,
    SkillVersion,
    TrashedSkill,
)
from understudy.skills.uses import UseStore


class BundlePlace(NamedTuple):
    """What the rows say of a version: its place in the trash, or None, and its digest."""

    trash_name: str | None
    digest: str


# Of every slug, for each number that the rows know.
Places = Mapping[str, Mapping[int, BundlePlace]]


class SkillStore(Protocol):
    """Skills, their versions, and what deletions left. A slug has one row, deleted or not."""

    def hold(self, slug: str) -> None:
        """Let nobody else, in any process or daemon, change the skill of this slug until the unit
        ends. What was read before may have changed by then."""
        ...

    def hold_name(self, name: str) -> None:
        """Let nobody else give a skill this name until the unit ends; slugs are held before."""
        ...

    def hold_all(self) -> None:
        """The same for every slug at once; only by a unit that holds none."""
        ...

    def salvage(self, slug: str) -> Skill | None:
        """Have a row that cannot be read be readable, with what of it can be; only while held."""
        ...

    def get(self, skill_id: str) -> Skill | None: ...

    def by_slug(self, slug: str) -> Skill | None: ...

    def slugs_among(self, slugs: Collection[str]) -> Collection[str]:
        """Those of some slugs that a skill has, deleted or not; quick, however many they are."""
        ...

    def add(self, skill: Skill) -> bool:
        """Keep a new skill; False when the slug is taken."""
        ...

    def update(self, skill: Skill, *, expected_revision: int) -> None:
        """Replace a skill; raises `StaleVersion` when it changed meanwhile."""
        ...

    def page(self, request: PageRequest, *, narrowed: SkillFilter) -> Page[Skill]:
        """Skills by name."""
        ...

    def counts(self) -> Mapping[SkillStatus, int]:
        """How many skills there are, by status."""
        ...

    def maybe_open(self, *, agent_id: str, user_id: str) -> tuple[GrantedSkill, ...]:
        """Every skill that may be open to them, by name, with what `access` needs to decide.

        Raises `Unavailable` when the grants cannot be read; the unit can still be used then.
        """
        ...

    def maybe_open_stamp(self, *, agent_id: str, user_id: str) -> Hashable:
        """Equal as long as `maybe_open` would answer the same, and much quicker; raises as it does."""
        ...

    def open_to_everybody(self) -> tuple[GrantedSkill, ...]:
        """Every skill that is open to everybody, by name; grants are not looked at."""
        ...

    def with_grants(self, skill_id: str, *, agent_id: str, user_id: str) -> GrantedSkill | None:
        """One skill with what was granted of it, whatever its state."""
        ...

    def add_version(self, version: SkillVersion) -> None: ...

    def version(self, skill_id: str, number: int) -> SkillVersion | None:
        """One version, also of a skill that is deleted; None when it lies in the trash of an
        earlier life of the skill."""
        ...

    def versions(self, skill_id: str, request: PageRequest) -> Page[SkillVersion]:
        """The versions of the skill as it lives now, newest first."""
        ...

    def last_number(self, slug: str) -> int:
        """The highest number that any version of this slug ever had; 0 when there was none."""
        ...

    def places(self) -> Places:
        """Where each version belongs, of all skills."""
        ...

    def trash(self, trashed: TrashedSkill) -> None:
        """Note what a deletion left; the versions that were not in the trash are now."""
        ...

    def untrash(self, trash_name: str) -> TrashedSkill | None:
        """Take back what a deletion left, and have its versions be those of the skill again."""
        ...

    def trashed(self, trash_name: str) -> TrashedSkill | None: ...

    def trash_page(
        self, request: PageRequest, *, owner_id: str | None = None
    ) -> Page[TrashedSkill]:
        """What deletions left of everybody's skills or of one owner's, newest first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleFile:
    """A file of a bundle."""

    path: str
    size: int


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


class SkillUnit(SessionUnit, Protocol):
    """One transaction over everything skills touch."""

    @property
    def skills(self) -> SkillStore: ...

    @property
    def skill_grants(self) -> GrantStore: ...

    @property
    def skill_bundles(self) -> BundleStore: ...

    @property
    def skill_uses(self) -> UseStore: ...

    def afterwards(self, act: Callable[[], None]) -> None:
        """Have something done once this unit has committed, and not if it does not."""
        ...

    def otherwise(self, act: Callable[[BaseException], None]) -> None:
        """Have something done if this unit comes to nothing, once it is over; it is given why."""
        ...


SkillUnits = Units[SkillUnit]


def next_number(unit: SkillUnit, slug: str) -> int:
    """The number of the next version; only while the slug is held."""
    in_use = unit.skill_bundles.numbers(slug)
    return max((unit.skills.last_number(slug), *in_use)) + 1


def require_bundle(unit: SkillUnit, slug: str, version: SkillVersion) -> Bundle:
    """The bundle of a version exactly as it was put, or `DamagedRecord`."""
    bundle = unit.skill_bundles.get(slug, version.number)
    if bundle is None or bundle.digest != version.digest:
        raise caller_errors.damaged(slug, version.number)
    return bundle
