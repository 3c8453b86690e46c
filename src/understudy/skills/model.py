"""The records of a skill: what it is, each of its versions, and who may use it."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Final

from understudy.core.errors import coded_error
from understudy.skills.runtime_settings import SkillContext
from understudy.skills.slug import slug_refused

LOCAL: Final = "local:"
PROMOTED: Final = "promoted:"
ID_PREFIX: Final = "skl_"
_ID: Final = re.compile(rf"{ID_PREFIX}[A-Za-z0-9_-]{{1,100}}")


def is_id(ref: str) -> bool:
    """Whether this is an id, which unlike a slug cannot be guessed; `Invalid` when it is neither."""
    if _ID.fullmatch(ref):
        return True
    if slug_refused(ref) is not None and not ref.startswith((LOCAL, PROMOTED)):
        raise coded_error("skills/invalid_skill_ref", ref=ref)
    return False


class Visibility(StrEnum):
    """Who may use a skill."""

    PRIVATE = "private"  # its owner
    INTERNAL = "internal"  # whoever it is granted to
    PUBLIC = "public"  # everybody


class SkillStatus(StrEnum):
    """Whether a skill can be used."""

    ACTIVE = "active"
    ARCHIVED = "archived"  # something that it needs is missing
    DELETED = "deleted"


class SkillOrigin(StrEnum):
    """Where a skill came from."""

    SYSTEM = "system"
    MANAGED = "managed"
    PROMOTED = "promoted"
    LOCAL = "local"


# Those that have rows and versions of their own; all others only look like them.
KEPT: Final = frozenset({SkillOrigin.SYSTEM, SkillOrigin.MANAGED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A skill as it stands; `version` names the bundle that is current."""

    skill_id: str
    slug: str
    name: str
    description: str
    origin: SkillOrigin
    owner_id: str
    version: int
    digest: str
    size: int
    created_at_ms: int
    updated_at_ms: int
    visibility: Visibility = Visibility.PRIVATE
    status: SkillStatus = SkillStatus.ACTIVE
    # A switch of its own, whatever the status.
    enabled: bool = True
    tags: tuple[str, ...] = ()
    frontmatter: Mapping[str, str] = field(default_factory=dict)
    missing_deps: tuple[str, ...] = ()
    # Whether its current version works in the run itself or in a child of it.
    context: SkillContext = SkillContext.INLINE
    # Where its versions lie while it is deleted.
    trash_name: str | None = None
    # Counts the changes of this record.
    revision: int = 1

    @property
    def is_system(self) -> bool:
        """Whether it came with the product, and only the product changes it."""
        return self.origin is SkillOrigin.SYSTEM

    @property
    def told_version(self) -> int | str | None:
        """The version as callers are told it: of a skill without stored versions, what its SKILL.md
        says."""
        return self.version if self.origin in KEPT else self.frontmatter.get("version") or None

    @property
    def when_to_use(self) -> str:
        """What its manifest says about that; empty when nothing."""
        written = (self.frontmatter.get(key) for key in ("when-to-use", "when_to_use"))
        return next(filter(None, written), "")


def number_of(skill: Skill) -> int | None:
    """The version that counts; None for a skill that has none that are kept."""
    return skill.version if skill.origin in KEPT else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillVersion:
    """One immutable bundle of a skill."""

    skill_id: str
    number: int
    digest: str
    size: int
    actor: str
    created_at_ms: int
    run_id: str | None = None
    restored_from: int | None = None
    # Where its bundle lies since the skill was deleted; one that was made anew does not show it.
    trash_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrashedSkill:
    """What a deletion left: the skill as it stood, and where its versions lie."""

    trash_name: str
    skill: Skill
    deleted_by: str
    deleted_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentGrant:
    """An agent that may use a skill, perhaps only in one version."""

    skill_id: str
    agent_id: str
    granted_by: str
    created_at_ms: int
    pinned_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserGrant:
    """A user who may use a skill."""

    skill_id: str
    user_id: str
    granted_by: str
    created_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantedSkill:
    """A skill with what was granted of it to one agent and one user."""

    skill: Skill
    agent_grant: AgentGrant | None = None
    user_grant: UserGrant | None = None
    # Of the version that the agent is pinned to; None when there is no pin, or no such version.
    pinned_digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantCounts:
    """How many grants a skill has."""

    agents: int
    users: int

    @property
    def any(self) -> bool:
        """Whether there is one at all."""
        return self.agents + self.users > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFilter:
    """Every field narrows further; deleted skills are in no list unless their status is asked for."""

    # Only what this user may know of; None is for somebody who may know of all.
    seen_by: str | None = None
    origin: SkillOrigin | None = None
    visibility: Visibility | None = None
    status: SkillStatus | None = None
    owner_id: str | None = None
    enabled: bool | None = None
    # A part of the slug, the name, the description or a tag, in any case.
    query: str | None = None


EVERYTHING = SkillFilter()


SORTED_CHARS: Final = 200


@lru_cache(maxsize=8_192)
def sort_name(name: str) -> str:
    """A name as lists are sorted by it: in one case, short enough, and fit for a cursor."""
    whole = name.encode(errors="replace").decode()
    folded = unicodedata.normalize("NFC", whole).casefold()
    return "".join(filter(str.isprintable, folded))[:SORTED_CHARS]


def list_key(skill: Skill) -> tuple[str, str]:
    """By what lists are sorted, and where their pages begin; the store sorts by the same."""
    return (sort_name(skill.name), skill.slug)
