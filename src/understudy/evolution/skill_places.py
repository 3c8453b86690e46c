"""Where in the workspace a file is a skill for everybody, as soon as it is written."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from understudy.evolution.names import MAX_PATH_CHARS, folded_parts, places_meant
from understudy.skills.bundles.limits import MANIFEST
from understudy.skills.local.roots import Root

_MANIFEST: Final = MANIFEST.casefold()


@dataclass(frozen=True, slots=True)
class SkillPlaces:
    """Knows them from the roots in which skills are looked for; without roots there are none."""

    workspace: Path
    roots: Sequence[Root]

    def has(self, path: str) -> bool:
        """Whether a path in the workspace is that of a SKILL.md below a root, however it is spelled."""
        if len(path) > MAX_PATH_CHARS or not self.roots:
            return False
        meant = [place for place in places_meant(path, self.workspace) if place[-1:] == [_MANIFEST]]
        if not meant:
            return False
        tops = [top for root in self.roots for top in _tops(root)]
        return any(place[: len(top)] == top for place in meant for top in tops)


def _tops(root: Root) -> tuple[list[str], list[str]]:
    """The names on the way to a root, as it is written and as it lies on the disk."""
    # Nothing is looked for behind a link that stands between such a base and its root.
    base = root.path if root.base is None else root.base
    real = Path(os.path.realpath(base)) / root.path.relative_to(base)
    return folded_parts(root.path), folded_parts(real)
