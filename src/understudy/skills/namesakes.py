"""No kept skill can be taken for one from elsewhere, such as one that was promoted."""

from typing import TYPE_CHECKING

from understudy.skills import caller_errors
from understudy.skills.catalogue_entry import folded
from understudy.skills.model import Skill
from understudy.skills.other_sources import OtherSkills
from understudy.skills.precedence import words

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


def require_own_name(
    unit: "Unit", others: OtherSkills, slug: str, name: str, before: Skill | None = None
) -> None:
    """Refuse what a skill from elsewhere is called; what stands there already, `before`, stays."""
    unit.skills.hold_name(folded(name))
    stands = frozenset() if before is None else words(before.slug, before.name)
    for word in sorted(words(slug, name) - stands):
        if others.has(unit, word):
            raise caller_errors.promoted_name(word)
