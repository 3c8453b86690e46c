"""Precedence: stored skills shadow promoted ones, and both shadow local ones.

An unreviewed skill never replaces a reviewed one.
"""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Protocol, TypeVar

from understudy.core.errors import DatabaseUnavailable, Unavailable, coded_error
from understudy.core.principal import Principal, Role
from understudy.skills.access import is_live, knows
from understudy.skills.catalogue_entry import folded
from understudy.skills.model import Skill
from understudy.skills.sources import OtherSkills

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


class Named(Protocol):
    """Anything with the slug and name of a skill."""

    @property
    def slug(self) -> str: ...

    @property
    def name(self) -> str: ...


S = TypeVar("S", bound=Named)


def unshadowed(
    unit: "Unit",
    later: Iterable[S],
    before: Iterable[Named],
    *,
    agent_id: str,
    user_id: str,
    reserved: Collection[str] = (),
) -> tuple[S, ...]:
    """The skills of `later` whose slug and name no skill of `before` has, and that are not reserved.

    A stored skill that cannot be used now, for example a disabled one, still shadows its slug.
    """
    some = tuple(later)
    if not some:
        return ()
    taken = {word for one in before for word in name_forms(one.slug, one.name)}.union(reserved)
    free = [skill for skill in some if taken.isdisjoint(name_forms(skill.slug, skill.name))]
    # One query for all slugs: there may be thousands, and mostly none of them is stored.
    kept = unit.skills.slugs_among([skill.slug for skill in free])
    return tuple(
        skill
        for skill in free
        if skill.slug not in kept
        or not is_known_stored(unit, skill.slug, agent_id=agent_id, user_id=user_id)
    )


def is_known_stored(unit: "Unit", slug: str, *, agent_id: str, user_id: str) -> bool:
    """Whether a stored skill with this slug is visible to a user or to the agent of their run."""
    kept = unit.skills.by_slug(slug)
    if kept is None or not is_live(kept):
        return False
    user = Principal(user_id=user_id, role=Role.VIEWER)
    try:
        return knows(unit, kept, user, agent_id=agent_id)
    except DatabaseUnavailable:
        raise
    except Unavailable:
        # The grants cannot be read: fail closed, as if it were visible.
        return True


def name_forms(slug: str, name: str) -> frozenset[str]:
    """The slug and the folded name of a skill, which no skill that it shadows may have."""
    return frozenset({slug, folded(name)})


def require_free_name(
    unit: "Unit", others: OtherSkills, slug: str, name: str, before: Skill | None = None
) -> None:
    """Reject a slug or name that a promoted skill has, unless the skill `before` had it already."""
    unit.skills.lock_name(folded(name))
    own_forms = frozenset() if before is None else name_forms(before.slug, before.name)
    for word in sorted(name_forms(slug, name) - own_forms):
        if others.has(unit, word):
            raise coded_error("skills/skill_name_promoted", name=word)
