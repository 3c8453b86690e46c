"""The folders of connected agents, in which the daemon may read and write memory files."""

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from understudy.core.errors import coded_error
from understudy.foreign.connections import connections
from understudy.foreign.memory_files import is_memory
from understudy.tools.text_files import replace

MAX_FILE_BYTES: Final = 256 * 1024
_NO_LINK: Final = os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Folders:
    """Reads and writes memory files below the folders that a person has connected."""

    home: Path

    def connected(self) -> tuple[Path, ...]:
        """The connected folders; none where the list is absent or damaged."""
        return tuple(Path(name) for each in connections(self.home) for name in each.folders)

    def may_touch(self, path: str) -> bool:
        """Whether a path is a memory file in a connected folder, with no link on the way."""
        if not Path(path).is_absolute() or os.path.normpath(path) != path or not is_memory(path):
            return False
        below = [each for each in self.connected() if Path(path).is_relative_to(each)]
        return any(os.path.realpath(Path(path).parent) == str(Path(path).parent) for _ in below)

    def read(self, path: str) -> str | None:
        """The text of a memory file; None for one that is absent, not ours to read, or no text."""
        if not self.may_touch(path):
            return None
        with suppress(OSError, UnicodeDecodeError), open(path, "rb", opener=_opened) as file:
            content = file.read(MAX_FILE_BYTES + 1)
            return content.decode() if len(content) <= MAX_FILE_BYTES else None
        return None

    def may_write(self, path: str) -> bool:
        """Whether a memory file may be replaced: it is absent, or its whole text can be read."""
        return self.may_touch(path) and (not os.path.lexists(path) or self.read(path) is not None)

    def write(self, path: str, content: str, *, before: str) -> bool:
        """Replace a memory file that still holds `before`; False where it is not ours to write."""
        if not self.may_write(path):
            return False
        if (self.read(path) or "") != before:
            raise coded_error("foreign/memory_file_changed", name=path)
        try:
            _replace(Path(path), content)
        except OSError as problem:
            why = problem.strerror or str(problem)
            raise coded_error("foreign/memory_file_unwritable", name=path, why=why) from problem
        return True


def _opened(path: str, flags: int) -> int:
    """Open a file, without a wait for the other end where it is none."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | _NO_LINK)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise FileNotFoundError(path)


def _replace(file: Path, content: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK)
    try:
        mode = file.stat().st_mode & 0o777 if file.exists() else None
        replace(folder, file.name, content.encode(), mode=mode)
    finally:
        os.close(folder)
