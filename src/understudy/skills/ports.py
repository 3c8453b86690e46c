"""What skills need from outside: rows, grants, bundles, and the units that hold them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from understudy.core.errors import Conflict, DamagedRecord, NotFound
from understudy.core.page import Page, PageRequest
from understudy.sessions.ports import SessionUnit, Units
from understudy.skills.bundle import Bundle
from understudy.skills.filters import SkillFilter
from understudy.skills.model import (
    AgentGrant,
    Offer,
    Skill,
    SkillVersion,
    TrashedSkill,
    UserGrant,
)

# Of every slug, for each number that the rows know: the place in the trash, or None.
Places = Mapping[str, Mapping[int, str | None]]


class SkillStore(Protocol):
    """Skills, their versions, and what deletions left. A slug has one row, deleted or not."""

    def hold(self, slug: str) -> None:
        """Let nobody else, in any process or daemon, change the skill of this slug until the unit
        ends. What was read before may have changed by then."""
        ...

    def get(self, skill_id: str) -> Skill | None: ...

    def by_slug(self, slug: str) -> Skill | None: ...

    def add(self, skill: Skill) -> bool:
        """Keep a new skill; False when the slug is taken."""
        ...

    def update(self, skill: Skill, *, expected_revision: int) -> None:
        """Replace a skill; raises `StaleVersion` when it changed meanwhile."""
        ...

    def page(self, request: PageRequest, *, narrowed: SkillFilter) -> Page[Skill]:
        """Skills by name."""
        ...

    def offers(self, *, agent_id: str, user_id: str) -> tuple[Offer, ...]:
        """Every skill that may be open to them, by name, with what `access` needs to decide."""
        ...

    def offer(self, skill_id: str, *, agent_id: str, user_id: str) -> Offer | None:
        """The same for one skill, whatever its state."""
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
class GrantCounts:
    """How many grants a skill has."""

    agents: int
    users: int

    @property
    def any(self) -> bool:
        """Whether there is one at all."""
        return self.agents + self.users > 0


class GrantStore(Protocol):
    """Who may use which skill. Changes are made while the slug is held."""

    def give_agent(self, grant: AgentGrant) -> bool:
        """Grant to an agent; one that has a grant gets the new pin. Tells whether it is new."""
        ...

    def give_user(self, grant: UserGrant) -> bool:
        """Grant to a user; tells whether it is new."""
        ...

    def take_agent(self, skill_id: str, agent_id: str) -> bool:
        """Revoke the grant of an agent; tells whether there was one."""
        ...

    def take_user(self, skill_id: str, user_id: str) -> bool:
        """Revoke the grant of a user; tells whether there was one."""
        ...

    def take_all(self, skill_id: str) -> GrantCounts:
        """Revoke everything; tells how many there were."""
        ...

    def counts(self, skill_id: str) -> GrantCounts: ...

    def to_agents(self, skill_id: str) -> tuple[AgentGrant, ...]:
        """By agent."""
        ...

    def to_users(self, skill_id: str) -> tuple[UserGrant, ...]:
        """By user."""
        ...

    def of_agent(self, agent_id: str) -> Mapping[str, AgentGrant]:
        """What an agent was granted, by skill."""
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
    removed: int = 0

    def __add__(self, other: "Settled") -> "Settled":
        return Settled(moved=self.moved + other.moved, removed=self.removed + other.removed)


class BundleStore(Protocol):
    """Bundles by slug and number, never changed and never given the number of another.

    What a unit does here is taken back when it comes to nothing. A bundle is found wherever it lies,
    in its place or in the trash: the rows say which one counts and whether it may be read. Raises
    `Unavailable` where the store itself fails.
    """

    def put(self, slug: str, number: int, bundle: Bundle) -> None:
        """Keep a bundle for good; `Conflict` when the number is in use."""
        ...

    def get(self, slug: str, number: int) -> Bundle | None:
        """The whole bundle; None when there is none. No link is followed."""
        ...

    def files(self, slug: str, number: int) -> tuple[BundleFile, ...] | None:
        """Its files by path; None when there is no such bundle."""
        ...

    def read(self, slug: str, number: int, path: str) -> bytes | None:
        """One of its files; None when there is none of that path, or it is a link."""
        ...

    def folder(self, slug: str, number: int) -> Path | None:
        """Where its files can be opened on this machine."""
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
        """Have every version where the rows say, and nothing that they do not know of."""
        ...


class SkillUnit(SessionUnit, Protocol):
    """One transaction over everything skills touch."""

    @property
    def skills(self) -> SkillStore: ...

    @property
    def skill_grants(self) -> GrantStore: ...

    @property
    def skill_bundles(self) -> BundleStore: ...

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
        raise DamagedRecord(
            "skill_bundle_damaged",
            domain="skills",
            detail=f"version {version.number} of skill {slug!r} is not as it was kept",
        )
    return bundle


def number_taken(slug: str, number: int) -> Conflict:
    """The error for a number that a version has, or had."""
    return Conflict(
        "skill_version_taken",
        domain="skills",
        detail=f"there is a version {number} of skill {slug!r} already",
    )


def trash_missing(trash_name: str) -> NotFound:
    """The error for what is not in the trash."""
    return NotFound(
        "skill_trash_not_found", domain="skills", detail=f"nothing in the trash is {trash_name!r}"
    )
