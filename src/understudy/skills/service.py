"""The one place where skills are changed, whoever asks and by whatever way."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, Protocol, TypeVar

from understudy.core.clock import Clock
from understudy.core.errors import DamagedRecord, NotFound, coded_error
from understudy.core.principal import Principal
from understudy.skills import access, grants, revisions, versions
from understudy.skills.access import Author, is_live, owns_or_administers, require_mutable
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.store import require_bundle
from understudy.skills.change import SkillChange, SkillTransactions
from understudy.skills.content_guard import Acknowledged, ContentGuard
from understudy.skills.dependencies.availability import LocalMachine
from understudy.skills.lifecycle import STATUS, after_grants
from understudy.skills.model import Skill, SkillOrigin, SkillStatus, TrashedSkill, is_id
from understudy.skills.revisions import (
    Renewal,
    Renewer,
    SkillFieldChanges,
    Switching,
    patching,
    restoring,
)
from understudy.skills.sources import NO_OTHERS, OtherSkills
from understudy.skills.versions import (
    Drafting,
    KeepPlan,
    Patch,
    StoredSkill,
    bundle_of,
    check_patch,
    staged,
)

if TYPE_CHECKING:
    from understudy.skills.events import SkillEvents
    from understudy.storage.unit import Unit, Units

P = ParamSpec("P")
R = TypeVar("R")

# What is not kept that an author means by a slug, as they see it; None when there is none.
BesideLookup = Callable[[Author, str], Skill | None]
NOT_FOUND: Final = "skill_not_found"
_DENIALS: Final[Mapping[SkillOrigin, str]] = {
    SkillOrigin.LOCAL: "skills/skill_is_local",
    SkillOrigin.PROMOTED: "skills/skill_is_promoted",
}
# Where a request has the SKILL.md, if it is not in a file.
_POINTERS: Final = {"skills.create": "/content"}


class SkillChanger(Protocol):
    """Somebody who changes kept skills, and can ask what there is beside them."""

    beside: BesideLookup


S = TypeVar("S", bound=SkillChanger)


def nothing_beside(author: Author, ref: str) -> Skill | None:
    """Every skill is kept."""
    del author, ref
    return None


def told_where(
    change: Callable[Concatenate[S, Author, str, P], R],
) -> Callable[Concatenate[S, Author, str, P], R]:
    """A change of what an author names; what they can see and nobody keeps is not told to be missing."""

    @wraps(change)
    def changing(self: S, author: Author, ref: str, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return change(self, author, ref, *args, **kwargs)
        except NotFound as problem:
            found = self.beside(author, ref) if problem.code == NOT_FOUND else None
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
        beside: BesideLookup = nothing_beside,
    ) -> None:
        self.beside = beside
        maker = SkillTransactions(units=units, clock=clock, listener=listener, others=others)
        self._units = units
        self._guard = guard
        self._maker = maker
        self._drafting = Drafting(guard=guard, machine_for=machine_for)
        self._renewer = Renewer(units=units, drafting=self._drafting, maker=maker)
        self._switching = Switching(units=units, machine_for=machine_for, maker=maker)

    def create(
        self,
        author: Author,
        content: str,
        *,
        slug: str | None = None,
        acknowledged: Sequence[Acknowledged] = (),
    ) -> StoredSkill:
        """Keep a SKILL.md as a new skill, or as the next version of the author's own."""
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
    ) -> StoredSkill:
        """The same with all its files; `action` is how the audit names it."""
        access.check_author(author)
        draft = self._drafting.draft(
            bundle,
            author,
            slug=slug,
            acknowledged=acknowledged,
            pointer=_POINTERS.get(action, "/file"),
        )
        with staged(self._units, bundle), self._maker.by(author) as change:
            change.unit.skills.hold(draft.slug)
            before = change.unit.skills.by_slug(draft.slug)
            access.require_free(before, author, draft.slug)
            how = KeepPlan(action=action, grant_to=author.agent_id)
            return versions.keep(change, draft, before, how)

    @told_where
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
        """Replace text in SKILL.md; the companions stay as they are."""
        patch = Patch(find=find, replace=replace, replace_all=replace_all, strict=strict)
        check_patch(patch)
        renewal = Renewal(
            ref=ref,
            edit=patching(patch),
            how=KeepPlan(action="skills.patch"),
            pointer="/replace",
            expected_version=expected_version,
            acknowledged=tuple(acknowledged),
        )
        return self._renewer.renew(author, renewal)

    @told_where
    def restore(
        self,
        author: Author,
        ref: str,
        number: int,
        *,
        acknowledged: Sequence[Acknowledged] = (),
    ) -> StoredSkill:
        """Have an old version count again, as a new one."""
        renewal = Renewal(
            ref=ref,
            edit=restoring(number),
            how=KeepPlan(action="skills.restore", restored_from=number),
            pointer="/version",
            acknowledged=tuple(acknowledged),
        )
        return self._renewer.renew(author, renewal)

    @told_where
    def update(self, author: Author, ref: str, changes: SkillFieldChanges) -> Skill:
        """Set name, description, tags or visibility."""
        with self._guard.rejections.counting(), self._maker.by(author) as change:
            return revisions.update(change, _mutable(change, ref), changes)

    @told_where
    def toggle(self, author: Author, ref: str, *, enabled: bool) -> Skill:
        """Switch a skill on or off; an admin also one that came with the product."""
        return self._switching.switch(author, ref, enabled=enabled)

    @told_where
    def delete(self, author: Author, ref: str) -> TrashedSkill:
        """Move a skill to the trash; an admin also one whose record cannot be read."""
        with self._maker.by(author) as change:
            return delete(change, require_deletable(change, ref))

    def undelete(
        self, author: Author, trash_name: str, *, acknowledged: Sequence[Acknowledged] = ()
    ) -> Skill:
        """Bring a skill back from the trash, unless its slug is in use again; the guard that would
        not let it in today does not let it come back."""
        access.check_author(author)
        with self._units.read() as unit:
            found = require_trashed(unit, author, trash_name)
            bundle = trashed_bundle(unit, found)
        taken = self._guard.check(bundle, author, acknowledged)
        with self._maker.by(author) as change:
            change.unit.skills.hold(found.skill.slug)
            again = require_trashed(change.unit, author, trash_name)
            return undelete(change, again, taken)

    @told_where
    def grant_agent(
        self,
        author: Author,
        ref: str,
        agent_id: str,
        *,
        version: int | None = None,
        acknowledged: Sequence[Acknowledged] = (),
    ) -> Skill:
        """Let an agent use a skill; a version of 1 or more pins it to that one, which the guard
        reads again when it is not the one that counts."""
        grants.check_agent_id(agent_id)
        with self._units.read() as unit:
            skill = access.require_mutable(unit, author, ref)
            bundle = grants.pinned(unit, skill, version)
        taken = self._guard.check(bundle, author, acknowledged)
        with self._maker.by(author) as change:
            return grants.grant_agent(change, _mutable(change, ref), agent_id, version, taken)

    @told_where
    def grant_user(self, author: Author, ref: str, user_id: str) -> Skill:
        """Let a user use a skill."""
        grants.check_user_id(user_id)
        with self._maker.by(author) as change:
            return grants.grant_user(change, _mutable(change, ref), user_id)

    @told_where
    def revoke_agent(self, author: Author, ref: str, agent_id: str) -> Skill:
        """Take a skill from an agent, if it has it."""
        grants.check_agent_id(agent_id)
        with self._maker.by(author) as change:
            return grants.revoke_agent(change, _mutable(change, ref), agent_id)

    @told_where
    def revoke_user(self, author: Author, ref: str, user_id: str) -> Skill:
        """Take a skill from a user, if they have it."""
        grants.check_user_id(user_id)
        with self._maker.by(author) as change:
            return grants.revoke_user(change, _mutable(change, ref), user_id)

    def agent_deleted(self, unit: "Unit", principal: Principal, agent_id: str) -> None:
        """Hear in the transaction that deletes an agent that its grants go with it."""
        change = self._maker.within(unit, Author(principal=principal))
        grants.forget_agent(change, agent_id)


def _mutable(change: SkillChange, ref: str) -> Skill:
    return access.require_mutable(change.unit, change.author, ref, hold=True)


def delete(change: SkillChange, skill: Skill) -> TrashedSkill:
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


def require_deletable(change: SkillChange, ref: str) -> Skill:
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
        raise coded_error("skills/skill_trash_not_found", trash_name=trash_name)
    return trashed


def trashed_bundle(unit: "Unit", trashed: TrashedSkill) -> Bundle:
    """What would count again, whole, or `DamagedRecord`."""
    bundle = unit.skill_bundles.get(trashed.skill.slug, trashed.skill.version)
    if bundle is None or bundle.digest != trashed.skill.digest:
        raise coded_error(
            "skills/skill_bundle_damaged", number=trashed.skill.version, slug=trashed.skill.slug
        )
    return bundle


def undelete(
    change: SkillChange, trashed: TrashedSkill, acknowledged: tuple[Acknowledged, ...] = ()
) -> Skill:
    """Bring back what a deletion took, as it stood, without its grants; the slug is held."""
    unit, slug, name = change.unit, trashed.skill.slug, trashed.trash_name
    now = unit.skills.by_slug(slug)
    if now is None:
        raise coded_error("skills/skill_trash_not_found", trash_name=name)
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
    unit.skills.update(back, expected_revision=now.revision)
    version = unit.skills.version(back.skill_id, back.version)
    if version is None:
        raise coded_error("skills/skill_version_not_found", slug=slug, number=back.version)
    require_bundle(unit, slug, version)
    change.record("skills.undelete", back, f"from {name}", acknowledged)
    return back
