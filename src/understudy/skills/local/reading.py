"""Reading one skill in a folder: all of its files, what the guard says of them, and no more."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from understudy.core.errors import UnderstudyError
from understudy.core.remembered import Remembered
from understudy.core.text import and_more
from understudy.guard.rule import Finding
from understudy.skills.bundles.bundle import Bundle
from understudy.skills.bundles.folder import read_folder
from understudy.skills.bundles.manifest import read
from understudy.skills.local.budget import (
    MAX_SKILL_BYTES,
    MAX_TEXT_AT_ONCE,
    MAX_TEXT_BYTES,
    text_bytes,
)
from understudy.skills.local.folder_stamp import Stamp
from understudy.skills.local.skill import LocalLoad, LocalSkill, load_skill, unusable

# How many findings of an unsafe skill are told.
_TOLD: Final = 5
_VERDICTS: Final = 4_096

Guard = Callable[[Mapping[str, bytes]], tuple[Finding, ...]]


class LocalReader:
    """Reads skills, and remembers what the guard said of the contents that it met last."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        # By digest: what is wrong with it; "" where nothing is.
        self._verdicts = Remembered[str, str](_VERDICTS)

    def read(
        self, path: Path, *, root: Path, scope: str, at_once: bool = False
    ) -> tuple[LocalLoad, Bundle | None]:
        """The skill of a SKILL.md with its files; none where something is wrong.

        For somebody who waits for it, the guard reads only what it reads in a moment.
        """
        folder = folder_of(path)
        if not folder.is_relative_to(root):
            return unusable(path, "link_leaves_root", "a link leads out of the root"), None
        try:
            bundle = read_folder(folder)
        except UnderstudyError as problem:
            return unusable(path, problem.code, problem.detail), None
        wrong = self._refused(path, bundle, MAX_TEXT_AT_ONCE if at_once else MAX_TEXT_BYTES)
        if wrong is not None:
            return wrong, None
        loaded = load_skill(path, root=root, scope=scope)
        if loaded.skill is not None and not _agrees(loaded.skill, bundle):
            return unusable(path, "changed", "SKILL.md changed while it was read"), None
        return _measured(loaded, path, bundle), bundle

    def _refused(self, path: Path, bundle: Bundle, most: int) -> LocalLoad | None:
        known = self._verdicts.get(bundle.digest)
        if known is None:
            if text_bytes(bundle) > most:
                return too_large(path, f"more than {most} bytes of text")
            known = _told(self._guard(bundle))
            self._verdicts.put(bundle.digest, known)
        return unusable(path, "unsafe", known) if known else None


def folder_of(path: Path) -> Path:
    """The folder of a SKILL.md itself, where the way to it leads over a link within the root."""
    return Path(os.path.realpath(path.parent))


def bytes_in(stamp: Stamp) -> int:
    """How much a folder of this stamp holds."""
    return sum(size for _, _, size, _, _ in stamp)


def too_large(path: Path, what: str = f"more than {MAX_SKILL_BYTES} bytes") -> LocalLoad:
    """A skill that nobody reads; one that is kept may be larger."""
    return unusable(path, "too_large", f"the folder holds {what}, too much for a local skill")


def _measured(loaded: LocalLoad, path: Path, bundle: Bundle) -> LocalLoad:
    if loaded.skill is None:
        return loaded
    try:
        changed_at_ms = path.stat().st_mtime_ns // 1_000_000
    except OSError:
        return unusable(path, "unreadable", "SKILL.md cannot be read")
    skill = replace(loaded.skill, size=bundle.size, changed_at_ms=changed_at_ms)
    return replace(loaded, skill=skill)


def _agrees(skill: LocalSkill, bundle: Bundle) -> bool:
    """Whether what the guard saw is what was loaded."""
    reading = read(bundle.manifest_text)
    return reading.manifest == skill.manifest and reading.body == skill.instructions


def _told(findings: Sequence[Finding]) -> str:
    told = [f"{each.path} line {each.line}: {each.reason}" for each in findings[:_TOLD]]
    return "; ".join(and_more(told, len(findings) - _TOLD))
