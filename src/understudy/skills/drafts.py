"""Versions that wait for a person: drafts, which nobody has, and those that only the owner has."""

from dataclasses import replace

from understudy.core.errors import UnderstudyError, coded_error
from understudy.skills import grants
from understudy.skills.access import owns_agent, owns_or_administers
from understudy.skills.change import SkillChange
from understudy.skills.lifecycle import VERSION
from understudy.skills.model import Skill, SkillVersion, VersionState
from understudy.skills.versions import CheckedBundle, StorePlan, next_row


def accept(
    change: SkillChange, content: CheckedBundle, skill: Skill, version: SkillVersion, reason: str
) -> Skill:
    """Serve a version to all as the current one, and grant the skill to the agent that waits for it.

    A person has read it, so the mark of untrusted text ends here. The grant waits on where the agent
    is neither the author's nor the owner's. The agent's owner decides for nobody else who may use it.
    """
    unit, who = change.unit, change.author.principal
    agent_id = _agent_to_grant(change, skill, version)
    is_for_all = owns_or_administers(skill, who) or not grants.reaches_others(unit, skill)
    is_text = not version.is_accepted and is_for_all
    if not is_text and agent_id is None:
        raise _decided_already(version)
    now = _serve(change, content, skill, version) if is_text else skill
    change.record(
        "skills.accept", replace(now, version=version.number), reason, content.acknowledged
    )
    return now if agent_id is None else grants.grant_agent(change, now, agent_id, None)


def _serve(
    change: SkillChange, content: CheckedBundle, skill: Skill, version: SkillVersion
) -> Skill:
    """Make a version the current one; older ones that wait, which it replaces, are rejected."""
    accepted = _decided(change, version, VersionState.SERVED)
    change.unit.skills.decide(
        replace(accepted, derived_from_untrusted=False, grant_to=version.grant_to)
    )
    now = next_row(change, content, skill, version.number, StorePlan(action="skills.accept"))
    is_newer = skill.own_version is not None and skill.own_version > version.number
    now = replace(now, own_version=skill.own_version if is_newer else None)
    change.require_name(now.slug, now.name, skill)
    change.unit.skills.update(now, expected_version=skill.revision)
    for older in change.unit.skills.drafts_of(skill.skill_id):
        if older.number < version.number and not older.is_accepted:
            change.unit.skills.decide(_decided(change, older, VersionState.REJECTED))
    return now


def _agent_to_grant(change: SkillChange, skill: Skill, version: SkillVersion) -> str | None:
    """The agent that waits for the skill, if the author may give it to all of its users."""
    agent_id, author = version.grant_to, change.author
    if agent_id is None:
        return None
    may_give = (
        author.is_admin
        or owns_agent(change.unit, agent_id, author.principal)
        or grants.may_have(change.unit, agent_id, skill.owner_id)
    )
    return agent_id if may_give else None


def reject(change: SkillChange, skill: Skill, version: SkillVersion, reason: str) -> Skill:
    """Decide that a version is never served; its text stays for its owner and admins.

    The owner of an agent only decides that their agent does not get it.
    """
    if not version.is_open:
        raise _decided_already(version)
    is_text = not version.is_accepted and owns_or_administers(skill, change.author.principal)
    change.unit.skills.decide(
        _decided(change, version, VersionState.REJECTED)
        if is_text
        else replace(version, grant_to=None)
    )
    change.record("skills.reject", replace(skill, version=version.number), reason)
    if not is_text or skill.own_version != version.number:
        return skill
    return change.save(skill, own_version=_own_before(change, skill))


def _own_before(change: SkillChange, skill: Skill) -> int | None:
    """The newest version that the owner alone has, if it is newer than that of all."""
    waiting = change.unit.skills.drafts_of(skill.skill_id)
    own = (it.number for it in waiting if it.for_owner_only)
    return next((it for it in own if skill.is_draft or it > skill.version), None)


def require_own_decision(change: SkillChange, skill: Skill, version: SkillVersion) -> SkillVersion:
    """The version itself, or the error for an agent's owner whose agent is not to get it."""
    who, agent_id = change.author.principal, version.grant_to
    if owns_or_administers(skill, who):
        return version
    if agent_id is None or not owns_agent(change.unit, agent_id, who):
        raise coded_error("skills/skill_not_yours", ref=skill.slug)
    return version


def _decided(change: SkillChange, version: SkillVersion, state: VersionState) -> SkillVersion:
    """A version after the decision about its text; `Conflict` for one that was decided before."""
    is_step = state is version.state or state in VERSION.allowed(version.state)
    if version.is_accepted or not is_step:
        raise _decided_already(version)
    return replace(
        version,
        state=state,
        decided_by=change.author.principal.actor,
        decided_at_ms=change.at_ms,
        for_owner_only=False,
        grant_to=None,
    )


def _decided_already(version: SkillVersion) -> UnderstudyError:
    return coded_error(
        "skills/skill_version_decided", number=version.number, state=str(version.state)
    )
