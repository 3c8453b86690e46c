"""Into the trash and back: a deletion loses nothing but the grants."""

from dataclasses import replace
from typing import TYPE_CHECKING

from understudy.core.errors import DamagedRecord
from understudy.skills import caller_errors
from understudy.skills.acknowledging import Acknowledged
from understudy.skills.author import Author
from understudy.skills.authority import is_live, owns_or_administers, require_mutable
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.caller_errors import damaged, trash_missing
from understudy.skills.change import Change
from understudy.skills.lifecycle import STATUS, after_grants
from understudy.skills.model import Skill, SkillStatus, TrashedSkill
from understudy.skills.ports import require_bundle
from understudy.skills.refs import is_id

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


def delete(change: Change, skill: Skill) -> TrashedSkill:
    """Move a skill with all its versions to the trash, and take it from everybody."""
    unit = change.unit
    STATUS.check(skill.status, SkillStatus.DELETED)
    name = unit.skill_bundles.trash(skill.slug, at_ms=change.at_ms)
    trashed = TrashedSkill(
        trash_name=name,
        skill=skill,
        deleted_by=change.author.principal.actor,
        deleted_at_ms=change.at_ms,
    )
    unit.skills.trash(trashed)
    unit.skill_grants.take_all(skill.skill_id)
    gone = change.save(skill, status=SkillStatus.DELETED, trash_name=name)
    change.record("skills.delete", gone, f"as {name}")
    return trashed


def require_deletable(change: Change, ref: str) -> Skill:
    """The skill that an author may delete, with its slug held."""
    try:
        return require_mutable(change.unit, change.author, ref, hold=True)
    except DamagedRecord:
        if not change.author.is_admin or is_id(ref):
            raise
    change.unit.skills.hold(ref)
    change.unit.skills.salvage(ref)
    return require_mutable(change.unit, change.author, ref)


def require_trashed(unit: "Unit", author: Author, trash_name: str) -> TrashedSkill:
    """What a deletion left, for its owner and for admins; to others there is nothing."""
    trashed = unit.skills.trashed(trash_name)
    if trashed is None or not owns_or_administers(trashed.skill, author.principal):
        raise trash_missing(trash_name)
    return trashed


def trashed_bundle(unit: "Unit", trashed: TrashedSkill) -> Bundle:
    """What would count again, whole, or `DamagedRecord`."""
    bundle = unit.skill_bundles.get(trashed.skill.slug, trashed.skill.version)
    if bundle is None or bundle.digest != trashed.skill.digest:
        raise damaged(trashed.skill.slug, trashed.skill.version)
    return bundle


def undelete(
    change: Change, trashed: TrashedSkill, acknowledged: tuple[Acknowledged, ...] = ()
) -> Skill:
    """Bring back what a deletion took, as it stood, without its grants; the slug is held."""
    unit, slug, name = change.unit, trashed.skill.slug, trashed.trash_name
    now = unit.skills.by_slug(slug)
    if now is None:
        raise trash_missing(name)
    if is_live(now):
        raise caller_errors.slug_in_use(slug)
    change.require_name(slug, trashed.skill.name)
    unit.skill_bundles.restore(slug, name)
    unit.skills.untrash(name)
    back = replace(
        trashed.skill,
        skill_id=now.skill_id,
        visibility=after_grants(trashed.skill.visibility, granted=False),
        trash_name=None,
        revision=now.revision + 1,
        updated_at_ms=change.at_ms,
    )
    unit.skills.update(back, expected_revision=now.revision)
    version = unit.skills.version(back.skill_id, back.version)
    if version is None:
        raise caller_errors.version_not_found(slug, back.version)
    require_bundle(unit, slug, version)
    change.record("skills.undelete", back, f"from {name}", acknowledged)
    return back
