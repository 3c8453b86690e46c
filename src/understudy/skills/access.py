"""Access to skills: who may use one, change it, or see that it exists."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

from understudy.core.errors import UnderstudyError, coded_error
from understudy.core.principal import Principal, Role
from understudy.core.records import OMIT
from understudy.skills.model import (
    KEPT,
    LOCAL,
    PROMOTED,
    GrantedSkill,
    Skill,
    SkillStatus,
    Visibility,
    is_id,
)
from understudy.skills.slug import SLUG_RESERVED, slug_error

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

_MayDo = Callable[[Skill, Principal], bool]


class AccessReason(StrEnum):
    """The rule that decided whether a skill may be used."""

    INACTIVE = "inactive"
    DISABLED = "disabled"
    DRAFT = "draft"
    SYSTEM = "system"
    PUBLIC = "public"
    OWNER = "owner"
    AGENT_GRANT = "agent_grant"
    USER_GRANT = "user_grant"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Whether a skill may be used, and the rule that decided it."""

    allowed: bool
    reason: AccessReason


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessQuery:
    """A skill, the user who wants to use it, and the grants to the agent and the user."""

    skill: Skill
    # Empty where no user is known; then nobody is the owner.
    user_id: str
    agent_granted: bool
    user_granted: bool

    @property
    def has_own(self) -> bool:
        """Whether the user has a version of their own skill that nobody else has."""
        return self.skill.own_version is not None and self.skill.owner_id == self.user_id

    @property
    def is_internal(self) -> bool:
        """Whether grants count; those of a private skill are remnants of an unfinished change."""
        return self.skill.visibility is Visibility.INTERNAL


# In order: the first match decides; without one, access is denied.
RULES: Final[tuple[tuple[AccessReason, bool, Callable[[AccessQuery], bool]], ...]] = (
    (AccessReason.INACTIVE, False, lambda it: it.skill.status is not SkillStatus.ACTIVE),
    (AccessReason.DISABLED, False, lambda it: not it.skill.enabled),
    (AccessReason.DRAFT, False, lambda it: it.skill.is_draft and not it.has_own),
    (AccessReason.SYSTEM, True, lambda it: it.skill.is_system),
    (AccessReason.PUBLIC, True, lambda it: it.skill.visibility is Visibility.PUBLIC),
    (AccessReason.OWNER, True, lambda it: it.user_id != "" and it.skill.owner_id == it.user_id),
    (AccessReason.AGENT_GRANT, True, lambda it: it.is_internal and it.agent_granted),
    (AccessReason.USER_GRANT, True, lambda it: it.is_internal and it.user_granted),
)


def access(skill: Skill, *, agent_granted: bool, user_granted: bool, user_id: str) -> Access:
    """Whether a user and the agent that works for them may use a skill, and why."""
    asked = AccessQuery(
        skill=skill, user_id=user_id, agent_granted=agent_granted, user_granted=user_granted
    )
    for reason, allowed, applies in RULES:
        if applies(asked):
            return Access(allowed=allowed, reason=reason)
    return Access(allowed=False, reason=AccessReason.NONE)


def access_of(granted: GrantedSkill, user_id: str) -> Access:
    """`access` for a skill that was read together with the grants to the agent and the user."""
    return access(
        granted.skill,
        agent_granted=granted.agent_grant is not None,
        user_granted=granted.user_grant is not None,
        user_id=user_id,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who changes a skill; agent and run are set only when a run does."""

    principal: Principal
    agent_id: str | None = None
    run_id: str | None = None
    # The codes of the untrusted sources that the run has read.
    untrusted: tuple[str, ...] = ()
    # Whether the user of the run asked for the change in their own words.
    has_asked: bool = False
    # Whether the change only falls back to a version that was served before; needs no second
    # person.
    falls_back: bool = False

    @property
    def user_id(self) -> str:
        """The owner of the skills that this author creates."""
        return self.principal.user_id

    @property
    def is_asked(self) -> bool:
        """Whether a person wants the change: their own call, or their word in the run."""
        return self.has_asked or (self.run_id is None and not self.untrusted)

    @property
    def is_admin(self) -> bool:
        """Whether the author may also change the skills of others."""
        return self.principal.role.includes(Role.ADMIN)


def find(unit: "Unit", ref: str) -> Skill | None:
    """The skill with this id or slug; None when there is none or it is deleted."""
    skill = unit.skills.get(ref) if is_id(ref) else unit.skills.by_slug(ref)
    return skill if skill is not None and is_live(skill) else None


def is_live(skill: Skill) -> bool:
    """Whether a skill is not deleted."""
    return skill.status is not SkillStatus.DELETED


def owns_or_administers(skill: Skill, principal: Principal) -> bool:
    """Whether a caller owns a skill or is an admin."""
    is_theirs = not skill.is_system and skill.owner_id == principal.user_id != ""
    return is_theirs or principal.role.includes(Role.ADMIN)


def decides(unit: "Unit", skill: Skill, principal: Principal) -> bool:
    """Whether a caller sees and decides versions that wait: the owner, an admin, and the owner of an
    agent that is to get the skill; never a connected agent."""
    if principal.role is Role.CLIENT:
        return False
    return owns_or_administers(skill, principal) or any(
        owns_agent(unit, agent_id, principal)
        for agent_id in unit.skills.grants_wanted(skill.skill_id)
    )


def owns_agent(unit: "Unit", agent_id: str, principal: Principal) -> bool:
    """Whether a caller owns an agent."""
    agent = unit.agents.get(agent_id)
    return agent is not None and agent.owner_id == principal.user_id != ""


def knows(unit: "Unit", skill: Skill, principal: Principal, *, agent_id: str | None = None) -> bool:
    """Whether a skill is visible to a caller; with `agent_id`, to a run of that agent."""
    if owns_or_administers(skill, principal):
        return not (skill.is_draft and principal.role is Role.CLIENT)
    if not skill.is_draft and (skill.is_system or skill.visibility is Visibility.PUBLIC):
        return True
    granted = unit.skills.with_grants(
        skill.skill_id, agent_id=agent_id or "", user_id=principal.user_id
    )
    has_grant = granted is not None and (
        granted.agent_grant is not None or granted.user_grant is not None
    )
    return (has_grant and not skill.is_draft) or decides(unit, skill, principal)


def known_id(unit: "Unit", author: Author, ref: str) -> str:
    """The id of the skill that a caller named, if it is visible to them; else the name as given."""
    if ref.startswith((LOCAL, PROMOTED)):
        return ref
    try:
        skill = find(unit, ref)
        if skill is None or not knows(unit, skill, author.principal, agent_id=author.agent_id):
            return ref
    except UnderstudyError:
        return ref
    return skill.skill_id


def check_author(author: Author) -> None:
    """Reject an author who is no operator or has no user id."""
    author.principal.require(Role.OPERATOR)
    if not author.user_id.strip():
        raise coded_error("skills/skill_user_missing")


def require_known(unit: "Unit", author: Author, ref: str, *, lock: bool = False) -> Skill:
    """The skill that an author names, if it is visible to them; `lock` locks its slug.

    A caller with an id was given it, so they may be told that it is not theirs. By slug they are
    told so of a skill that others were granted; another user's private one is `NotFound`.
    """
    check_author(author)
    if ref.startswith(LOCAL):
        raise coded_error("skills/skill_is_local", ref=ref)
    if ref.startswith(PROMOTED):
        raise coded_error("skills/skill_is_promoted", ref=ref)
    skill = find(unit, ref)
    if skill is not None and lock:
        unit.skills.lock(skill.slug)
        skill = find(unit, ref)
    if skill is None:
        raise coded_error("skills/skill_not_found", ref=ref)
    is_hidden = (skill.is_draft or skill.visibility is Visibility.PRIVATE) and not is_id(ref)
    if is_hidden and not knows(unit, skill, author.principal, agent_id=author.agent_id):
        raise coded_error("skills/skill_not_found", ref=ref)
    return skill


def require_mutable(unit: "Unit", author: Author, ref: str, *, lock: bool = False) -> Skill:
    """The skill that an author may change: their own, for an admin any but a system skill."""
    skill = require_known(unit, author, ref, lock=lock)
    if skill.is_system:
        raise coded_error("skills/skill_is_system", slug=skill.slug)
    if not owns_or_administers(skill, author.principal):
        raise coded_error("skills/skill_not_yours", ref=ref)
    return skill


def require_decidable(unit: "Unit", author: Author, ref: str, *, lock: bool = False) -> Skill:
    """The skill about whose waiting versions an author decides."""
    skill = require_known(unit, author, ref, lock=lock)
    if skill.is_system or not decides(unit, skill, author.principal):
        return require_mutable(unit, author, ref)
    return skill


def require_switchable(unit: "Unit", author: Author, ref: str, *, lock: bool = False) -> Skill:
    """The skill that an author may enable or disable: their own, for an admin any."""
    skill = require_known(unit, author, ref, lock=lock)
    if skill.is_system and not author.is_admin:
        raise coded_error("skills/skill_is_system", slug=skill.slug)
    if not owns_or_administers(skill, author.principal):
        raise coded_error("skills/skill_not_yours", ref=ref)
    return skill


def require_free(unit: "Unit", skill: Skill | None, author: Author, slug: str) -> None:
    """Reject a new skill whose slug is in use; a deleted skill uses no slug.

    The slug of a skill that is not visible to the author is refused like a reserved word, so that
    the answer does not reveal the skill.
    """
    if skill is None or not is_live(skill):
        return
    if skill.is_system:
        raise coded_error("skills/skill_slug_is_system", slug=slug)
    if skill.owner_id == author.user_id:
        return
    if is_concealed(unit, skill, author):
        raise slug_error(slug, SLUG_RESERVED)
    raise coded_error("skills/skill_slug_taken", slug=slug)


def is_concealed(unit: "Unit", skill: Skill | None, author: Author) -> bool:
    """Whether a skill exists that is not visible to the author."""
    if skill is None or not is_live(skill):
        return False
    return not knows(unit, skill, author.principal, agent_id=author.agent_id)


def _may_change(skill: Skill, principal: Principal) -> bool:
    return not skill.is_system and owns_or_administers(skill, principal)


def _may_switch(skill: Skill, principal: Principal) -> bool:
    return owns_or_administers(skill, principal)


def _may_publish(skill: Skill, principal: Principal) -> bool:
    return not skill.is_system and principal.role.includes(Role.ADMIN)


# The actions that an answer lists, in the order of the buttons.
ACTIONS: Final[Mapping[str, _MayDo]] = {
    "update": _may_change,
    "patch": _may_change,
    "restore": _may_change,
    "enable": lambda skill, principal: not skill.enabled and _may_switch(skill, principal),
    "disable": lambda skill, principal: skill.enabled and _may_switch(skill, principal),
    "grant": _may_change,
    "revoke": _may_change,
    "publish": lambda skill, who: (
        skill.visibility is not Visibility.PUBLIC and _may_publish(skill, who)
    ),
    "unpublish": lambda skill, who: (
        skill.visibility is Visibility.PUBLIC and _may_publish(skill, who)
    ),
    "delete": _may_change,
}


def actions_of(skill: Skill, principal: Principal) -> tuple[str, ...]:
    """The actions that a caller may take on a skill."""
    is_kept = skill.origin in KEPT and is_live(skill)
    if not is_kept or not principal.role.includes(Role.OPERATOR):
        return ()
    return tuple(action for action, may in ACTIONS.items() if may(skill, principal))


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillAccess:
    """Whether an agent that works for a user may use a skill, why, and in which version."""

    skill_id: str
    slug: str
    allowed: bool
    reason: AccessReason
    # None if access is denied, and for a skill without versions.
    version: Annotated[int | None, OMIT] = None
    # The agent and the user of the query.
    agent_id: Annotated[str | None, OMIT] = None
    user_id: Annotated[str | None, OMIT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSkill:
    """A skill, and the grant and access that an agent has to it when it works for the caller."""

    skill: Skill
    granted: bool
    pinned_version: int | None
    allowed: bool
    reason: AccessReason
