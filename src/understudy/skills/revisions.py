"""Changes to a stored skill: patch, restore, enable, disable, and update of its fields."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from understudy.core.errors import FieldError, UnderstudyError, coded_error
from understudy.guard.scan import scan_text
from understudy.skills import versions
from understudy.skills.access import Author, require_mutable, require_switchable
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.document import Value
from understudy.skills.bundles.manifest import MAX_NAME_CHARS, read
from understudy.skills.bundles.standard import with_fields
from understudy.skills.bundles.store import require_bundle
from understudy.skills.change import SkillChange, SkillTransactions
from understudy.skills.content_guard import Acknowledged, unsafe_error
from understudy.skills.dependencies.availability import LocalMachine, missing
from understudy.skills.dependencies.requirements import find_requirements
from understudy.skills.fields import WrongValue, line, text, words
from understudy.skills.lifecycle import VISIBILITY, in_force_for, require_served, require_version
from understudy.skills.model import Skill, SkillStatus, SkillVersion, Visibility
from understudy.skills.versions import (
    FROM_MANIFEST,
    BundleChecker,
    CheckedBundle,
    Patch,
    Placing,
    StoredSkill,
    StorePlan,
    newest_draft,
    patched,
    placing,
    staged,
)

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# After this many concurrent changes, the revision is made while the slug is locked.
MAX_ATTEMPTS: Final = 4
_Denial = Callable[[], UnderstudyError]
# The new visibility for (whether public now, what is asked for, whether there is a grant).
_ASKED: Final[Mapping[tuple[bool, Visibility, bool], Visibility | _Denial]] = {
    (True, Visibility.PUBLIC, True): Visibility.PUBLIC,
    (True, Visibility.PUBLIC, False): Visibility.PUBLIC,
    (True, Visibility.INTERNAL, True): Visibility.INTERNAL,
    (True, Visibility.INTERNAL, False): Visibility.PRIVATE,
    (True, Visibility.PRIVATE, True): partial(coded_error, "skills/skill_has_grants"),
    (True, Visibility.PRIVATE, False): Visibility.PRIVATE,
    (False, Visibility.PUBLIC, True): Visibility.PUBLIC,
    (False, Visibility.PUBLIC, False): Visibility.PUBLIC,
    (False, Visibility.INTERNAL, True): Visibility.INTERNAL,
    (False, Visibility.INTERNAL, False): partial(coded_error, "skills/skill_has_no_grants"),
    (False, Visibility.PRIVATE, True): partial(coded_error, "skills/skill_has_grants"),
    (False, Visibility.PRIVATE, False): Visibility.PRIVATE,
}


class NamedLocks:
    """Locks by name; a lock exists as long as a thread holds it or waits for it."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._locks: dict[str, Lock] = {}
        self._wanted: dict[str, int] = {}

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        """Hold the lock of this name."""
        with self._guard:
            lock = self._locks.setdefault(name, Lock())
            self._wanted[name] = self._wanted.get(name, 0) + 1
        try:
            with lock:
                yield
        finally:
            with self._guard:
                self._wanted[name] -= 1
                if not self._wanted[name]:
                    del self._locks[name], self._wanted[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionEdit:
    """The content of the next version, and the counts of a patch."""

    bundle: Bundle
    matches: int = 0
    replaced: int = 0
    # The version that was edited.
    basis: SkillVersion | None = None
    # The slugs that the SKILL.md may name; None for any, as for an earlier version.
    slugs: frozenset[str] | None = None


Editor = Callable[["Unit", Skill, Author], VersionEdit]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRevision:
    """The request for a next version: of which skill, by which edit, and how it is stored."""

    ref: str
    edit: Editor
    how: StorePlan
    pointer: str
    expected_version: int | None = None
    acknowledged: tuple[Acknowledged, ...] = ()


def patching(patch: Patch) -> Editor:
    """An editor that patches SKILL.md and leaves the other files."""

    def edit(unit: "Unit", skill: Skill, author: Author) -> VersionEdit:
        has = in_force_for(unit, skill, author.user_id)
        basis = _basis(unit, skill, has, author)
        text = require_bundle(unit, skill.slug, basis).manifest_text
        done = patched(text, patch)
        rewritten = _rewritten(unit, skill, basis, done.text)
        return replace(rewritten, matches=done.matches, replaced=done.replaced)

    return edit


def saying(said: Mapping[str, Any]) -> Editor:
    """An editor that sets fields of SKILL.md, such as its description."""

    def edit(unit: "Unit", skill: Skill, author: Author) -> VersionEdit:
        has = in_force_for(unit, skill, author.user_id)
        basis = _basis(unit, skill, has, author)
        text = require_bundle(unit, skill.slug, basis).manifest_text
        reading = read(text)
        # Records from before versions had these fields may differ from their SKILL.md.
        known = {name: getattr(has, name) for name in _READ} if basis.number == has.version else {}
        changed = {
            name: value
            for name, value in {**known, **said}.items()
            if value != FROM_MANIFEST[name](reading)
        }
        return _rewritten(unit, skill, basis, with_fields(text, changed) if changed else text)

    return edit


def _basis(unit: "Unit", skill: Skill, has: Skill, author: Author) -> SkillVersion:
    """The version to edit: the one in force for the author.

    What becomes a draft goes on from the newest one that waits, so that the last has them all.
    """
    basis = require_version(unit, skill, has.version)
    is_draft = placing(unit, author, skill, basis) is Placing.DRAFT
    return (newest_draft(unit, skill) if is_draft else None) or basis


def _rewritten(unit: "Unit", skill: Skill, basis: SkillVersion, text: str) -> VersionEdit:
    bundle = require_bundle(unit, skill.slug, basis)
    written = read(bundle.manifest_text).manifest.slug
    slugs = frozenset({"", skill.slug, written})
    return VersionEdit(bundle=bundle.with_manifest(text), basis=basis, slugs=slugs)


def restoring(number: int) -> Editor:
    """An editor that takes an earlier version."""

    def edit(unit: "Unit", skill: Skill, _: Author) -> VersionEdit:
        version = require_served(unit, skill, number)
        return VersionEdit(bundle=require_bundle(unit, skill.slug, version), basis=version)

    return edit


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviser:
    """Makes next versions, one at a time per skill in this process. The guard scans outside of any
    transaction; when the skill changed meanwhile, the edit is retried on the new version, and in
    the end made while the slug is locked."""

    units: "Units"
    checker: BundleChecker
    maker: SkillTransactions
    locks: NamedLocks = field(default_factory=NamedLocks)

    def revise(self, author: Author, revision: SkillRevision) -> StoredSkill:
        """The skill in its next version, or unchanged when the content is the same."""
        with self.locks.held(revision.ref):
            for _ in range(MAX_ATTEMPTS):
                with self.units.read() as unit:
                    seen = require_mutable(unit, author, revision.ref)
                    edit = _edit(unit, revision, seen, author)
                    has = in_force_for(unit, seen, author.user_id)
                    if edit.bundle.digest == has.digest and not has.is_draft:
                        return _counted(versions.unchanged(unit, author, has), edit)
                kept = self._keep(author, revision, seen, edit)
                if kept is not None:
                    return kept
            return self._keep_held(author, revision)

    def _keep(
        self, author: Author, revision: SkillRevision, seen: Skill, edit: VersionEdit
    ) -> StoredSkill | None:
        """The stored version; None when the skill changed meanwhile."""
        content = self._checked(author, revision, seen, edit)
        with staged(self.units, content.bundle), self.maker.by(author) as change:
            skill = require_mutable(change.unit, author, revision.ref, lock=True)
            if (skill.skill_id, skill.version, skill.own_version) != (
                seen.skill_id,
                seen.version,
                seen.own_version,
            ):
                return None
            how = replace(revision.how, basis=edit.basis)
            return _counted(versions.keep(change, content, skill, how), edit)

    def _keep_held(self, author: Author, revision: SkillRevision) -> StoredSkill:
        with self.maker.by(author) as change:
            skill = require_mutable(change.unit, author, revision.ref, lock=True)
            edit = _edit(change.unit, revision, skill, author)
            content = self._checked(author, revision, skill, edit)
            how = replace(revision.how, basis=edit.basis)
            return _counted(versions.keep(change, content, skill, how), edit)

    def _checked(
        self, author: Author, revision: SkillRevision, seen: Skill, edit: VersionEdit
    ) -> CheckedBundle:
        content = self.checker.check(
            edit.bundle,
            author,
            slug=seen.slug,
            acknowledged=revision.acknowledged,
            pointer=revision.pointer,
        )
        if edit.slugs is not None and content.manifest.slug not in edit.slugs:
            raise coded_error("skills/skill_slug_changed", pointer=revision.pointer, slug=seen.slug)
        return content


def _edit(unit: "Unit", revision: SkillRevision, skill: Skill, author: Author) -> VersionEdit:
    if revision.expected_version not in {None, skill.version}:
        raise coded_error("skills/skill_changed", version=skill.version, slug=skill.slug)
    return revision.edit(unit, skill, author)


def _counted(kept: StoredSkill, edit: VersionEdit) -> StoredSkill:
    return replace(kept, matches=edit.matches, replaced=edit.replaced)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillSwitch:
    """Enables and disables skills. Dependencies are checked outside of any transaction, again
    when the skill changed meanwhile, and in the end while the slug is locked."""

    units: "Units"
    machine_for: Callable[[str], LocalMachine]
    maker: SkillTransactions

    def set_enabled(self, author: Author, ref: str, *, enabled: bool) -> Skill:
        """Enable or disable a skill; one that lacks a dependency is archived when it is enabled."""
        for _ in range(MAX_ATTEMPTS):
            with self.units.read() as unit:
                seen = require_switchable(unit, author, ref)
                values = self._values(unit, seen, enabled=enabled)
            with self.maker.by(author) as change:
                skill = require_switchable(change.unit, author, ref, lock=True)
                if (skill.skill_id, skill.version) == (seen.skill_id, seen.version):
                    return _set(change, skill, values)
        with self.maker.by(author) as change:
            skill = require_switchable(change.unit, author, ref, lock=True)
            return _set(change, skill, self._values(change.unit, skill, enabled=enabled))

    def _values(self, unit: "Unit", skill: Skill, *, enabled: bool) -> dict[str, Any]:
        return {**(self._on(unit, skill) if enabled else {}), "enabled": enabled}

    def _on(self, unit: "Unit", skill: Skill) -> dict[str, Any]:
        bundle = require_bundle(unit, skill.slug, require_version(unit, skill, skill.version))
        needed = find_requirements(bundle, read(bundle.manifest_text).manifest)
        lacking = missing(needed, self.machine_for(skill.slug))
        status = SkillStatus.ARCHIVED if lacking else SkillStatus.ACTIVE
        return {"missing_deps": lacking, "status": status}


def _set(change: SkillChange, skill: Skill, values: dict[str, Any]) -> Skill:
    if all(getattr(skill, name) == value for name, value in values.items()):
        return skill
    changed = change.save(skill, **values)
    change.record("skills.toggle", changed, "on" if changed.enabled else "off")
    return changed


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFieldChanges:
    """The values to set; None leaves a field as it is."""

    name: str | None = None
    description: str | None = None
    tags: tuple[str, ...] | None = None
    visibility: Visibility | None = None


def _name(value: Value) -> str:
    found = line(MAX_NAME_CHARS)(value)
    if not found:
        raise WrongValue("cannot be empty")
    return found


_READ: Final[Mapping[str, Callable[[Value], object]]] = {
    "name": _name,
    "description": text,
    "tags": words,
}


def checked(changes: SkillFieldChanges) -> dict[str, Any]:
    """The values as a SKILL.md could have them; `Invalid` with every wrong one."""
    values: dict[str, Any] = {}
    wrong: list[FieldError] = []
    for name, parse_value in _READ.items():
        given = getattr(changes, name)
        if given is None:
            continue
        try:
            values[name] = parse_value(given)
        except WrongValue as error:
            detail = f"{name} {error}"
            wrong.append(FieldError(pointer=f"/{name}", code="invalid_field", detail=detail))
    if wrong:
        detail = "; ".join(each.detail for each in wrong)
        raise coded_error("skills/invalid_skill", errors=tuple(wrong), detail=detail)
    _refuse_unsafe(values)
    return values


def _refuse_unsafe(values: Mapping[str, Any]) -> None:
    """Scan the values with the guard, as prompts show them instead of those in SKILL.md."""
    found = [
        finding
        for name, value in values.items()
        for finding in scan_text(value if isinstance(value, str) else " ".join(value), path=name)
    ]
    if found:
        raise unsafe_error(found)


def show(change: SkillChange, skill: Skill, asked: Visibility | None) -> Skill:
    """Set the visibility; without a difference nothing is saved.

    The version that an admin makes public counts as read by them.
    """
    visibility = next_visibility(change.unit, change.author, skill, asked)
    is_public = asked is Visibility.PUBLIC and change.author.is_admin
    vetted = skill.version if is_public else skill.vetted_version
    if (visibility, vetted) == (skill.visibility, skill.vetted_version):
        return skill
    changed = change.save(skill, visibility=visibility, vetted_version=vetted)
    change.record("skills.update", changed, "visibility")
    return changed


def next_visibility(
    unit: "Unit", author: Author, skill: Skill, asked: Visibility | None
) -> Visibility:
    """The visibility that a skill gets; raises where that is impossible or not for the author."""
    is_public = skill.visibility is Visibility.PUBLIC
    if asked is None or asked is skill.visibility:
        return skill.visibility
    if is_public is not (asked is Visibility.PUBLIC) and not author.is_admin:
        raise coded_error("skills/skill_visibility_needs_admin")
    granted = unit.skill_grants.counts(skill.skill_id).any
    found = _ASKED[is_public, asked, granted]
    if not isinstance(found, Visibility):
        raise found()
    VISIBILITY.check(skill.visibility, found)
    return found
