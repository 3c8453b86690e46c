"""Which skills count for whom: none takes the place of one that comes before it.

Those that are kept come first, then those that were promoted, and those in folders last.

What nobody looked at does not replace what somebody did.
"""

from collections.abc import Iterable
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
    """Something that a skill can be taken for."""

    @property
    def slug(self) -> str: ...

    @property
    def name(self) -> str: ...


S = TypeVar("S", bound=Named)


def counting(
    unit: "Unit",
    later: Iterable[S],
    before: Iterable[Named],
    *,
    agent_id: str,
    user_id: str,
) -> tuple[S, ...]:
    """Those of some skills that an agent may use for a user, beside those that come before them.

    One that is kept and cannot be used now, because it is switched off for one, keeps its slug.
    """
    some = tuple(later)
    if not some:
        return ()
    taken = {word for one in before for word in words(one.slug, one.name)}
    free = [skill for skill in some if taken.isdisjoint(words(skill.slug, skill.name))]
    # Asked once for all of them: there may be thousands, and mostly none of their slugs is kept.
    kept = unit.skills.slugs_among([skill.slug for skill in free])
    return tuple(
        skill
        for skill in free
        if skill.slug not in kept
        or not stands(unit, skill.slug, agent_id=agent_id, user_id=user_id)
    )


def stands(unit: "Unit", slug: str, *, agent_id: str, user_id: str) -> bool:
    """Whether a kept skill of this slug is known to a user, or to the agent that works for them."""
    kept = unit.skills.by_slug(slug)
    if kept is None or not is_live(kept):
        return False
    user = Principal(user_id=user_id, role=Role.VIEWER)
    try:
        return knows(unit, kept, user, agent_id=agent_id)
    except DatabaseUnavailable:
        raise
    except Unavailable:
        # Nobody can tell what is granted.
        return True


def words(slug: str, name: str) -> frozenset[str]:
    """What a skill can be taken for, however it is written."""
    return frozenset({slug, folded(name)})


def require_own_name(
    unit: "Unit", others: OtherSkills, slug: str, name: str, before: Skill | None = None
) -> None:
    """Refuse what a skill from elsewhere is called; what stands there already, `before`, stays."""
    unit.skills.hold_name(folded(name))
    stands = frozenset() if before is None else words(before.slug, before.name)
    for word in sorted(words(slug, name) - stands):
        if others.has(unit, word):
            raise coded_error("skills/skill_name_promoted", name=word)
