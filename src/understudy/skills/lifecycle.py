"""The state machines of a skill: visibility, status, and the state of a version."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from understudy.core.errors import coded_error
from understudy.core.machine import Machine
from understudy.skills.model import Skill, SkillStatus, SkillVersion, VersionState, Visibility

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

# A decision stands: a rejected text comes back only as a new version.
VERSION: Final = Machine(
    name="skill version",
    steps={
        VersionState.DRAFT: frozenset({VersionState.SERVED, VersionState.REJECTED}),
        VersionState.SERVED: frozenset(),
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


def require_served(unit: "Unit", skill: Skill, number: int) -> SkillVersion:
    """A version that is served or was once; `Conflict` for one that nobody accepted."""
    version = require_version(unit, skill, number)
    if version.state is not VersionState.SERVED:
        raise coded_error(
            "skills/skill_version_not_served",
            slug=skill.slug,
            number=number,
            state=str(version.state),
        )
    return version
