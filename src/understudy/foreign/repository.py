"""The files of a repository that a person names: read, replaced and removed without following links."""

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from understudy.core.errors import coded_error
from understudy.tools.base import ToolError
from understudy.tools.paths import (
    check_replaceable,
    open_directory,
    open_regular,
    parse_path,
    readable_errors,
)
from understudy.tools.text_files import replace

MAX_FILE_BYTES: Final = 32 * 1024 * 1024


class Repository:
    """A folder below which files are named by relative paths; a link on the way is refused."""

    def __init__(self, directory: str) -> None:
        root, is_folder = Path(directory), False
        with suppress(OSError):
            is_folder = root.is_absolute() and root.is_dir()
        if not is_folder:
            raise coded_error("foreign/no_directory", pointer="/directory", path=directory)
        self.root = root

    def read(self, path: str) -> bytes | None:
        """The content of a file; None where there is none."""
        with self._located(path) as (folder, name):
            if folder is None:
                return None
            try:
                descriptor = open_regular(folder, name)
            except FileNotFoundError:
                return None
            with os.fdopen(descriptor, "rb") as file:
                content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise coded_error("foreign/bad_file", path=path, why="it is too large")
        return content

    def link(self, name: str) -> str | None:
        """Where a symbolic link of the folder points; None for everything else."""
        with suppress(OSError):
            return os.path.normpath((self.root / name).readlink())
        return None

    def write(self, path: str, content: bytes) -> None:
        """Replace a file, or create it with the folders above it."""
        with self._located(path, create=True) as (folder, name):
            if folder is not None:
                found = check_replaceable(folder, name)
                mode = None if found is None else stat.S_IMODE(found.st_mode)
                replace(folder, name, content, mode=mode)

    def remove(self, path: str) -> None:
        """Remove a file, and the folders above it that are empty then."""
        with self._located(path) as (folder, name):
            if folder is not None and check_replaceable(folder, name) is not None:
                os.unlink(name, dir_fd=folder)
        for above in list(Path(path).parents)[:-1]:
            with self._located(str(above)) as (folder, name), suppress(OSError):
                # Only an empty folder can be removed like this.
                if folder is not None:
                    os.rmdir(name, dir_fd=folder)

    def files(self, path: str) -> Iterator[str]:
        """The paths of the files below a folder; none where a link leads there."""
        top = self.root.resolve() / path
        if top.resolve() == top:
            for folder, _, names in os.walk(top):
                yield from (f"{path}{folder.removeprefix(str(top))}/{name}" for name in names)

    @contextmanager
    def _located(self, path: str, *, create: bool = False) -> Iterator[tuple[int | None, str]]:
        """The folder of a path, None where it is missing, and the name in it."""
        try:
            place = parse_path(path)
            with readable_errors(path), ExitStack() as opened:
                folder = None
                with suppress(FileNotFoundError):
                    below = open_directory(self.root, place.folder, create=create)
                    folder = opened.enter_context(below)
                yield folder, place.name
        except ToolError as refused:
            raise coded_error("foreign/bad_file", path=path, why=refused.detail) from None
