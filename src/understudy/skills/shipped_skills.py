"""Seeding: stores the skills that are shipped with the product, and updates them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Final, NamedTuple

from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import UnderstudyError, coded_error
from understudy.core.ids import new_id
from understudy.core.principal import DAEMON
from understudy.skills.access import is_live
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.manifest import described, parse
from understudy.skills.bundles.store import next_number
from understudy.skills.content_guard import ContentGuard, unsafe_error
from understudy.skills.dependencies.availability import LocalMachine, missing
from understudy.skills.dependencies.requirements import find_requirements
from understudy.skills.model import Skill, SkillOrigin, SkillStatus, SkillVersion, Visibility
from understudy.skills.precedence import require_free_name
from understudy.skills.runtime_settings import settings_of
from understudy.skills.slug import check_slug
from understudy.skills.sources import NO_OTHERS, OtherSkills
from understudy.skills.versions import is_current, put

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

OWNER: Final = "system"
ACTION: Final = "skills.seed"
FOLDER: Final = "system"
# Folders with these prefixes are shared by skills and are not skills.
NOT_SKILLS: Final = ("_", ".")
# Digests of the shipped bundles that the guard found clean before the release: a test scans them
# with the rules of the same version. A bundle with other content is scanned when it is seeded.
SCANNED: Final = frozenset(
    {
        "dcfe39ee9fd1990383168df7060cd767229d8c7ddf0ac978bedd05a55350fdad",
        "812fc2d9b1c9ad80af989ec49fb34bd44a2444f5d1c81841bcd05fbfd8dec092",
    }
)


class RefusedSeed(NamedTuple):
    """A shipped skill that was not stored, and why."""

    slug: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedReport:
    """The result of seeding, by slug."""

    added: tuple[str, ...] = ()
    upgraded: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    refused: tuple[RefusedSeed, ...] = ()


class _Step(StrEnum):
    """The step that seeds a shipped skill."""

    ADD = "add"
    UPGRADE = "upgrade"
    KEEP = "keep"


def seed(
    units: "Units",
    clock: Clock,
    guard: ContentGuard,
    skills: Mapping[str, Bundle] | None = None,
    others: OtherSkills = NO_OTHERS,
) -> SeedReport:
    """Add new shipped skills and new versions of changed ones; skills of users are left alone.

    Several daemons may seed at once: each checks again once it has locked the slug.
    """
    done: dict[_Step, list[str]] = {step: [] for step in _Step}
    refused: list[RefusedSeed] = []
    for slug, bundle in (shipped_skills() if skills is None else skills).items():
        try:
            done[_seed_one(units, clock, guard, slug, bundle, others)].append(slug)
        except UnderstudyError as cause:
            refused.append(RefusedSeed(slug, cause.detail))
    return SeedReport(
        added=tuple(done[_Step.ADD]),
        upgraded=tuple(done[_Step.UPGRADE]),
        kept=tuple(done[_Step.KEEP]),
        refused=tuple(refused),
    )


def _seed_one(
    units: "Units",
    clock: Clock,
    guard: ContentGuard,
    slug: str,
    bundle: Bundle,
    others: OtherSkills,
) -> _Step:
    with units.read() as unit:
        step = _step(unit, unit.skills.by_slug(slug), bundle)
    if step is _Step.KEEP:
        return step
    shipped = _row(slug, bundle, guard, now_ms=clock.now_ms())
    with units.write() as unit:
        unit.skills.lock(slug)
        before = unit.skills.by_slug(slug)
        step = _step(unit, before, bundle)
        if step is _Step.ADD:
            require_free_name(unit, others, slug, shipped.name)
        if step is not _Step.KEEP:
            _put(unit, shipped, bundle, before)
    return step


def _step(unit: "Unit", before: Skill | None, bundle: Bundle) -> _Step:
    """The step for a shipped skill; `Rejected` when a user has its slug."""
    if before is None or not is_live(before):
        return _Step.ADD
    if not before.is_system:
        raise coded_error(
            "skills/skill_slug_taken:by_owner", slug=before.slug, owner_id=before.owner_id
        )
    return _Step.KEEP if is_current(unit, before, bundle) else _Step.UPGRADE


def _row(slug: str, bundle: Bundle, guard: ContentGuard, *, now_ms: int) -> Skill:
    """The record of a shipped skill without its version number, after the checks of any skill."""
    check_slug(slug)
    if bundle.digest not in SCANNED and (found := guard.findings(bundle)):
        raise unsafe_error(found)
    reading = parse(bundle.manifest_text)
    manifest = reading.manifest
    return Skill(
        skill_id=new_id("skl"),
        slug=slug,
        name=manifest.name,
        description=described(reading),
        tags=manifest.tags,
        origin=SkillOrigin.SYSTEM,
        owner_id=OWNER,
        visibility=Visibility.PUBLIC,
        version=0,
        digest=bundle.digest,
        size=bundle.size,
        frontmatter=dict(manifest.written),
        context=settings_of(bundle).context,
        missing_deps=missing(find_requirements(bundle, manifest), LocalMachine()),
        created_at_ms=now_ms,
        updated_at_ms=now_ms,
    )


def _put(unit: "Unit", shipped: Skill, bundle: Bundle, before: Skill | None) -> None:
    """Store the shipped bundle as the current version; the slug is locked."""
    skill = replace(_after(before, shipped), version=next_number(unit, shipped.slug))
    version = SkillVersion(
        skill_id=skill.skill_id,
        number=skill.version,
        digest=skill.digest,
        size=skill.size,
        actor=DAEMON.actor,
        created_at_ms=skill.updated_at_ms,
    )
    put(unit, skill, version, bundle, before)
    unit.audit.add(
        audit.done(
            DAEMON,
            ACTION,
            skill.skill_id,
            at_ms=skill.updated_at_ms,
            version=skill.version,
            reason=skill.slug,
        )
    )


def _after(before: Skill | None, shipped: Skill) -> Skill:
    """The shipped skill with id, age and `enabled` of its row; archived while it lacks something."""
    if before is None:
        return shipped
    known = replace(shipped, skill_id=before.skill_id, revision=before.revision + 1)
    if not is_live(before):
        return known
    lacks = before.status is SkillStatus.ARCHIVED and bool(shipped.missing_deps)
    return replace(
        known,
        enabled=before.enabled,
        status=SkillStatus.ARCHIVED if lacks else SkillStatus.ACTIVE,
        created_at_ms=before.created_at_ms,
    )


def shipped_skills() -> Mapping[str, Bundle]:
    """Every shipped bundle by its slug, which is the name of its folder."""
    folders = sorted(
        files("understudy.skills").joinpath(FOLDER).iterdir(), key=lambda one: one.name
    )
    return {
        folder.name: Bundle(dict(_files(folder)))
        for folder in folders
        if folder.is_dir() and not folder.name.startswith(NOT_SKILLS)
    }


def _files(folder: Traversable, below: str = "") -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        path = f"{below}{entry.name}"
        if entry.is_dir():
            yield from _files(entry, f"{path}/")
        else:
            yield path, entry.read_bytes()
