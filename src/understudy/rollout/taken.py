"""Which names skills of other kinds have already."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from understudy.core.page import MAX_LIMIT, PageRequest
from understudy.rollout.shadows import Shadows
from understudy.skills.authority import is_live
from understudy.skills.catalogue_entry import folded
from understudy.skills.filters import SkillFilter

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


@dataclass(frozen=True, slots=True)
class CatalogueNames:
    """Knows the kept skills by their rows, and those in folders by the last look.

    A folder where agents may write keeps no name from a promoted skill: it would give way to it.
    """

    shadows: Shadows

    def __call__(self, unit: "Unit", skill_name: str) -> bool:
        """Whether a skill is called that, by its slug or its name."""
        if self.shadows.over(skill_name) is not None:
            return True
        name = folded(skill_name)
        kept = unit.skills.by_slug(name)
        return (kept is not None and is_live(kept)) or _is_called(unit, name)


def hold_name(unit: "Unit", skill_name: str) -> None:
    """Let nobody else give any skill this name until the unit ends."""
    name = folded(skill_name)
    unit.skills.hold(name)
    unit.skills.hold_name(name)


def _is_called(unit: "Unit", name: str) -> bool:
    """Whether a kept skill has this name, whoever owns it."""
    narrowed = SkillFilter(query=name)
    request: PageRequest | None = PageRequest(limit=MAX_LIMIT)
    while request is not None:
        page = unit.skills.page(request, narrowed=narrowed)
        if any(folded(skill.name) == name for skill in page.items):
            return True
        cursor = page.next_cursor
        request = PageRequest.parse(limit=MAX_LIMIT, cursor=cursor) if cursor else None
    return False
