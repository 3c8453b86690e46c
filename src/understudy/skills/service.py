"""Changes to stored skills: create, patch, restore, update, enable, delete and grant."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar

from understudy.core.clock import Clock
from understudy.core.errors import DamagedRecord, NotFound, coded_error
from understudy.core.principal import Principal
from understudy.skills import access, drafts, grants, revisions, versions
from understudy.skills.access import Author, is_live, owns_or_administers, require_mutable
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.store import require_bundle
from understudy.skills.change import SkillChange, SkillTransactions
from understudy.skills.content_guard import Acknowledged, ContentGuard
from understudy.skills.dependencies.availability import LocalMachine
from understudy.skills.lifecycle import STATUS, after_grants, in_force_for, require_version
from understudy.skills.model import (
    BundleSignature,
    Skill,
    SkillOrigin,
    SkillStatus,
    SkillVersion,
    TrashedSkill,
    is_id,
)
from understudy.skills.revisions import (
    Reviser,
    SkillFieldChanges,
    SkillRevision,
    SkillSwitch,
    patching,
    restoring,
)
from understudy.skills.slug import SLUG_RESERVED, other_slug, slug_error
from understudy.skills.sources import NO_OTHERS, OtherSkills
from understudy.skills.versions import (
    BundleChecker,
    Patch,
    StoredSkill,
    StorePlan,
    bundle_of,
    check_patch,
    staged,
)

if TYPE_CHECKING:
    from understudy.skills.bundles.signature import BundleSignatures
    from understudy.skills.events import SkillEvents
    from understudy.storage.unit import Unit, Units

P = ParamSpec("P")
R = TypeVar("R")

# Finds the local or promoted skill that a slug means to an author; None without one.
UnstoredLookup = Callable[[Author, str], Skill | None]
NOT_FOUND: Final = "skill_not_found"
_DENIALS: Final[Mapping[SkillOrigin, str]] = {
    SkillOrigin.LOCAL: "skills/skill_is_local",
    SkillOrigin.PROMOTED: "skills/skill_is_promoted",
}
# The pointer to the SKILL.md in a request of an action, if not `/file`.
_POINTERS: Final = {"skills.create": "/content"}


def no_unstored(author: Author, ref: str) -> Skill | None:
    """The lookup of a service without local and promoted skills."""
    del author, ref
    return None


def reject_unstored(
    change: Callable[Concatenate["SkillService", Author, str, P], R],
) -> Callable[Concatenate["SkillService", Author, str, P], R]:
    """Reject the change of a local or promoted skill with its own error instead of `NotFound`."""

    @wraps(change)
    def changing(
        self: "SkillService", author: Author, ref: str, /, *args: P.args, **kwargs: P.kwargs
    ) -> R:
        try:
            return change(self, author, ref, *args, **kwargs)
        except NotFound as problem:
            found = self.unstored(author, ref) if problem.code == NOT_FOUND else None
            if found is None or found.origin not in _DENIALS:
                raise
            raise coded_error(_DENIALS[found.origin], ref=ref) from None

    return changing


class SkillService:
    """Create, patch, update, switch, delete and grant skills."""

    def __init__(
        self,
        units: "Units",
        clock: Clock,
        *,
        guard: ContentGuard,
        machine_for: Callable[[str], LocalMachine],
        listener: "SkillEvents",
        others: OtherSkills = NO_OTHERS,
        unstored: UnstoredLookup = no_unstored,
        signatures: "BundleSignatures | None" = None,
    ) -> None:
        self.unstored = unstored
        self._signatures = signatures
        maker = SkillTransactions(units=units, clock=clock, listener=listener, others=others)
        self._units = units
        self._guard = guard
        self._maker = maker
        self._checker = BundleChecker(guard=guard, machine_for=machine_for)
        self._reviser = Reviser(units=units, checker=self._checker, maker=maker)
        self._switch = SkillSwitch(units=units, machine_for=machine_for, maker=maker)

    def create(
        self,
        author: Author,
        content: str,
        *,
        slug: str | None = None,
        acknowledged: Sequence[Acknowledged] = (),
    ) -> StoredSkill:
        """Store a SKILL.md as a new skill, or as the next version of the author's own."""
        access.check_author(author)
        bundle = bundle_of(content)
        return self.keep(
            author, bundle, action="skills.create", slug=slug, acknowledged=acknowledged
        )

    def keep(
        self,
        author: Author,
        bundle: Bundle,
        *,
        action: str,
        slug: str | None = None,
        acknowledged: Sequence[Acknowledged] = (),
        signature: BundleSignature | None = None,
    ) -> StoredSkill:
        """Store a bundle as a new skill or a next version; `action` is the name in the audit."""
        access.check_author(author)
        content = self._checker.check(
            bundle,
            author,
            slug=slug,
            acknowledged=acknowledged,
            pointer=_POINTERS.get(action, "/file"),
        )
        is_named = slug is not None or bool(content.manifest.slug)
        with staged(self._units, bundle), self._maker.by(author) as change:
            before = self._place(change, content.slug)
            if not is_named and access.is_concealed(change.unit, before, author):
                content = replace(content, slug=other_slug(content.manifest.name, author.user_id))
                before = self._place(change, content.slug)
            access.require_free(change.unit, before, author, content.slug)
            how = StorePlan(action=action, grant_to=author.agent_id, signature=signature)
            return versions.keep(change, content, before, how)

    def upload(
        self,
        author: Author,
        bundle: Bundle,
        *,
        slug: str | None = None,
        acknowledged: Sequence[Acknowledged] = (),
    ) -> StoredSkill:
        """Store a bundle that came as an archive, without its signature, which is checked first."""
        access.check_author(author)
        signature = None
        if self._signatures is not None:
            bundle, signature = self._signatures.check(bundle, slug)
        kept = self.keep(
            author,
            bundle,
            action="skills.upload",
            slug=slug,
            acknowledged=acknowledged,
            signature=signature,
        )
        return replace(kept, signature=signature)

    def _place(self, change: SkillChange, slug: str) -> Skill | None:
        """The row of a slug, which is locked."""
        change.unit.skills.lock(slug)
        return change.unit.skills.by_slug(slug)

    @reject_unstored
    def patch(
        self,
        author: Author,
        ref: str,
        *,
        find: str,
        replace: str,
        replace_all: bool = False,
        strict: bool = False,
        expected_version: int | None = None,
        acknowledged: Sequence[Acknowledged] = (),
    ) -> StoredSkill:
        """Replace text in SKILL.md; the other files stay as they are."""
        patch = Patch(find=find, replace=replace, replace_all=replace_all, strict=strict)
        check_patch(patch)
        revision = SkillRevision(
            ref=ref,
            edit=patching(patch),
            how=StorePlan(action="skills.patch"),
            pointer="/replace",
            expected_version=expected_version,
            acknowledged=tuple(acknowledged),
        )
        return self._reviser.revise(author, revision)

    @reject_unstored
    def restore(
        self,
        author: Author,
        ref: str,
        number: int,
        *,
        acknowledged: Sequence[Acknowledged] = (),
    ) -> StoredSkill:
        """Restore an earlier version as a new one."""
        revision = SkillRevision(
            ref=ref,
            edit=restoring(number),
            how=StorePlan(action="skills.restore", restored_from=number),
            pointer="/version",
            acknowledged=tuple(acknowledged),
        )
        return self._reviser.revise(author, revision)

    @reject_unstored
    def accept(
        self,
        author: Author,
        ref: str,
        number: int,
        *,
        reason: str = "",
        acknowledged: Sequence[Acknowledged] = (),
    ) -> Skill:
        """Serve a version that waits to all; the guard scans it with the rules of today."""
        with self._units.read() as unit:
            skill = access.require_decidable(unit, author, ref)
            bundle = require_bundle(unit, skill.slug, require_version(unit, skill, number))
        content = self._checker.check(
            bundle, author, slug=skill.slug, acknowledged=acknowledged, pointer="/version"
        )
        with self._maker.by(author) as change:
            skill, version = _decidable(change, ref, number)
            return drafts.accept(change, content, skill, version, reason)

    @reject_unstored
    def reject(self, author: Author, ref: str, number: int, *, reason: str = "") -> Skill:
        """Decide that a version that waits is never served."""
        with self._maker.by(author) as change:
            skill, version = _decidable(change, ref, number)
            return drafts.reject(change, skill, version, reason)

    @reject_unstored
    def update(self, author: Author, ref: str, changes: SkillFieldChanges) -> Skill:
        """`set_fields`, answered with the skill alone."""
        return self.set_fields(author, ref, changes).skill

    @reject_unstored
    def set_fields(self, author: Author, ref: str, changes: SkillFieldChanges) -> StoredSkill:
        """Set name, description or tags in a new version, or the visibility."""
        with self._guard.rejections.counting(), self._units.read() as unit:
            skill = access.require_mutable(unit, author, ref)
            said = revisions.checked(changes)
            # Checked first, so that nothing is stored if one of the two is refused.
            revisions.next_visibility(unit, author, skill, changes.visibility)
        revision = SkillRevision(
            ref=ref,
            edit=revisions.saying(said),
            how=StorePlan(action="skills.update", note=", ".join(said)),
            pointer="",
        )
        kept = self._reviser.revise(author, revision) if said else None
        with self._maker.by(author) as change:
            skill = revisions.show(change, _mutable(change, ref), changes.visibility)
            kept = kept or versions.unchanged(change.unit, author, skill)
            return replace(kept, skill=in_force_for(change.unit, skill, author.user_id))

    @reject_unstored
    def toggle(self, author: Author, ref: str, *, enabled: bool) -> Skill:
        """Enable or disable a skill; only an admin may do so with a system skill."""
        return self._switch.set_enabled(author, ref, enabled=enabled)

    @reject_unstored
    def delete(self, author: Author, ref: str) -> TrashedSkill:
        """Move a skill to the trash; an admin also one whose record cannot be read."""
        with self._maker.by(author) as change:
            return delete(change, require_deletable(change, ref))

    def undelete(
        self, author: Author, trash_name: str, *, acknowledged: Sequence[Acknowledged] = ()
    ) -> Skill:
        """Restore a skill from the trash, unless its slug is in use again; the guard scans it with
        the rules of today."""
        access.check_author(author)
        with self._units.read() as unit:
            found = require_trashed(unit, author, trash_name)
            bundle = trashed_bundle(unit, found)
        taken = self._guard.check(bundle, author, acknowledged)
        with self._maker.by(author) as change:
            change.unit.skills.lock(found.skill.slug)
            again = require_trashed(change.unit, author, trash_name)
            return undelete(change, again, taken)

    @reject_unstored
    def grant_agent(
        self,
        author: Author,
        ref: str,
        agent_id: str,
        *,
        version: int | None = None,
        acknowledged: Sequence[Acknowledged] = (),
    ) -> Skill:
        """Grant a skill to an agent; a version of 1 or more pins the grant, and the guard scans a
        pinned version that is not current."""
        grants.check_agent_id(agent_id)
        with self._units.read() as unit:
            skill = access.require_mutable(unit, author, ref)
            bundle = grants.pinned(unit, skill, version)
        taken = self._guard.check(bundle, author, acknowledged)
        with self._maker.by(author) as change:
            return grants.grant_agent(change, _mutable(change, ref), agent_id, version, taken)

    @reject_unstored
    def grant_user(self, author: Author, ref: str, user_id: str) -> Skill:
        """Grant a skill to a user."""
        grants.check_user_id(user_id)
        with self._maker.by(author) as change:
            return grants.grant_user(change, _mutable(change, ref), user_id)

    @reject_unstored
    def revoke_agent(self, author: Author, ref: str, agent_id: str) -> Skill:
        """Revoke the grant of an agent, if there is one."""
        grants.check_agent_id(agent_id)
        with self._maker.by(author) as change:
            return grants.revoke_agent(change, _mutable(change, ref), agent_id)

    @reject_unstored
    def revoke_user(self, author: Author, ref: str, user_id: str) -> Skill:
        """Revoke the grant of a user, if there is one."""
        grants.check_user_id(user_id)
        with self._maker.by(author) as change:
            return grants.revoke_user(change, _mutable(change, ref), user_id)

    def agent_deleted(self, unit: "Unit", principal: Principal, agent_id: str) -> None:
        """Revoke the grants of a deleted agent within the transaction that deletes it."""
        change = self._maker.within(unit, Author(principal=principal))
        grants.forget_agent(change, agent_id)


def _mutable(change: SkillChange, ref: str) -> Skill:
    return access.require_mutable(change.unit, change.author, ref, lock=True)


def _decidable(change: SkillChange, ref: str, number: int) -> tuple[Skill, SkillVersion]:
    skill = access.require_decidable(change.unit, change.author, ref, lock=True)
    version = require_version(change.unit, skill, number)
    return skill, drafts.require_own_decision(change, skill, version)


def delete(change: SkillChange, skill: Skill) -> TrashedSkill:
    """Move a skill with all its versions to the trash, and revoke its grants."""
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


def require_deletable(change: SkillChange, ref: str) -> Skill:
    """The skill that an author may delete, with its slug locked."""
    try:
        return require_mutable(change.unit, change.author, ref, lock=True)
    except DamagedRecord:
        if not change.author.is_admin or is_id(ref):
            raise
    change.unit.skills.lock(ref)
    change.unit.skills.salvage(ref)
    return require_mutable(change.unit, change.author, ref)


def require_trashed(unit: "Unit", author: Author, trash_name: str) -> TrashedSkill:
    """A deleted skill, for its owner and admins; `NotFound` for others."""
    trashed = unit.skills.trashed(trash_name)
    if trashed is None or not owns_or_administers(trashed.skill, author.principal):
        raise coded_error("skills/skill_trash_not_found", trash_name=trash_name)
    return trashed


def trashed_bundle(unit: "Unit", trashed: TrashedSkill) -> Bundle:
    """The bundle of a deleted skill's current version, or `DamagedRecord`."""
    bundle = unit.skill_bundles.get(trashed.skill.slug, trashed.skill.version)
    if bundle is None or bundle.digest != trashed.skill.digest:
        raise coded_error(
            "skills/skill_bundle_damaged", number=trashed.skill.version, slug=trashed.skill.slug
        )
    return bundle


def undelete(
    change: SkillChange, trashed: TrashedSkill, acknowledged: tuple[Acknowledged, ...] = ()
) -> Skill:
    """Restore a deleted skill without its grants; the slug is locked."""
    unit, slug, name = change.unit, trashed.skill.slug, trashed.trash_name
    now = unit.skills.by_slug(slug)
    if now is None:
        raise coded_error("skills/skill_trash_not_found", trash_name=name)
    if access.is_concealed(unit, now, change.author):
        # As for a new skill: the answer does not reveal somebody else's skill.
        raise slug_error(slug, SLUG_RESERVED)
    if is_live(now):
        raise coded_error("skills/skill_slug_in_use", slug=slug)
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
    unit.skills.update(back, expected_version=now.revision)
    version = unit.skills.version(back.skill_id, back.version)
    if version is None:
        raise coded_error("skills/skill_version_not_found", slug=slug, number=back.version)
    require_bundle(unit, slug, version)
    change.record("skills.undelete", back, f"from {name}", acknowledged)
    return back
