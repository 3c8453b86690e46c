"""The records of skills, their versions and their grants."""

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
SORTED_CHARS: Final = 200


def is_id(ref: str) -> bool:
    """Whether this is an id and not a slug; `Invalid` when it is neither."""
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
    ARCHIVED = "archived"  # a dependency is missing
    DELETED = "deleted"


class VersionState(StrEnum):
    """Whether a version is used."""

    SERVED = "served"
    DRAFT = "draft"  # not used until a person accepts it
    REJECTED = "rejected"


class SkillOrigin(StrEnum):
    """Where a skill came from."""

    SYSTEM = "system"
    MANAGED = "managed"
    PROMOTED = "promoted"
    LOCAL = "local"


# The origins of skills that have rows and versions; all others have neither.
KEPT: Final = frozenset({SkillOrigin.SYSTEM, SkillOrigin.MANAGED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A skill; `version` is the number of its current version."""

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
    # Set by people, independent of the status.
    enabled: bool = True
    tags: tuple[str, ...] = ()
    frontmatter: Mapping[str, str] = field(default_factory=dict)
    missing_deps: tuple[str, ...] = ()
    # Whether the current version works in the run itself or in a sidechain.
    context: SkillContext = SkillContext.INLINE
    # The name of its versions in the trash while it is deleted.
    trash_name: str | None = None
    # No version was accepted yet: nobody can use it, and only its owner and admins see it.
    is_draft: bool = False
    # The version in force for the owner alone, until a person accepts it for others.
    own_version: int | None = None
    # The version that an admin made public, accepted or wrote last.
    vetted_version: int | None = None
    # Optimistic lock: counts the changes of this record.
    revision: int = 1

    @property
    def is_system(self) -> bool:
        """Whether the skill is shipped with the product, which alone changes it."""
        return self.origin is SkillOrigin.SYSTEM

    @property
    def shown_version(self) -> int | str | None:
        """The version as answers show it: the number, or the version in the SKILL.md of a local or
        promoted skill."""
        return self.version if self.origin in KEPT else self.frontmatter.get("version") or None

    @property
    def when_to_use(self) -> str:
        """The `when-to-use` field of the manifest; empty without one."""
        written = (self.frontmatter.get(key) for key in ("when-to-use", "when_to_use"))
        return next(filter(None, written), "")


def number_of(skill: Skill) -> int | None:
    """The number of the current version; None for a skill without stored versions."""
    return skill.version if skill.origin in KEPT else None


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleSignature:
    """Who signed a bundle that was uploaded."""

    key_id: str
    # The name of the key here; for an unknown key, the name it gives itself.
    signer: str
    is_trusted: bool

    def __str__(self) -> str:
        kind = "" if self.is_trusted else "unknown "
        return f"signed by {self.signer} ({kind}{self.key_id})"


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
    # The name of its bundle in the trash; a skill that was created again does not list it.
    trash_name: str | None = None
    state: VersionState = VersionState.SERVED
    # Whether its text may repeat untrusted text; until a person accepts it.
    derived_from_untrusted: bool = False
    # The codes of the untrusted sources, kept after the acceptance.
    untrusted_path: tuple[str, ...] = ()
    decided_by: str | None = None
    decided_at_ms: int | None = None
    signature: BundleSignature | None = None
    # When its bundle was erased; nothing brings it back.
    erased_at_ms: int | None = None
    # Served to the owner alone, until a person accepts it for others.
    for_owner_only: bool = False
    # The agent whose users get the skill once the agent's owner or an admin accepts that.
    grant_to: str | None = None

    @property
    def is_accepted(self) -> bool:
        """Whether it may be used by everybody who may use the skill."""
        return self.state is VersionState.SERVED and not self.for_owner_only

    @property
    def waiting_for_others(self) -> bool:
        """Whether it is in force for the owner, while others or an agent wait for a decision."""
        return self.state is VersionState.SERVED and (
            self.for_owner_only or self.grant_to is not None
        )

    @property
    def is_open(self) -> bool:
        """Whether a person has something to decide about it."""
        return self.state is VersionState.DRAFT or self.waiting_for_others


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillDraft:
    """The newest draft of a skill, and the skill as it is served."""

    skill: Skill
    version: SkillVersion
    # The agent whose run made it.
    agent_id: str | None = None
    session_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrashedSkill:
    """A deleted skill as it was, and the name of its versions in the trash."""

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
    """A skill with its grants to one agent and one user."""

    skill: Skill
    agent_grant: AgentGrant | None = None
    user_grant: UserGrant | None = None
    # The digest of the pinned version; None without a pin, or when there is no such version.
    pinned_digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantCounts:
    """How many grants a skill has."""

    agents: int
    users: int

    @property
    def any(self) -> bool:
        """Whether there is any grant."""
        return self.agents + self.users > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFilter:
    """A filter of lists: all fields that are set must match; deleted skills only by status."""

    # Only skills that are visible to this user; None for an admin.
    seen_by: str | None = None
    origin: SkillOrigin | None = None
    visibility: Visibility | None = None
    status: SkillStatus | None = None
    owner_id: str | None = None
    enabled: bool | None = None
    # A part of the slug, the name, the description or a tag, in any case.
    query: str | None = None


EVERYTHING = SkillFilter()


@lru_cache(maxsize=8_192)
def sort_name(name: str) -> str:
    """The sort key of a name: case-folded, printable and of limited length."""
    whole = name.encode(errors="replace").decode()
    folded = unicodedata.normalize("NFC", whole).casefold()
    return "".join(filter(str.isprintable, folded))[:SORTED_CHARS]


def list_key(skill: Skill) -> tuple[str, str]:
    """The sort key of a skill in lists and cursors; the store sorts by the same columns."""
    return (sort_name(skill.name), skill.slug)
