"""Drafts: versions that are not served until a person accepts them."""

from dataclasses import replace

from understudy.core.errors import coded_error
from understudy.skills.change import SkillChange
from understudy.skills.lifecycle import VERSION
from understudy.skills.model import Skill, SkillVersion, VersionState
from understudy.skills.versions import CheckedBundle, StorePlan, next_row


def accept(
    change: SkillChange, content: CheckedBundle, skill: Skill, version: SkillVersion, reason: str
) -> Skill:
    """Serve a draft as the current version; older drafts, which it replaces, are rejected.

    A person has read it, so the mark of untrusted text ends here.
    """
    accepted = decided(change, version, VersionState.SERVED)
    change.unit.skills.decide(replace(accepted, derived_from_untrusted=False))
    for older in change.unit.skills.drafts_of(skill.skill_id):
        if older.number < version.number:
            change.unit.skills.decide(decided(change, older, VersionState.REJECTED))
    how = StorePlan(action="skills.accept")
    now = replace(next_row(change, content, skill, version.number, how), is_draft=False)
    change.require_name(now.slug, now.name, skill)
    change.unit.skills.update(now, expected_revision=skill.revision)
    change.record(how.action, now, reason, content.acknowledged)
    return now


def reject(change: SkillChange, skill: Skill, version: SkillVersion, reason: str) -> Skill:
    """Decide that a draft is never served; its text stays for its owner and admins."""
    change.unit.skills.decide(decided(change, version, VersionState.REJECTED))
    change.record("skills.reject", replace(skill, version=version.number), reason)
    return skill


def decided(change: SkillChange, version: SkillVersion, state: VersionState) -> SkillVersion:
    """A draft after its decision; `Conflict` for a version that was decided before."""
    if state not in VERSION.allowed(version.state):
        raise coded_error(
            "skills/skill_version_decided", number=version.number, state=str(version.state)
        )
    return replace(
        version,
        state=state,
        decided_by=change.author.principal.actor,
        decided_at_ms=change.at_ms,
    )
