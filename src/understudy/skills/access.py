"""Whether an agent that works for a user may use a skill, and why."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from understudy.skills.model import GrantedSkill, Skill, SkillStatus, Visibility


class AccessReason(StrEnum):
    """What decided."""

    INACTIVE = "inactive"
    DISABLED = "disabled"
    SYSTEM = "system"
    PUBLIC = "public"
    OWNER = "owner"
    AGENT_GRANT = "agent_grant"
    USER_GRANT = "user_grant"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The decision."""

    allowed: bool
    reason: AccessReason


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessQuery:
    """What is asked: which skill, for whom, and what was granted to them."""

    skill: Skill
    # Empty where no user is known; nobody owns anything then.
    user_id: str
    agent_granted: bool
    user_granted: bool

    @property
    def is_internal(self) -> bool:
        """Whether grants count; those of a private skill are remains of an unfinished change."""
        return self.skill.visibility is Visibility.INTERNAL


# In this order: the first that applies decides, and where none does the answer is no.
RULES: Final[tuple[tuple[AccessReason, bool, Callable[[AccessQuery], bool]], ...]] = (
    (AccessReason.INACTIVE, False, lambda it: it.skill.status is not SkillStatus.ACTIVE),
    (AccessReason.DISABLED, False, lambda it: not it.skill.enabled),
    (AccessReason.SYSTEM, True, lambda it: it.skill.is_system),
    (AccessReason.PUBLIC, True, lambda it: it.skill.visibility is Visibility.PUBLIC),
    (AccessReason.OWNER, True, lambda it: it.user_id != "" and it.skill.owner_id == it.user_id),
    (AccessReason.AGENT_GRANT, True, lambda it: it.is_internal and it.agent_granted),
    (AccessReason.USER_GRANT, True, lambda it: it.is_internal and it.user_granted),
)


def access(skill: Skill, *, agent_granted: bool, user_granted: bool, user_id: str) -> Access:
    """Whether they may use it, and what decided."""
    asked = AccessQuery(
        skill=skill, user_id=user_id, agent_granted=agent_granted, user_granted=user_granted
    )
    for reason, allowed, applies in RULES:
        if applies(asked):
            return Access(allowed=allowed, reason=reason)
    return Access(allowed=False, reason=AccessReason.NONE)


def access_of(granted: GrantedSkill, user_id: str) -> Access:
    """The same for a skill that was read together with the grants to them."""
    return access(
        granted.skill,
        agent_granted=granted.agent_grant is not None,
        user_granted=granted.user_grant is not None,
        user_id=user_id,
    )
