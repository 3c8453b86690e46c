"""How the text of some arguments is read, so that a pattern covers what it seems to cover.

A wildcard is generous: `git *` also fits `git status; rm -rf /`. So an argument that something
interprets has a guard, which is strict with an allow (it must match the safe reading of the
argument) and broad with ask and deny (any reading of it will do).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from understudy.permissions.globs import matches
from understudy.permissions.shell import shell_objection, shell_touches
from understudy.permissions.urls import url_objection, url_touches

DIFFERS: Final = "does not match"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Two ways to hold a pattern against the text of an argument."""

    # Why an allow does not match; None when it does.
    objects: Callable[[str, str], str | None]
    # Whether an ask or a deny matches.
    touches: Callable[[str, str], bool]


def guards_of(tool: str) -> Mapping[str, Guard]:
    """The guarded arguments of a tool, by name."""
    return GUARDED.get(tool, {})


def _plain_objection(pattern: str, text: str) -> str | None:
    return None if matches(pattern, text) else DIFFERS


def _path_objection(pattern: str, text: str) -> str | None:
    if ".." in text.split("/"):
        return "climbs with '..', which an allow rule does not cover"
    return None if matches(pattern, _tidy_path(text)) else DIFFERS


def _path_touches(pattern: str, text: str) -> bool:
    return matches(pattern, text) or matches(pattern, _tidy_path(text))


def _tree_touches(pattern: str, text: str) -> bool:
    """A call about a directory is about what is in it."""
    return _path_touches(pattern, text) or matches(pattern, f"{_tidy_path(text)}/")


def _tidy_path(text: str) -> str:
    """A path without `.`, `..` and doubled slashes; links on its way are the tool's affair."""
    names: list[str] = []
    for name in text.split("/"):
        if name == "..":
            del names[-1:]
        elif name not in ("", "."):
            names.append(name)
    start = "/" if text.startswith("/") else ""
    return start + "/".join(names) or "."


PLAIN: Final = Guard(objects=_plain_objection, touches=matches)
SHELL: Final = Guard(objects=shell_objection, touches=shell_touches)
PATH: Final = Guard(objects=_path_objection, touches=_path_touches)
TREE: Final = Guard(objects=_path_objection, touches=_tree_touches)
URL: Final = Guard(objects=url_objection, touches=url_touches)

GUARDED: Final[Mapping[str, Mapping[str, Guard]]] = {
    "shell": {"command": SHELL},
    "fetch_url": {"url": URL},
    "read_file": {"path": PATH},
    "write_file": {"path": PATH},
    "edit_file": {"path": PATH},
    "list_files": {"path": TREE},
    "search_files": {"path": TREE},
}
