"""What the file tools ask of somebody who keeps an agent's context files: those lie on no disk."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from understudy.tools.base import ToolContext

# The new text of a file, made from the old one; a `ToolError` when it cannot be.
Change = Callable[[str], str]


class ContextFiles(Protocol):
    """Keeps the files that an agent's instructions are made of.

    Blocks, so it is called on a thread; each refusal is a `ToolError`.
    """

    def named(self, path: str, workspace: Path) -> str | None:
        """The context file that a path means, however it is spelled; None for all other files."""
        ...

    def read(self, name: str, context: ToolContext) -> str | None:
        """Its text as it counts for the run's user; None where there is none."""
        ...

    def write(self, name: str, content: str, context: ToolContext) -> str:
        """Put a new text in its place; answers what came of it."""
        ...

    def edit(self, name: str, change: Change, context: ToolContext) -> str:
        """Change the text that is there; answers what came of it."""
        ...


class NoContextFiles:
    """Every file is one of the workspace."""

    def named(self, path: str, workspace: Path) -> str | None:
        """None means one of them."""
        return None

    def read(self, name: str, context: ToolContext) -> str | None:
        """There is none."""
        return None

    def write(self, name: str, content: str, context: ToolContext) -> str:
        """Never asked."""
        raise NotImplementedError

    def edit(self, name: str, change: Change, context: ToolContext) -> str:
        """Never asked."""
        raise NotImplementedError


NO_CONTEXT_FILES = NoContextFiles()
