"""From a bundle to a version of a skill: checked, then stored while its slug is locked."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from understudy.core.errors import coded_error
from understudy.core.ids import new_id
from understudy.runtime.service import current_revision
from understudy.runtime.two_people import TwoApprovers, required
from understudy.skills import grants
from understudy.skills.access import Author, is_live
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.limits import MANIFEST, MAX_MANIFEST_BYTES
from understudy.skills.bundles.manifest import (
    Manifest,
    ManifestReading,
    check_not_blank,
    described,
    parse,
    read,
)
from understudy.skills.bundles.store import next_number
from understudy.skills.change import SkillChange
from understudy.skills.content_guard import Acknowledged, ContentGuard
from understudy.skills.dependencies.availability import LocalMachine, missing, next_steps
from understudy.skills.dependencies.requirements import find_requirements
from understudy.skills.lifecycle import after_grants, in_force_for, require_version
from understudy.skills.model import (
    BundleSignature,
    Skill,
    SkillOrigin,
    SkillStatus,
    SkillVersion,
    VersionState,
    Visibility,
)
from understudy.skills.runtime_settings import settings_of
from understudy.skills.slug import slug_for

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# Fields of the row that come from SKILL.md.
FROM_MANIFEST: Final[Mapping[str, Callable[[ManifestReading], object]]] = {
    "name": lambda reading: reading.manifest.name,
    "description": described,
    "tags": lambda reading: reading.manifest.tags,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedBundle:
    """A bundle that passed all checks, with its manifest."""

    slug: str
    bundle: Bundle
    reading: ManifestReading
    # Findings of the guard that an admin acknowledged.
    acknowledged: tuple[Acknowledged, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def manifest(self) -> Manifest:
        """The manifest of the SKILL.md."""
        return self.reading.manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleChecker:
    """Checks bundles; the guard may take seconds, so mostly outside of a transaction."""

    guard: ContentGuard
    machine_for: Callable[[str], LocalMachine]

    def check(
        self,
        bundle: Bundle,
        author: Author,
        *,
        slug: str | None,
        acknowledged: Sequence[Acknowledged] = (),
        pointer: str = "/content",
    ) -> CheckedBundle:
        """Check a bundle: not blank, safe, readable, named, with a slug; the first failure is raised."""
        text = bundle.manifest_text
        check_not_blank(text, pointer=pointer)
        taken = self.guard.check(bundle, author, acknowledged)
        reading = parse(text, pointer=pointer)
        manifest = reading.manifest
        settings_of(bundle)
        slug = slug_for(given=slug, written=manifest.slug, name=manifest.name)
        needed = find_requirements(bundle, manifest)
        return CheckedBundle(
            slug=slug,
            bundle=bundle,
            reading=reading,
            acknowledged=taken,
            missing=missing(needed, self.machine_for(slug)),
        )


def written(content: str, *, pointer: str) -> bytes:
    """The UTF-8 bytes of a text; `Invalid` for a lone surrogate."""
    try:
        return content.encode()
    except UnicodeEncodeError:
        raise coded_error("skills/skill_not_text", pointer=pointer, path=MANIFEST) from None


def bundle_of(content: str, *, pointer: str = "/content") -> Bundle:
    """A bundle with only a SKILL.md."""
    check_not_blank(content, pointer=pointer)
    return Bundle({MANIFEST: written(content, pointer=pointer)})


@contextmanager
def staged(units: "Units", bundle: Bundle) -> Iterator[None]:
    """Stage a large bundle while it may become a version; it is unstaged if it does not."""
    with units.read() as unit:
        unit.skill_bundles.stage(bundle)
    try:
        yield
    finally:
        with units.read() as unit:
            unit.skill_bundles.unstage(bundle)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """The text to find and its replacement; without `replace_all` only the first match."""

    find: str
    replace: str
    replace_all: bool = False
    # Reject a text that occurs more than once, unless `replace_all` is set.
    strict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Patched:
    """The patched text, the number of matches, and how many were replaced."""

    text: str
    matches: int
    replaced: int


def check_patch(patch: Patch) -> None:
    """Reject a patch with an empty `find`."""
    if not patch.find:
        raise coded_error("skills/skill_find_missing", pointer="/find")
    written(patch.find, pointer="/find")
    written(patch.replace, pointer="/replace")


def patched(text: str, patch: Patch) -> Patched:
    """The text with the patch applied; an error when it cannot be."""
    matches = text.count(patch.find)
    if matches == 0:
        raise coded_error("skills/skill_text_not_found")
    if patch.strict and matches > 1 and not patch.replace_all:
        raise coded_error("skills/skill_text_ambiguous", matches=matches)
    replaced = matches if patch.replace_all else 1
    # Before replacing: 100,000 replacements of 100 kB each do not fit into memory.
    growth = len(patch.replace.encode()) - len(patch.find.encode())
    size = len(text.encode()) + replaced * growth
    if size > MAX_MANIFEST_BYTES:
        raise coded_error("skills/skill_too_large", size_bytes=size, limit_bytes=MAX_MANIFEST_BYTES)
    changed = text.replace(patch.find, patch.replace, replaced)
    return Patched(text=changed, matches=matches, replaced=replaced)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSkill:
    """A skill and the version of its content; `unchanged` when it had that version already."""

    skill: Skill
    version: SkillVersion
    # Whether the agent of the author's run has a grant.
    granted: bool = False
    unchanged: bool = False
    # Of a patch: the number of replacements and of matches.
    replaced: int = 0
    matches: int = 0
    # Of an upload: who signed it.
    signature: BundleSignature | None = None

    @property
    def is_draft(self) -> bool:
        """Whether the version waits for a person."""
        return self.version.state is VersionState.DRAFT

    @property
    def draft_version(self) -> int | None:
        """The number of the version, if it waits for a person and nobody has it."""
        return self.version.number if self.is_draft else None

    @property
    def missing(self) -> tuple[str, ...]:
        """The dependencies that this machine lacks; the skill can be used nevertheless."""
        return self.skill.missing_deps

    @property
    def deps_warning(self) -> str | None:
        """What is missing and how to install it; None when nothing is."""
        if not self.missing:
            return None
        return f"what it needs is not there: {'; '.join(next_steps(self.missing))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StorePlan:
    """How a bundle is stored."""

    action: str
    # What the audit says beside the skill.
    note: str = ""
    # The agent that gets a grant; where others use it, once a person gives it.
    grant_to: str | None = None
    restored_from: int | None = None
    # The version that the content is based on, whose taint mark it inherits.
    basis: SkillVersion | None = None
    # The signer of the bundle, as its upload was verified.
    signature: BundleSignature | None = None


def keep(
    change: SkillChange, content: CheckedBundle, before: Skill | None, how: StorePlan
) -> StoredSkill:
    """Store a version: the current one, that of its owner, or a draft; as `placing` says.

    `before` is the row of its slug, if there is one.
    """
    unit, live = change.unit, before if before is not None and is_live(before) else None
    place = placing(unit, change.author, live, how.basis)
    given, wanted = _granting(unit, change.author, live, how, place)
    how = replace(how, grant_to=given)
    if given is not None and live is not None:
        before = live = grants.grant_agent(change, live, given, None)
    same = _kept_already(change, live, content.bundle, place)
    if same is not None:
        if wanted is not None:
            unit.skills.decide(replace(same.version, grant_to=wanted))
        return same
    number = next_number(unit, content.slug)
    skill = next_row(change, content, before, number, how)
    version = replace(_version(change, skill, how, place), grant_to=wanted)
    stored = _stored(change, content, before, skill, version)
    if given is not None and live is None:
        grants.give_agent(change, stored, given)
    note = "as a draft" if place is Placing.DRAFT else how.note or str(how.signature or "")
    change.record(how.action, skill, note, content.acknowledged)
    return StoredSkill(
        skill=in_force_for(unit, stored, change.author.user_id),
        version=version,
        granted=grants.is_caller_granted(unit, change.author, stored),
    )


class Placing(StrEnum):
    """Whose version becomes the one that is stored."""

    FOR_ALL = "for_all"
    FOR_OWNER = "for_owner"  # until a person accepts it for others
    DRAFT = "draft"


def placing(
    unit: "Unit", author: Author, before: Skill | None, basis: SkillVersion | None
) -> Placing:
    """Whose version is stored. What is tainted, what comes of a version that waits, and what a run
    makes for others has to be accepted; until then the owner has it who asked for it.

    With the two-person rule nobody has what a run makes, or what a person makes for others.
    """
    is_by_run = author.run_id is not None
    is_for_two = not author.falls_back and _needs_two(unit)
    reaches = (
        (is_by_run or is_for_two) and before is not None and grants.reaches_others(unit, before)
    )
    if is_for_two and (is_by_run or reaches):
        return Placing.DRAFT
    if not (reaches or author.untrusted or (basis is not None and not basis.is_accepted)):
        return Placing.FOR_ALL
    is_read = basis is None or basis.state is VersionState.SERVED
    is_own = before is None or before.owner_id == author.user_id
    return Placing.FOR_OWNER if author.is_asked and is_read and is_own else Placing.DRAFT


def _needs_two(unit: "Unit") -> bool:
    return TwoApprovers.SKILL_ACTIVATION in required(current_revision(unit).document)


def _granting(
    unit: "Unit", author: Author, live: Skill | None, how: StorePlan, place: Placing
) -> tuple[str | None, str | None]:
    """The agent that gets a grant now, and the one whose grant waits for a person."""
    agent_id, is_draft = how.grant_to, place is Placing.DRAFT
    wanted = None if how.basis is None or is_draft else how.basis.grant_to
    if agent_id is None or not grants.is_agent(unit, agent_id):
        # An agent that was deleted meanwhile: a new agent with its id must not get the grant.
        return None, wanted
    if live is not None and grants.agent_grant(unit, live, agent_id) is not None:
        # It stays as it is, as somebody may have pinned it.
        return None, wanted
    if is_draft or not grants.may_have(unit, agent_id, author.user_id):
        is_everybodys = live is not None and live.visibility is Visibility.PUBLIC
        return None, wanted if is_everybodys else agent_id
    return agent_id, wanted


def _kept_already(
    change: SkillChange, live: Skill | None, bundle: Bundle, place: Placing
) -> StoredSkill | None:
    """The version that has this content already; None without one."""
    if live is None:
        return None
    has = (
        live if place is Placing.FOR_ALL else in_force_for(change.unit, live, change.author.user_id)
    )
    if is_current(change.unit, has, bundle):
        return unchanged(change.unit, change.author, has)
    draft = newest_draft(change.unit, live) if place is Placing.DRAFT else None
    if draft is None or draft.digest != bundle.digest:
        return None
    return StoredSkill(skill=live, version=draft, unchanged=True)


def newest_draft(unit: "Unit", skill: Skill) -> SkillVersion | None:
    """The newest version that nobody has accepted for others."""
    waiting = unit.skills.drafts_of(skill.skill_id)
    return next((it for it in waiting if not it.is_accepted), None)


def _stored(
    change: SkillChange,
    content: CheckedBundle,
    before: Skill | None,
    skill: Skill,
    version: SkillVersion,
) -> Skill:
    """Store a version and its row; a version that is not for all changes a live row little."""
    unit, live = change.unit, before if before is not None and is_live(before) else None
    own = version.number if version.for_owner_only else None
    if version.is_accepted or live is None:
        change.require_name(skill.slug, skill.name, live)
        skill = replace(skill, is_draft=not version.is_accepted, own_version=own)
        put(unit, skill, version, content.bundle, before)
        return skill
    unit.skill_bundles.put(live.slug, version.number, content.bundle)
    unit.skills.add_version(version)
    return live if own is None else change.save(live, own_version=own)


def unchanged(unit: "Unit", author: Author, skill: Skill) -> StoredSkill:
    """The skill as it is, as a result without a change."""
    return StoredSkill(
        skill=skill,
        version=require_version(unit, skill, skill.version),
        granted=grants.is_caller_granted(unit, author, skill),
        unchanged=True,
    )


def is_current(unit: "Unit", skill: Skill, bundle: Bundle) -> bool:
    """Whether the bundle is the current version already, and is not damaged."""
    is_same = is_live(skill) and not skill.is_draft and skill.digest == bundle.digest
    return is_same and unit.skill_bundles.get(skill.slug, skill.version) == bundle


def put(
    unit: "Unit", skill: Skill, version: SkillVersion, bundle: Bundle, before: Skill | None
) -> None:
    """Store a bundle as the current version; `before` is the row as it was, if there was one."""
    unit.skill_bundles.put(skill.slug, version.number, bundle)
    if before is None:
        unit.skills.add(skill)
    unit.skills.add_version(version)
    if before is not None:
        unit.skills.update(skill, expected_version=before.revision)


def next_row(
    change: SkillChange, content: CheckedBundle, before: Skill | None, number: int, how: StorePlan
) -> Skill:
    """The row of a skill in a version: a new skill, or the next version of `before`."""
    fresh = Skill(
        skill_id=new_id("skl"),
        slug=content.slug,
        name=content.manifest.name,
        description=described(content.reading),
        tags=content.manifest.tags,
        origin=SkillOrigin.MANAGED,
        owner_id=change.author.user_id,
        version=number,
        digest=content.bundle.digest,
        size=content.bundle.size,
        visibility=after_grants(Visibility.PRIVATE, granted=how.grant_to is not None),
        vetted_version=number if change.author.is_admin and change.author.run_id is None else None,
        frontmatter=dict(content.manifest.written),
        missing_deps=content.missing,
        context=settings_of(content.bundle).context,
        created_at_ms=change.at_ms,
        updated_at_ms=change.at_ms,
    )
    if before is None:
        return fresh
    if not is_live(before):
        return replace(fresh, skill_id=before.skill_id, revision=before.revision + 1)
    return _next(change.unit, fresh, before, content.reading)


def _next(unit: "Unit", fresh: Skill, before: Skill, after: ManifestReading) -> Skill:
    """A live skill in its next version."""
    is_well = before.status is SkillStatus.ARCHIVED and not fresh.missing_deps
    return replace(
        before,
        **_said(unit, before, after),
        version=fresh.version,
        digest=fresh.digest,
        size=fresh.size,
        status=SkillStatus.ACTIVE if is_well else before.status,
        frontmatter=fresh.frontmatter,
        missing_deps=fresh.missing_deps,
        context=fresh.context,
        is_draft=False,
        own_version=None,
        vetted_version=fresh.vetted_version,
        updated_at_ms=fresh.updated_at_ms,
        revision=before.revision + 1,
    )


def _said(unit: "Unit", before: Skill, after: ManifestReading) -> dict[str, Any]:
    """The fields that changed in SKILL.md; the others may have been set with an update."""
    data = unit.skill_bundles.read(before.slug, before.version, MANIFEST)
    if data is None:
        return {name: says(after) for name, says in FROM_MANIFEST.items()}
    earlier = read(data.decode(errors="replace"))
    return {
        name: says(after) for name, says in FROM_MANIFEST.items() if says(after) != says(earlier)
    }


def _version(change: SkillChange, skill: Skill, how: StorePlan, place: Placing) -> SkillVersion:
    carried = () if how.basis is None else how.basis.untrusted_path
    is_marked = how.basis is not None and how.basis.derived_from_untrusted
    return SkillVersion(
        skill_id=skill.skill_id,
        number=skill.version,
        digest=skill.digest,
        size=skill.size,
        actor=change.author.principal.actor,
        created_at_ms=change.at_ms,
        run_id=change.author.run_id,
        restored_from=how.restored_from,
        state=VersionState.DRAFT if place is Placing.DRAFT else VersionState.SERVED,
        for_owner_only=place is Placing.FOR_OWNER,
        signature=how.signature,
        derived_from_untrusted=is_marked or bool(change.author.untrusted),
        untrusted_path=tuple(dict.fromkeys((*carried, *change.author.untrusted))),
    )
