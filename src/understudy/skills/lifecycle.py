"""The state machines of a skill: visibility, status, and the state of a version."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from understudy.core.errors import coded_error
from understudy.core.machine import Machine
from understudy.skills.bundles.manifest import described, read
from understudy.skills.model import Skill, SkillStatus, SkillVersion, VersionState, Visibility
from understudy.skills.runtime_settings import settings_of

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

VISIBILITY: Final = Machine(
    name="skill visibility",
    steps={
        Visibility.PRIVATE: frozenset({Visibility.INTERNAL, Visibility.PUBLIC}),
        Visibility.INTERNAL: frozenset({Visibility.PRIVATE, Visibility.PUBLIC}),
        Visibility.PUBLIC: frozenset({Visibility.PRIVATE, Visibility.INTERNAL}),
    },
    conflict_code="skill_visibility_conflict",
    domain="skills",
)

# A deleted skill comes back only by a restore or a new creation, maybe without its dependencies.
STATUS: Final = Machine(
    name="skill",
    steps={
        SkillStatus.ACTIVE: frozenset({SkillStatus.ARCHIVED, SkillStatus.DELETED}),
        SkillStatus.ARCHIVED: frozenset({SkillStatus.ACTIVE, SkillStatus.DELETED}),
        SkillStatus.DELETED: frozenset({SkillStatus.ACTIVE, SkillStatus.ARCHIVED}),
    },
    conflict_code="skill_status_conflict",
    domain="skills",
)

# A decision stands: a rejected text comes back only as a new version. A served version is rejected
# only while its owner alone has it.
VERSION: Final = Machine(
    name="skill version",
    steps={
        VersionState.DRAFT: frozenset({VersionState.SERVED, VersionState.REJECTED}),
        VersionState.SERVED: frozenset({VersionState.REJECTED}),
        VersionState.REJECTED: frozenset(),
    },
    conflict_code="skill_version_decided",
    domain="skills",
)

# The visibility that follows from (visibility, whether there is a grant).
_WITH_GRANTS: Final[Mapping[tuple[Visibility, bool], Visibility]] = {
    (Visibility.PRIVATE, False): Visibility.PRIVATE,
    (Visibility.PRIVATE, True): Visibility.INTERNAL,
    (Visibility.INTERNAL, False): Visibility.PRIVATE,
    (Visibility.INTERNAL, True): Visibility.INTERNAL,
    (Visibility.PUBLIC, False): Visibility.PUBLIC,
    (Visibility.PUBLIC, True): Visibility.PUBLIC,
}


def after_grants(visibility: Visibility, *, granted: bool) -> Visibility:
    """The visibility after a change of grants; `granted` tells whether any are left."""
    return _WITH_GRANTS[visibility, granted]


def require_version(unit: "Unit", skill: Skill, number: int) -> SkillVersion:
    """A version that the skill has, or `NotFound`."""
    version = unit.skills.version(skill.skill_id, number)
    if version is None:
        raise coded_error("skills/skill_version_not_found", slug=skill.slug, number=number)
    return version


def own_version(unit: "Unit", skill: Skill, user_id: str) -> SkillVersion | None:
    """The version that is in force for this user alone; None where they have what others have."""
    if skill.own_version is None or skill.owner_id != user_id:
        return None
    return unit.skills.version(skill.skill_id, skill.own_version)


def in_force_for(unit: "Unit", skill: Skill, user_id: str) -> Skill:
    """The skill in the version that is in force for a user."""
    version = own_version(unit, skill, user_id)
    bundle = None if version is None else unit.skill_bundles.get(skill.slug, version.number)
    if version is None or bundle is None:
        return skill
    reading = read(bundle.manifest_text)
    return replace(
        skill,
        version=version.number,
        digest=version.digest,
        size=version.size,
        name=reading.manifest.name,
        description=described(reading),
        tags=reading.manifest.tags,
        frontmatter=dict(reading.manifest.written),
        context=settings_of(bundle).context,
        is_draft=False,
    )


def require_served(
    unit: "Unit", skill: Skill, number: int, *, for_others: bool = False
) -> SkillVersion:
    """A version that is served or was once, maybe `for_others` than its owner; else `Conflict`."""
    version = require_version(unit, skill, number)
    if version.state is not VersionState.SERVED or (for_others and version.for_owner_only):
        raise coded_error(
            "skills/skill_version_not_served",
            slug=skill.slug,
            number=number,
            state="waiting" if version.for_owner_only else str(version.state),
        )
    return version
