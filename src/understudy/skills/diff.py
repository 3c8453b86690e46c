"""The diff between two versions of a skill."""

from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Annotated, Final

from understudy.core.line_diff import Effort, unified
from understudy.core.records import OMIT
from understudy.guard.texts import is_text
from understudy.skills.bundles.bundle import Bundle

# Limits for all files together: about a second of CPU, and what a person would read.
MAX_STEPS: Final = 1_500_000
MAX_DIFF_LINES: Final = 5_000
MAX_DIFF_CHARS: Final = 400_000
_UNENDED: Final = "\n\\ No newline at end of file"


class FileChange(StrEnum):
    """How a file differs."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """One file that differs; `diff` is None for what is not text."""

    path: str
    change: FileChange
    old_size: Annotated[int | None, OMIT] = None
    new_size: Annotated[int | None, OMIT] = None
    diff: Annotated[str | None, OMIT] = None
    # Whether the diff is truncated.
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleDiff:
    """Every file that differs, by path."""

    from_digest: str
    to_digest: str
    files: tuple[FileDiff, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillDiff(BundleDiff):
    """What changed from one version of a skill to another."""

    from_version: int
    to_version: int


@dataclass(slots=True)
class _Room:
    """The lines and characters that are left for diffs."""

    lines: int
    chars: int

    def take(self, text: str) -> bool:
        self.lines -= 1
        self.chars -= len(text) + 1
        return self.lines >= 0 and self.chars >= 0


def compare(old: Bundle, new: Bundle) -> BundleDiff:
    """The diff from one bundle to another."""
    effort, room = Effort(MAX_STEPS), _Room(MAX_DIFF_LINES, MAX_DIFF_CHARS)
    differing = [path for path in sorted({*old, *new}) if old.get(path) != new.get(path)]
    return BundleDiff(
        from_digest=old.digest,
        to_digest=new.digest,
        files=tuple(_file(path, old.get(path), new.get(path), effort, room) for path in differing),
    )


def _file(path: str, old: bytes | None, new: bytes | None, effort: Effort, room: _Room) -> FileDiff:
    change = (
        FileChange.ADDED
        if old is None
        else FileChange.REMOVED
        if new is None
        else FileChange.CHANGED
    )
    readable = all(data is None or is_text(path, data) for data in (old, new))
    shown, cut = _shown(path, old, new, effort, room) if readable else (None, False)
    return FileDiff(
        path=path,
        change=change,
        old_size=None if old is None else len(old),
        new_size=None if new is None else len(new),
        diff=shown,
        cut=cut,
    )


def _shown(
    path: str, old: bytes | None, new: bytes | None, effort: Effort, room: _Room
) -> tuple[str, bool]:
    lines = [
        f"--- {'a/' + path if old is not None else '/dev/null'}",
        f"+++ {'b/' + path if new is not None else '/dev/null'}",
    ]
    # One line more than there is room for: a diff that stops there is truncated.
    for line in islice(unified(_lines(old), _lines(new), effort), max(0, room.lines) + 1):
        if not room.take(line):
            return "\n".join(lines), True
        lines.append(line)
    return "\n".join(lines), False


def _lines(data: bytes | None) -> list[str]:
    """The lines of a text; a last line without a newline is marked, as `patch` needs it."""
    *lines, last = (data or b"").decode(errors="replace").split("\n")
    return [*lines, last + _UNENDED] if last else lines
