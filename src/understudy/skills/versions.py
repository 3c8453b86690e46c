"""From a bundle to a version of a skill: checked, then stored while its slug is locked."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from understudy.core.dataclass import dataclass
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
from understudy.skills.lifecycle import after_grants, require_version
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
    # The agent that gets a grant.
    grant_to: str | None = None
    restored_from: int | None = None
    # The version that the content is based on, whose taint mark it inherits.
    basis: SkillVersion | None = None
    # The signer of the bundle, as its upload was verified.
    signature: BundleSignature | None = None


def keep(
    change: SkillChange, content: CheckedBundle, before: Skill | None, how: StorePlan
) -> StoredSkill:
    """Store a version: the current one, or a draft where a person has to accept it first.

    `before` is the row of its slug, if there is one.
    """
    if must_be_accepted(change.unit, change.author, before, how.basis):
        return _keep_draft(change, content, before, how)
    if how.grant_to is not None and not grants.is_agent(change.unit, how.grant_to):
        # The agent was deleted meanwhile; a new agent with its id must not get the grant.
        how = replace(how, grant_to=None)
    if before is not None and is_live(before):
        before, how = _granted(change, before, how)
    if before is not None and is_current(change.unit, before, content.bundle):
        return unchanged(change.unit, change.author, before)
    number = next_number(change.unit, content.slug)
    skill = next_row(change, content, before, number, how)
    change.require_name(skill.slug, skill.name, before if before and is_live(before) else None)
    version = _version(change, skill, how)
    put(change.unit, skill, version, content.bundle, before)
    if how.grant_to is not None:
        grants.give_agent(change, skill, how.grant_to)
    change.record(how.action, skill, str(how.signature or ""), content.acknowledged)
    return StoredSkill(
        skill=skill,
        version=version,
        granted=grants.is_caller_granted(change.unit, change.author, skill),
    )


def must_be_accepted(
    unit: "Unit", author: Author, before: Skill | None, basis: SkillVersion | None
) -> bool:
    """Whether a version is stored as a draft: tainted, based on a draft, or by a run for others.

    With the two-person rule also what a run makes for its own user, and what a person makes for
    others.
    """
    if author.untrusted or (basis is not None and basis.state is not VersionState.SERVED):
        return True
    is_by_run = author.run_id is not None
    is_for_two = not author.falls_back and _needs_two(unit)
    if is_by_run and is_for_two:
        return True
    if before is None or not is_live(before) or not (is_by_run or is_for_two):
        return False
    return grants.reaches_others(unit, before)


def _needs_two(unit: "Unit") -> bool:
    return TwoApprovers.SKILL_ACTIVATION in required(current_revision(unit).document)


def _keep_draft(
    change: SkillChange, content: CheckedBundle, before: Skill | None, how: StorePlan
) -> StoredSkill:
    """Store a version that is not served; a new skill is a draft as a whole."""
    unit, bundle = change.unit, content.bundle
    live = before if before is not None and is_live(before) else None
    if live is not None and is_current(unit, live, bundle):
        return unchanged(unit, change.author, live)
    waiting = () if live is None else unit.skills.drafts_of(live.skill_id)
    if live is not None and waiting and waiting[0].digest == bundle.digest:
        return StoredSkill(skill=live, version=waiting[0], unchanged=True)
    number = next_number(unit, content.slug)
    fresh = next_row(change, content, before, number, replace(how, grant_to=None))
    version = _version(change, fresh, how, VersionState.DRAFT)
    if live is None:
        fresh = replace(fresh, is_draft=True)
        change.require_name(fresh.slug, fresh.name)
        put(unit, fresh, version, bundle, before)
    else:
        unit.skill_bundles.put(live.slug, number, bundle)
        unit.skills.add_version(version)
    change.record(how.action, fresh, "as a draft", content.acknowledged)
    return StoredSkill(skill=live or fresh, version=version)


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
        unit.skills.update(skill, expected_revision=before.revision)


def _granted(change: SkillChange, skill: Skill, how: StorePlan) -> tuple[Skill, StorePlan]:
    """A live skill with a grant to the agent of the plan, and the plan without the grant.

    An existing grant stays as it is, as somebody may have pinned it.
    """
    agent_id = how.grant_to
    if agent_id is not None and grants.agent_grant(change.unit, skill, agent_id) is None:
        skill = grants.grant_agent(change, skill, agent_id, None)
    return skill, replace(how, grant_to=None)


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


def _version(
    change: SkillChange, skill: Skill, how: StorePlan, state: VersionState = VersionState.SERVED
) -> SkillVersion:
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
        state=state,
        signature=how.signature,
        derived_from_untrusted=is_marked or bool(change.author.untrusted),
        untrusted_path=tuple(dict.fromkeys((*carried, *change.author.untrusted))),
    )
