"""The folder that a session works in: the workspace, or one below it that no link stands for."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

# In the workspace: the folders of sessions that work apart from it.
WORKTREES: Final = ".understudy-procedural-worktrees"


@dataclass(frozen=True, slots=True)
class Place:
    """A folder by where to begin and the names that lead on from there."""

    # The operator's own choice, so it alone may be reached through a link.
    root: Path
    below: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The same as one path, to be shown and compared; never to be opened."""
        return self.root.joinpath(*self.below)
