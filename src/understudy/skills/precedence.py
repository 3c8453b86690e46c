"""Which skills in folders count for whom: none takes the place of one that is kept.

What nobody looked at does not replace what somebody did.
"""

from collections.abc import Iterable

from understudy.core.errors import DatabaseUnavailable, Unavailable
from understudy.core.principal import Principal, Role
from understudy.skills.checks import is_live, knows
from understudy.skills.local_skill import LocalSkill
from understudy.skills.offered import Offered, folded
from understudy.skills.ports import SkillUnit


def counting(
    unit: SkillUnit,
    local: Iterable[LocalSkill],
    kept: Iterable[Offered],
    *,
    agent_id: str,
    user_id: str,
) -> tuple[LocalSkill, ...]:
    """Those in folders that an agent may use for a user, beside the kept ones that it may use.

    One that is kept and cannot be used now, because it is switched off for one, keeps its slug.
    """
    some = tuple(local)
    if not some:
        return ()
    taken = {word for one in kept for word in words(one.slug, one.name)}
    return tuple(
        skill
        for skill in some
        if taken.isdisjoint(words(skill.slug, skill.name))
        and not stands(unit, skill.slug, agent_id=agent_id, user_id=user_id)
    )


def stands(unit: SkillUnit, slug: str, *, agent_id: str, user_id: str) -> bool:
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
