"""The state machines of a skill: visibility and status."""

from collections.abc import Mapping
from typing import Final

from understudy.core.machine import Machine
from understudy.skills.model import SkillStatus, Visibility

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
