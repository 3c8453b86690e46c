"""What people are shown of a skill beside its record."""

from dataclasses import dataclass, field

from understudy.skills.access import Access
from understudy.skills.bundles.manifest import Manifest
from understudy.skills.model import AgentGrant, Skill, UserGrant
from understudy.skills.runtime_settings import RuntimeSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """A skill with what its current version says."""

    skill: Skill
    manifest: Manifest
    instructions: str = field(repr=False)
    runtime: RuntimeSettings
    # Where its files lie on the daemon's machine; only for an admin.
    path: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Whether an agent that works for a user may use a skill, why, and in which version."""

    access: Access
    # None where the answer is no, and for a skill that has no versions.
    version: int | None
    skill: Skill


@dataclass(frozen=True, slots=True, kw_only=True)
class Grants:
    """To whom a skill is granted."""

    agents: tuple[AgentGrant, ...]
    users: tuple[UserGrant, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSkill:
    """A skill, and what an agent has of it when it works for the caller."""

    skill: Skill
    granted: bool
    pinned_version: int | None
    allowed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """A version as an archive."""

    file_name: str
    content: bytes = field(repr=False)
