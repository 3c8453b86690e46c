"""Turns a path that a model gave into file descriptors that cannot leave the workspace.

A path is first read as text by the rules below, then walked one component at a time with
`openat` and `O_NOFOLLOW`. Nothing is checked by name and used by name later, so a link swapped in
between changes nothing.
"""

import errno
import os
import re
import stat
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from understudy.tools.base import FolderPlace, ToolError

MAX_PATH_BYTES: Final = 1024
MAX_NAME_BYTES: Final = 255
MAX_DEPTH: Final = 32
SHOWN_CHARS: Final = 80

# Control, format (bidirectional marks, zero widths), line and paragraph separators.
_UNPRINTED: Final = frozenset({"Cc", "Cf", "Zl", "Zp"})
# They look like a slash or backslash but do not fold to one.
_SLASH_LIKE: Final = frozenset("\u2044\u2215\u2216\u2571\u2572\u29f5\u29f8\u29f9")
_PATH_MARKS: Final = "./\\"
_DRIVE: Final = re.compile(r"[A-Za-z]:")

_DIRECTORY_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a FIFO that replaces the file after the check must not hang the daemon.
_READ_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class PathRule:
    """One reason to refuse a path or one of its names."""

    code: str
    reason: str
    broken_by: Callable[[str], bool]


def _is_not_utf8(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)


def _has_unprinted(text: str) -> bool:
    return any(unicodedata.category(char) in _UNPRINTED for char in text)


def _imitates_path_marks(text: str) -> bool:
    """Whether a character would become `.`, `/` or a backslash under Unicode normalisation."""
    if not _SLASH_LIKE.isdisjoint(text):
        return True
    folded = unicodedata.normalize("NFKC", text)
    return any(folded.count(mark) != text.count(mark) for mark in _PATH_MARKS)


def _has_loose_edges(name: str) -> bool:
    return name != name.strip() or name.endswith(".")


# Rules for the whole text, in the order they are tried.
PATH_RULES: Final = (
    PathRule("path_empty", "is empty", lambda text: not text.strip()),
    PathRule("path_not_utf8", "is not valid UTF-8", _is_not_utf8),
    PathRule(
        "path_too_long",
        f"is longer than {MAX_PATH_BYTES} bytes",
        lambda text: len(text.encode()) > MAX_PATH_BYTES,
    ),
    PathRule("path_control_character", "has a control or invisible character", _has_unprinted),
    PathRule(
        "path_absolute",
        "is absolute; give it relative to the workspace",
        lambda text: text.lstrip().startswith("/"),
    ),
    PathRule(
        "path_home",
        "begins with '~', which is not expanded here; give it relative to the workspace",
        lambda text: text.lstrip().startswith("~"),
    ),
    PathRule("path_backslash", "has a backslash; separate names with '/'", lambda t: "\\" in t),
    PathRule(
        "path_drive",
        "begins with a drive letter",
        lambda text: _DRIVE.match(text.lstrip()) is not None,
    ),
    PathRule("path_url", "is a URL, not a path", lambda text: "://" in text),
    PathRule(
        "path_lookalike",
        "has a character that imitates '.', '/' or a backslash",
        _imitates_path_marks,
    ),
    PathRule(
        "path_not_normalised",
        "is not in Unicode form NFC",
        lambda text: not unicodedata.is_normalized("NFC", text),
    ),
)

# Rules for each name between slashes.
NAME_RULES: Final = (
    PathRule("path_parent", "uses '..', which could leave the workspace", lambda n: n == ".."),
    PathRule(
        "path_name_too_long",
        f"has a name longer than {MAX_NAME_BYTES} bytes",
        lambda name: len(name.encode()) > MAX_NAME_BYTES,
    ),
    PathRule(
        "path_loose_edges", "has a name with blanks around it or a dot at its end", _has_loose_edges
    ),
)

# Messages for errno values; they name no path of this machine.
_OS_REASONS: Final = {
    errno.ENOENT: ("not_found", "does not exist"),
    errno.ENOTDIR: ("not_a_directory", "is not a directory, or passes through something else"),
    errno.EISDIR: ("is_a_directory", "is a directory"),
    errno.ELOOP: ("path_link", "is or passes through a symbolic link"),
    errno.EACCES: ("permission_denied", "permission denied"),
    errno.EPERM: ("permission_denied", "permission denied"),
    errno.EROFS: ("read_only", "the file system is read-only"),
    errno.ENOSPC: ("disk_full", "the disk is full"),
    errno.EDQUOT: ("disk_full", "the disk quota is used up"),
    errno.EFBIG: ("file_too_large", "the file would be too large"),
    errno.ENAMETOOLONG: ("path_too_long", "is too long"),
    errno.ENXIO: ("path_special", "is not a regular file"),
}


@dataclass(frozen=True, slots=True)
class WorkspacePath:
    """A validated path: plain names below the workspace, none of them `..`."""

    parts: tuple[str, ...]

    @property
    def folder(self) -> tuple[str, ...]:
        """The names before the last one."""
        return self.parts[:-1]

    @property
    def name(self) -> str:
        """The last name; refuses the workspace itself."""
        if not self.parts:
            raise ToolError("path '.' is the workspace itself, not a file", code="is_a_directory")
        return self.parts[-1]

    def __str__(self) -> str:
        return "/".join(self.parts) or "."


def parse_path(text: str) -> WorkspacePath:
    """Read a model's path, or raise a `ToolError` that names the rule it breaks."""
    _apply(PATH_RULES, text, shown=text)
    parts = tuple(part for part in text.split("/") if part not in ("", "."))
    for part in parts:
        _apply(NAME_RULES, part, shown=text)
    if len(parts) > MAX_DEPTH:
        raise _refusal("path_too_deep", f"has more than {MAX_DEPTH} names", text)
    return WorkspacePath(parts)


def _apply(rules: Sequence[PathRule], text: str, *, shown: str) -> None:
    for rule in rules:
        if rule.broken_by(text):
            raise _refusal(rule.code, rule.reason, shown)


def _refusal(code: str, reason: str, path: object) -> ToolError:
    return ToolError(f"path {show(str(path))} {reason}", code=code)


def show(text: str) -> str:
    """Untrusted text, quoted, cut, and with invisible characters escaped."""
    return repr(text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + "…")


@contextmanager
def readable_errors(path: object) -> Iterator[None]:
    """Turn an `OSError` into a `ToolError` about `path`."""
    try:
        yield
    except OSError as problem:
        code, reason = _OS_REASONS.get(
            problem.errno or 0, ("io_error", os.strerror(problem.errno or errno.EIO).lower())
        )
        raise ToolError(f"{show(str(path))}: {reason}", code=code) from None


@contextmanager
def open_directory(
    workspace: Path | FolderPlace, parts: Sequence[str], *, create: bool = False
) -> Iterator[int]:
    """A descriptor of a directory below the workspace; `create` makes the missing ones."""
    descriptor = _open_place(
        workspace if isinstance(workspace, FolderPlace) else FolderPlace(workspace)
    )
    try:
        for part in parts:
            child = open_child_directory(descriptor, part, create=create)
            os.close(descriptor)
            descriptor = child
        yield descriptor
    finally:
        os.close(descriptor)


def _open_place(place: FolderPlace) -> int:
    try:
        descriptor = os.open(place.root, _DIRECTORY_FLAGS & ~os.O_NOFOLLOW)
        for name in place.below:
            try:
                child = open_child_directory(descriptor, name)
            finally:
                os.close(descriptor)
            descriptor = child
    except OSError as problem:
        raise ToolError("the workspace cannot be opened", code="workspace_missing") from problem
    return descriptor


def open_child_directory(parent: int, name: str, *, create: bool = False) -> int:
    """A descriptor of the directory `name` in `parent`, without following a symlink."""
    try:
        return os.open(name, _DIRECTORY_FLAGS, dir_fd=parent)
    except FileNotFoundError:
        if not create:
            raise
    except NotADirectoryError:
        # Linux says "not a directory" for symlinks too; check again only to word the refusal.
        if _kind(parent, name) == stat.S_IFLNK:
            raise OSError(errno.ELOOP, "symbolic link") from None
        raise
    _make_directory(parent, name)
    return os.open(name, _DIRECTORY_FLAGS, dir_fd=parent)


def _make_directory(parent: int, name: str) -> None:
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:
        return  # created by another process meanwhile; opening it decides whether it is usable


def _kind(parent: int, name: str) -> int | None:
    try:
        return stat.S_IFMT(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return None


def open_regular(parent: int, name: str) -> int:
    """A descriptor for reading the regular file `name` in `parent`, without other hard links."""
    # Opening a device can have side effects, so check before opening and again after.
    _check_regular(os.stat(name, dir_fd=parent, follow_symlinks=False), name)
    descriptor = os.open(name, _READ_FLAGS, dir_fd=parent)
    try:
        _check_regular(os.fstat(descriptor), name)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def check_replaceable(parent: int, name: str) -> os.stat_result | None:
    """The regular file that a write would replace; None where the path does not exist."""
    try:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    _check_regular(found, name)
    return found


def _check_regular(found: os.stat_result, name: str) -> None:
    kind = stat.S_IFMT(found.st_mode)
    if kind == stat.S_IFLNK:
        raise _refusal("path_link", "is a symbolic link, which is not followed", name)
    if kind == stat.S_IFDIR:
        raise _refusal("is_a_directory", "is a directory", name)
    if kind != stat.S_IFREG:
        raise _refusal("path_special", "is not a regular file", name)
    if found.st_nlink > 1:
        raise _refusal("path_hard_link", "is a hard link: the same file has a name elsewhere", name)
