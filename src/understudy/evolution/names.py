"""The context file, or the SKILL.md of a skill root, that a path means, in any spelling.

Context files are in the database and not on disk, so a path is only a name for one. It is read as
different systems would read it, and means a file if any of these readings does.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from understudy.agents.model import CONTEXT_FILES
from understudy.evolution.visible_text import plain
from understudy.skills.bundles.limits import MANIFEST
from understudy.skills.local.roots import Root

# A name may be encoded more than once.
MAX_DECODINGS: Final = 3
# The tools refuse much shorter paths already.
MAX_PATH_CHARS: Final = 16_384
# No file system takes a longer path; it is still compared as text.
MAX_REAL_CHARS: Final = 4096
_SLASH_LIKE: Final = "\\\u2044\u2215\u2216\u2571\u2572\u29f5\u29f8\u29f9"
_SLASHES: Final = str.maketrans(dict.fromkeys(_SLASH_LIKE, "/"))
# Letters that lose or get a dot in case folding of some systems.
_DOTLESS: Final = (("\u0131", "i"), ("i\u0307", "i"))
_BEFORE_PATH: Final = re.compile(
    r"(?:file:(?://(?:localhost)?(?=/))?)?(?:/{0,4}[.?]?/?[a-z]:(?=[\w./]))?"
)
_QUOTES: Final = "\"'`"
# Shell expansions of the working directory.
_HERE: Final = frozenset({"~", "~+", "$pwd", "${pwd}", "$home", "${home}", "%cd%"})
# Folded names to file names.
_KNOWN: Final[Mapping[str, str]] = {name.casefold(): name for name in CONTEXT_FILES}
Parts = list[str]
_MANIFEST: Final = MANIFEST.casefold()


def locked_name(path: str, workspace: Path) -> str | None:
    """The context file that a path in this workspace means; None when it means another file."""
    here, real = str(workspace), os.path.realpath(workspace)
    return _by_spelling(path, {here, real}) or _by_link(path, here, real)


def places_meant(path: str, workspace: Path) -> Iterator[Parts]:
    """The places that a path in this workspace may lead to, as folded path parts from the root.

    As text, and with every symlink followed.
    """
    real = Path(os.path.realpath(workspace))
    for one in {workspace, real}:
        root = _parts(_folded(str(one)))
        for reading in _readings(path):
            yield [*map(_bare, _led_to(reading, root))]
    try:
        yield folded_parts(Path(os.path.realpath(workspace / path)))
    except (OSError, ValueError):
        return


def folded_parts(path: Path) -> Parts:
    """The folded parts of a path, as `places_meant` has them."""
    return [*map(_bare, _parts(_folded(str(path))))]


def _by_spelling(path: str, workspaces: set[str]) -> str | None:
    """The context file that a path means as text, without reading the disk."""
    roots = [_parts(_folded(one)) for one in workspaces]
    found = (_name_in(reading, root) for reading in _readings(path) for root in roots)
    return next((name for name in found if name is not None), None)


def _readings(path: str) -> Iterator[str]:
    """The path as different systems would read it."""
    seen = path
    for _ in range(MAX_DECODINGS + 1):
        # Some systems cut a name at its first NUL; others drop the NUL.
        for text in dict.fromkeys((seen, seen.partition("\0")[0])):
            folded = _folded(text).strip().strip(_QUOTES)
            yield folded
            yield _BEFORE_PATH.sub("", folded, count=1)
        decoded = unquote(seen, errors="replace")
        if decoded == seen:
            return
        seen = decoded


def _folded(path: str) -> str:
    folded = plain(path)
    for sign, usual in _DOTLESS:
        folded = folded.replace(sign, usual)
    return folded.translate(_SLASHES)


def _parts(path: str) -> Parts:
    return [part for part in path.split("/") if part not in {"", "."}]


def _name_in(path: str, root: Parts) -> str | None:
    """The context file at the top of the workspace that a path leads to."""
    *folder, name = _led_to(path, root) or [""]
    return _KNOWN.get(_bare(name)) if folder == root else None


def _led_to(path: str, root: Parts) -> Parts:
    parts = _parts(path)
    if not path.startswith("/"):
        return _walked(parts[1:] if parts[:1] and parts[0] in _HERE else parts, root, start=root)
    walked = _walked(parts, root, start=())
    # Some tools write the working directory as `/`.
    return [*root, *walked] if len(walked) == 1 else walked


def _walked(parts: Sequence[str], root: Parts, *, start: Sequence[str]) -> Parts:
    """The place that the parts of a path lead to."""
    place = [*start]
    for part in parts:
        # Some systems strip blanks and dots at the end of a name.
        if part.rstrip() == "..":
            del place[-1:]
        elif part.strip(" ."):
            place.append(part)
        place = _followed(place, root)
    return place


def _followed(place: Parts, root: Parts) -> Parts:
    """The place, with the links of `/proc` and `/dev/fd` followed."""
    if place[:1] == ["proc"] and len(place) > 2 and place[-1] == "root":
        return []
    is_own_folder = place[:1] == ["proc"] and len(place) > 2 and place[-1] == "cwd"
    is_open_folder = place[:1] in (["proc"], ["dev"]) and place[-2:-1] == ["fd"]
    return [*root] if is_own_folder or is_open_folder else place


def _bare(name: str) -> str:
    """A name without alternate stream, trailing blanks and dots."""
    return name.partition(":")[0].strip().rstrip(". ")


def _by_link(path: str, workspace: str, root: str) -> str | None:
    """The context file that a path means on disk, with every symlink followed.

    Paths are texts here: every call of a file tool asks, and `Path` takes twice as long.
    """
    if len(path) > MAX_REAL_CHARS:
        return None
    try:
        place = os.path.realpath(path if path.startswith("/") else f"{workspace}/{path}")
        folder, _, name = place.rpartition("/")
        if (folder or "/") == root and (known := _KNOWN.get(_bare(_folded(name)))):
            return known
        there = os.stat(place)  # noqa: PTH116 - as above
    except (OSError, ValueError):
        return None
    return next((name for name in CONTEXT_FILES if _is_same(f"{root}/{name}", there)), None)


def _is_same(file: str, there: os.stat_result) -> bool:
    """Whether two paths are hard links of one file."""
    try:
        return os.path.samestat(os.stat(file), there)  # noqa: PTH116 - as above
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class SkillPlaces:
    """The paths of the workspace where a SKILL.md becomes a local skill: below the skill roots."""

    workspace: Path
    # The roots as they are now, as operators add and remove them.
    roots: Callable[[], Sequence[Root]]

    def has(self, path: str) -> bool:
        """Whether a path means a SKILL.md below a skill root, however it is spelled."""
        roots = self.roots()
        if len(path) > MAX_PATH_CHARS or not roots:
            return False
        meant = [place for place in places_meant(path, self.workspace) if place[-1:] == [_MANIFEST]]
        if not meant:
            return False
        tops = [top for root in roots for top in _tops(root)]
        return any(place[: len(top)] == top for place in meant for top in tops)


def _tops(root: Root) -> tuple[list[str], list[str]]:
    """The folded parts of a root, as configured and as on disk."""
    return folded_parts(root.path), folded_parts(Path(os.path.realpath(root.path)))
