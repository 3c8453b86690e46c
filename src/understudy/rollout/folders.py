"""What mounting needs of the place where the files of promoted skills lie."""

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Final, Protocol

from understudy.skills.bundles.bundle import Bundle

# Below the home; in it a folder for each learning.
PLACE: Final = ("skills", "procedural")


class Folders(Protocol):
    """One folder for each learning that is mounted; every call raises `OSError` where it fails.

    Nothing is ever reached through a link: one that stands somewhere is in the way, and is removed
    like any other thing that does not belong.
    """

    def path(self, name: str) -> Path:
        """Where a folder is, or would be."""
        ...

    def names(self) -> Sequence[str]:
        """Everything that is there, also what is no folder."""
        ...

    def has(self, name: str) -> bool:
        """Whether anything has this name."""
        ...

    def digest(self, name: str) -> str | None:
        """The digest of the files in a folder; None for nothing, and "" for what is no skill."""
        ...

    def look(self, name: str) -> Hashable:
        """Equal as long as nobody touched anything in a folder; reads no file."""
        ...

    def write(self, name: str, bundle: Bundle) -> None:
        """Have exactly these files in a folder, whole or not at all."""
        ...

    def remove(self, name: str) -> None:
        """Have nothing of this name."""
        ...
