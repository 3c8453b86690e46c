"""The rules for paths of files in a skill."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from understudy.core.invisible_characters import hidden_in
from understudy.skills.bundles.limits import MAX_DEPTH, MAX_NAME_BYTES, MAX_PATH_BYTES

_DRIVE: Final = re.compile(r"[A-Za-z]:")
# Names that Windows takes for devices in any folder, whatever the extension.
_DEVICE: Final = re.compile(
    r"(?:con|prn|aux|nul|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3]|conin\$|conout\$)"
    r" *(?:\..*)?",
    re.IGNORECASE | re.DOTALL,
)
# Files that operating systems leave in folders and archives.
ARTIFACTS: Final = frozenset(
    {
        "__macosx",
        ".ds_store",
        "thumbs.db",
        "desktop.ini",
        ".spotlight-v100",
        ".trashes",
        ".fseventsd",
    }
)
_ARTIFACT_PREFIX: Final = "._"


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in {"", "."}]


def _ends_oddly(path: str) -> bool:
    return any(part[-1] == "." or part[-1].isspace() for part in _parts(path))


def is_device(name: str) -> bool:
    """Whether a name is a device on some system, so that no file can have it."""
    return _DEVICE.fullmatch(name) is not None


def _longest(path: str) -> int:
    return max(len(part.encode()) for part in _parts(path))


# In order: the first match gives the reason.
RULES: Final[tuple[tuple[str, Callable[[str], bool]], ...]] = (
    (
        "holds a NUL, control or hidden character",
        lambda path: hidden_in(path, besides="") is not None,
    ),
    ("holds a back-slash", lambda path: "\\" in path),
    ("is absolute", lambda path: path.startswith("/")),
    ("begins with a drive letter", lambda path: _DRIVE.match(path) is not None),
    ('leads upwards ("..")', lambda path: ".." in path.split("/")),
    ("is empty", lambda path: not any(_parts(path))),
    ("has a name that ends in a dot or a space", _ends_oddly),
    ("has a name that is a device on Windows", lambda path: any(map(is_device, _parts(path)))),
    (
        f"has a name longer than {MAX_NAME_BYTES} bytes",
        lambda path: _longest(path) > MAX_NAME_BYTES,
    ),
    (f"is longer than {MAX_PATH_BYTES} bytes", lambda path: len(path.encode()) > MAX_PATH_BYTES),
    (f"lies deeper than {MAX_DEPTH} folders", lambda path: len(_parts(path)) > MAX_DEPTH + 1),
)


def refused_by(path: str) -> str | None:
    """Why a file may not have this path; None when it may."""
    return next((cause for cause, refuses in RULES if refuses(path)), None)


def tidy(path: str) -> str:
    """The path without `.` and empty parts; only for a valid path."""
    return "/".join(_parts(path))


def is_artifact(path: str) -> bool:
    """Whether an operating system left this file there."""
    return any(
        part.casefold() in ARTIFACTS or part.startswith(_ARTIFACT_PREFIX) for part in _parts(path)
    )


def twin(paths: Iterable[str]) -> tuple[str, str] | None:
    """Two paths that collide on some file systems, or a file where another path has a folder."""
    known: dict[str, str] = {}
    for path in paths:
        folded = _folded(path)
        if folded in known:
            return known[folded], path
        known[folded] = path
    for path in known.values():
        for folder in _folders(_folded(path)):
            if folder in known:
                return known[folder], path
    return None


def _folded(path: str) -> str:
    # Twice: case folding can reorder combining marks.
    once = unicodedata.normalize("NFC", path).casefold()
    return unicodedata.normalize("NFC", once).casefold()


def _folders(path: str) -> Iterator[str]:
    end = path.find("/")
    while end >= 0:
        yield path[:end]
        end = path.find("/", end + 1)
