"""Which skills in folders of the machine take the name of a promoted one.

Only such where no agent works: in a workspace anybody's run may write, and would take the place of
what people have reviewed.
"""

import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from understudy.skills.catalogue_entry import folded
from understudy.skills.local.roots import RootScope
from understudy.skills.local.skill import LocalSkill
from understudy.skills.precedence import words

Known = Callable[[], Mapping[str, LocalSkill]]
_NOTHING: Final[Mapping[str, LocalSkill]] = {}


class Shadows:
    """Looks at what is known of folders; reads none itself."""

    def __init__(self, known: Known, workspace: Path) -> None:
        self._known = known
        self._workspace = Path(os.path.realpath(workspace))
        self._lock = threading.Lock()
        # The answer for what was known last: it changes only now and then.
        self._seen: Mapping[str, LocalSkill] = _NOTHING
        self._by_word: Mapping[str, LocalSkill] = {}

    def over(self, skill_name: str) -> LocalSkill | None:
        """The skill that comes before a promoted one of this name."""
        return self._winning().get(folded(skill_name))

    def stamp(self) -> frozenset[str]:
        """Equal as long as the same names are taken."""
        return frozenset(self._winning())

    def _winning(self) -> Mapping[str, LocalSkill]:
        known = self._known()
        with self._lock:
            if known is not self._seen:
                self._by_word = {
                    word: skill
                    for skill in known.values()
                    if self._wins(skill)
                    for word in words(skill.slug, skill.name)
                }
                self._seen = known
            return self._by_word

    def _wins(self, skill: LocalSkill) -> bool:
        """Whether people put it there: by naming the root, or outside of the workspace."""
        is_named = skill.scope == RootScope.EXPLICIT
        return is_named or not skill.root.is_relative_to(self._workspace)
