"""Detects local skills with the name of a promoted one.

Only those in roots of the config file count: a skill in one operator's root never replaces what
people have reviewed.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from understudy.core.page import MAX_LIMIT, PageRequest
from understudy.skills.access import is_live
from understudy.skills.catalogue_entry import folded
from understudy.skills.local.skill import LocalSkill
from understudy.skills.model import SkillFilter
from understudy.skills.precedence import name_forms

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


Known = Callable[[], Mapping[str, LocalSkill]]
_NOTHING: Final[Mapping[str, LocalSkill]] = {}


class Shadows:
    """The local skills that shadow promoted ones; uses the last scan and reads no folders itself."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._lock = threading.Lock()
        # Cache for the last scan, which changes rarely.
        self._seen: Mapping[str, LocalSkill] = _NOTHING
        self._by_word: Mapping[str, LocalSkill] = {}

    def over(self, skill_name: str) -> LocalSkill | None:
        """The local skill that takes precedence over a promoted one of this name."""
        return self._winning().get(folded(skill_name))

    def stamp(self) -> frozenset[str]:
        """A cache key: equal as long as the same names are shadowed."""
        return frozenset(self._winning())

    def _winning(self) -> Mapping[str, LocalSkill]:
        known = self._known()
        with self._lock:
            if known is not self._seen:
                self._by_word = {
                    word: skill
                    for skill in known.values()
                    if skill.owner_id is None
                    for word in name_forms(skill.slug, skill.name)
                }
                self._seen = known
            return self._by_word


@dataclass(frozen=True, slots=True)
class CatalogueNames:
    """The names that skills have: stored skills by their rows, local ones by the last scan.

    A local skill in the root of one operator takes no name: a promoted skill precedes it.
    """

    shadows: Shadows

    def __call__(self, unit: "Unit", skill_name: str) -> bool:
        """Whether a skill has this slug or name."""
        if self.shadows.over(skill_name) is not None:
            return True
        name = folded(skill_name)
        kept = unit.skills.by_slug(name)
        return (kept is not None and is_live(kept)) or _is_called(unit, name)


def hold_name(unit: "Unit", skill_name: str) -> None:
    """Lock a skill name until the unit ends."""
    name = folded(skill_name)
    unit.skills.lock(name)
    unit.skills.lock_name(name)


def _is_called(unit: "Unit", name: str) -> bool:
    """Whether a stored skill has this name, whoever owns it."""
    narrowed = SkillFilter(query=name)
    request: PageRequest | None = PageRequest(limit=MAX_LIMIT)
    while request is not None:
        page = unit.skills.page(request, narrowed=narrowed)
        if any(folded(skill.name) == name for skill in page.items):
            return True
        cursor = page.next_cursor
        request = PageRequest.parse(limit=MAX_LIMIT, cursor=cursor) if cursor else None
    return False
