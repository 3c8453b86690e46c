"""The next version of a skill made from an earlier one: by a patch, or by going back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from understudy.core.errors import coded_error
from understudy.skills import versions
from understudy.skills.acknowledgement import Acknowledged
from understudy.skills.authority import Author, require_mutable, require_switchable
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.manifest import read
from understudy.skills.change import SkillChange, SkillTransactions
from understudy.skills.dependencies.availability import LocalMachine, missing
from understudy.skills.dependencies.requirements import find_requirements
from understudy.skills.drafts import Draft, Drafting, Patch, patched, staged
from understudy.skills.model import Skill, SkillStatus
from understudy.skills.ports import require_bundle
from understudy.skills.versions import KeepPlan, StoredSkill, require_version

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units


class Turns:
    """Locks by name, which are there as long as somebody holds or awaits one."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._locks: dict[str, Lock] = {}
        self._wanted: dict[str, int] = {}

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """While nobody else has the turn of this name."""
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


# Whoever is overtaken this often holds the slug while they look, and everybody else waits.
MAX_ATTEMPTS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What a version is to become."""

    bundle: Bundle
    matches: int = 0
    replaced: int = 0
    # The slugs that its SKILL.md may name; None for any, because it was kept with it once.
    slugs: frozenset[str] | None = None


Editor = Callable[["Unit", Skill], Edit]


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewal:
    """Which skill gets a next version, from what, and how it is kept."""

    ref: str
    edit: Editor
    how: KeepPlan
    pointer: str
    expected_version: int | None = None
    acknowledged: tuple[Acknowledged, ...] = ()


def patching(patch: Patch) -> Editor:
    """The current version with a patch in its SKILL.md; its companions as they are, or not at all."""

    def edit(unit: "Unit", skill: Skill) -> Edit:
        bundle = require_bundle(unit, skill.slug, require_version(unit, skill, skill.version))
        text = bundle.manifest_text
        done = patched(text, patch)
        return Edit(
            bundle=bundle.with_manifest(done.text),
            matches=done.matches,
            replaced=done.replaced,
            slugs=frozenset({"", skill.slug, read(text).manifest.slug}),
        )

    return edit


def restoring(number: int) -> Editor:
    """An earlier version."""

    def edit(unit: "Unit", skill: Skill) -> Edit:
        version = require_version(unit, skill, number)
        return Edit(bundle=require_bundle(unit, skill.slug, version))

    return edit


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewer:
    """Makes next versions, of one skill one after another in this process. The guard takes its time
    outside of any transaction; who was overtaken meanwhile begins again with what is there then,
    and in the end keeps all others from doing so."""

    units: "Units"
    drafting: Drafting
    maker: SkillTransactions
    turns: Turns = field(default_factory=Turns)

    def renew(self, author: Author, renewal: Renewal) -> StoredSkill:
        """The skill in its next version, or as it is when nothing would change."""
        with self.turns.of(renewal.ref):
            for _ in range(MAX_ATTEMPTS):
                with self.units.read() as unit:
                    seen = require_mutable(unit, author, renewal.ref)
                    edit = _edit(unit, renewal, seen)
                    if edit.bundle.digest == seen.digest:
                        return _counted(versions.unchanged(unit, author, seen), edit)
                kept = self._keep(author, renewal, seen, edit)
                if kept is not None:
                    return kept
            return self._keep_held(author, renewal)

    def _keep(
        self, author: Author, renewal: Renewal, seen: Skill, edit: Edit
    ) -> StoredSkill | None:
        """None when somebody else was quicker."""
        draft = self._draft(author, renewal, seen, edit)
        with staged(self.units, draft.bundle), self.maker.by(author) as change:
            skill = require_mutable(change.unit, author, renewal.ref, hold=True)
            if (skill.skill_id, skill.version) != (seen.skill_id, seen.version):
                return None
            return _counted(versions.keep(change, draft, skill, renewal.how), edit)

    def _keep_held(self, author: Author, renewal: Renewal) -> StoredSkill:
        with self.maker.by(author) as change:
            skill = require_mutable(change.unit, author, renewal.ref, hold=True)
            edit = _edit(change.unit, renewal, skill)
            draft = self._draft(author, renewal, skill, edit)
            return _counted(versions.keep(change, draft, skill, renewal.how), edit)

    def _draft(self, author: Author, renewal: Renewal, seen: Skill, edit: Edit) -> Draft:
        draft = self.drafting.draft(
            edit.bundle,
            author,
            slug=seen.slug,
            acknowledged=renewal.acknowledged,
            pointer=renewal.pointer,
        )
        if edit.slugs is not None and draft.manifest.slug not in edit.slugs:
            raise coded_error("skills/skill_slug_changed", pointer=renewal.pointer, slug=seen.slug)
        return draft


def _edit(unit: "Unit", renewal: Renewal, skill: Skill) -> Edit:
    if renewal.expected_version not in {None, skill.version}:
        raise coded_error("skills/skill_changed", version=skill.version, slug=skill.slug)
    return renewal.edit(unit, skill)


def _counted(kept: StoredSkill, edit: Edit) -> StoredSkill:
    return replace(kept, matches=edit.matches, replaced=edit.replaced)


@dataclass(frozen=True, slots=True, kw_only=True)
class Switching:
    """Looks outside of any transaction, and again when the skill changed meanwhile; in the end
    while nobody else can change it."""

    units: "Units"
    machine_for: Callable[[str], LocalMachine]
    maker: SkillTransactions

    def switch(self, author: Author, ref: str, *, enabled: bool) -> Skill:
        """The skill, on or off; one that misses something is archived when it is switched on."""
        for _ in range(MAX_ATTEMPTS):
            with self.units.read() as unit:
                seen = require_switchable(unit, author, ref)
                values = self._values(unit, seen, enabled=enabled)
            with self.maker.by(author) as change:
                skill = require_switchable(change.unit, author, ref, hold=True)
                if (skill.skill_id, skill.version) == (seen.skill_id, seen.version):
                    return _set(change, skill, values)
        with self.maker.by(author) as change:
            skill = require_switchable(change.unit, author, ref, hold=True)
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
