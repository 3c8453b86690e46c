"""Grants of skills, revocations, and the visibility that follows from the grants."""

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from understudy.agents.model import require_agent
from understudy.core import audit
from understudy.core.errors import coded_error
from understudy.core.ids import check_caller_id
from understudy.skills.access import Author
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.store import require_bundle
from understudy.skills.change import SkillChange
from understudy.skills.content_guard import Acknowledged
from understudy.skills.lifecycle import after_grants, require_served
from understudy.skills.model import AgentGrant, Skill, UserGrant, Visibility

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

GRANT: Final = "skills.grant"
REVOKE: Final = "skills.revoke"
FORGET: Final = "agents.revoke_skills"
MAX_USER_CHARS: Final = 255


def check_agent_id(agent_id: str) -> str:
    """The agent id itself, or `Invalid`."""
    return check_caller_id(agent_id, field="agent_id", domain="agents")


def check_user_id(user_id: str) -> str:
    """The user id itself, or `Invalid`."""
    if not 0 < len(user_id) <= MAX_USER_CHARS or not user_id.isprintable() or not user_id.strip():
        raise coded_error("skills/invalid_user_id", pointer="/user_id")
    return user_id


def pinned(unit: "Unit", skill: Skill, version: int | None) -> Bundle | None:
    """The bundle of an earlier version that a grant pins; None for the current version."""
    if version is None or version <= 0 or version == skill.version:
        return None
    served = require_served(unit, skill, version, for_others=True)
    return require_bundle(unit, skill.slug, served)


def grant_agent(
    change: SkillChange,
    skill: Skill,
    agent_id: str,
    version: int | None,
    acknowledged: tuple[Acknowledged, ...] = (),
) -> Skill:
    """Grant a skill to an agent, maybe pinned to a version; a repeated grant changes nothing."""
    pin = version if version is not None and version > 0 else None
    # While a slug is locked, no agent is deleted.
    require_agent(change.unit, agent_id)
    if pin is not None:
        require_served(change.unit, skill, pin, for_others=True)
    known = agent_grant(change.unit, skill, agent_id)
    if known is not None and known.pinned_version == pin:
        return skill
    give_agent(change, skill, agent_id, pin)
    for waiting in change.unit.skills.drafts_of(skill.skill_id):
        if waiting.grant_to == agent_id:
            change.unit.skills.decide(replace(waiting, grant_to=None))
    at = f" at version {pin}" if pin else ""
    return _settled(change, skill, GRANT, f"to agent {agent_id}{at}", acknowledged)


def grant_user(change: SkillChange, skill: Skill, user_id: str) -> Skill:
    """Grant a skill to a user; a repeated grant changes nothing."""
    grant = UserGrant(
        skill_id=skill.skill_id,
        user_id=user_id,
        granted_by=change.author.principal.actor,
        created_at_ms=change.at_ms,
    )
    is_new = change.unit.skill_grants.give_user(grant)
    return _settled(change, skill, GRANT, f"to user {user_id}") if is_new else skill


def revoke_agent(change: SkillChange, skill: Skill, agent_id: str) -> Skill:
    """Revoke the grant of an agent; without a grant nothing changes."""
    had = change.unit.skill_grants.take_agent(skill.skill_id, agent_id)
    return _settled(change, skill, REVOKE, f"from agent {agent_id}") if had else skill


def revoke_user(change: SkillChange, skill: Skill, user_id: str) -> Skill:
    """Revoke the grant of a user; without a grant nothing changes."""
    had = change.unit.skill_grants.take_user(skill.skill_id, user_id)
    return _settled(change, skill, REVOKE, f"from user {user_id}") if had else skill


def forget_agent(change: SkillChange, agent_id: str) -> None:
    """Revoke all grants of a deleted agent, so that a new agent with its id has none of them.

    All slugs are locked, so that no grant to it is added meanwhile. There may be thousands, so the
    audit has one entry for all of them, about the agent.
    """
    change.unit.skills.lock_all()
    change.unit.skills.forget_agent(agent_id)
    count = change.unit.skill_grants.take_all_of_agent(agent_id, at_ms=change.at_ms)
    if count:
        who, reason = change.author.principal, f"{count} skills that it was granted"
        entry = audit.done(who, FORGET, agent_id, at_ms=change.at_ms, reason=reason)
        change.unit.audit.add(entry)


def is_agent(unit: "Unit", agent_id: str) -> bool:
    """Whether the agent exists; while a slug is locked, it is not deleted."""
    return unit.agents.get(agent_id) is not None


def is_shared(unit: "Unit", agent_id: str, owner_id: str) -> bool:
    """Whether an agent is not a user's own, so that what it is granted reaches other people."""
    agent = unit.agents.get(agent_id)
    return agent is None or agent.owner_id != owner_id


def may_have(unit: "Unit", agent_id: str, user_id: str) -> bool:
    """Whether an agent gets what a user keeps: it is theirs, or nobody else has used it."""
    return not (is_shared(unit, agent_id, user_id) and unit.runs.has_other_users(agent_id, user_id))


def reaches_others(unit: "Unit", skill: Skill) -> bool:
    """Whether anybody beside its owner may use a skill, or could once it is enabled."""
    if skill.visibility is not Visibility.INTERNAL:
        return skill.visibility is Visibility.PUBLIC
    users = (grant.user_id for grant in unit.skill_grants.to_users(skill.skill_id))
    agents = (grant.agent_id for grant in unit.skill_grants.to_agents(skill.skill_id))
    return any(user_id != skill.owner_id for user_id in users) or any(
        is_shared(unit, agent_id, skill.owner_id) for agent_id in agents
    )


def give_agent(change: SkillChange, skill: Skill, agent_id: str, pin: int | None = None) -> None:
    """Add the grant alone; the caller updates the visibility."""
    grant = AgentGrant(
        skill_id=skill.skill_id,
        agent_id=agent_id,
        granted_by=change.author.principal.actor,
        created_at_ms=change.at_ms,
        pinned_version=pin,
    )
    change.unit.skill_grants.give_agent(grant)


def agent_grant(unit: "Unit", skill: Skill, agent_id: str) -> AgentGrant | None:
    """The grant of a skill to an agent; None without one."""
    granted = unit.skills.with_grants(skill.skill_id, agent_id=agent_id, user_id="")
    return None if granted is None else granted.agent_grant


def is_caller_granted(unit: "Unit", author: Author, skill: Skill) -> bool:
    """Whether the agent of the author's run has a grant; False for a person."""
    agent_id = author.agent_id
    return agent_id is not None and agent_grant(unit, skill, agent_id) is not None


def _settled(
    change: SkillChange,
    skill: Skill,
    action: str,
    note: str,
    acknowledged: tuple[Acknowledged, ...] = (),
) -> Skill:
    """The skill with the visibility that follows from its grants, and the audit entry."""
    granted = change.unit.skill_grants.counts(skill.skill_id).any
    visibility = after_grants(skill.visibility, granted=granted)
    if visibility is not skill.visibility:
        skill = change.save(skill, visibility=visibility)
    change.record(action, skill, note, acknowledged)
    return skill
