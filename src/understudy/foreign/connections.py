"""The coding agents that a person has connected, and what their files held before."""

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from understudy.core.errors import coded_error
from understudy.tools.text_files import replace as replace_file

# In the home of the daemon.
CONNECTED: Final = "connected.json"
PRIVATE: Final = 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectedFile:
    """A file that a connection made or changed."""

    path: str
    # What it held before; None for a file that was not there.
    before: str | None = None
    after: str = ""
    # What is ours in a file that others write to, too; None where the whole file is.
    mark: str | None = None
    mode_before: int | None = None
    # The highest folder that was made for it.
    made_folder: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A coding agent under review: everywhere, or in one project."""

    tool: str
    # Where the daemon may read and write memory files.
    folders: tuple[str, ...]
    project: str | None = None
    url: str = ""
    token_id: str = ""
    connected_at_ms: int = 0
    files: tuple[ConnectedFile, ...] = ()

    def is_intact(self) -> bool:
        """Whether its files still hold what the connection wrote."""
        return all(_is_intact(each, text_of(Path(each.path))) for each in self.files)


def _is_intact(file: ConnectedFile, now: str | None) -> bool:
    return now == file.after if file.mark is None else file.mark in (now or "")


def connections(home: Path) -> tuple[Connection, ...]:
    """The connections of a home; none where the list is absent or damaged."""
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        return tuple(
            Connection(
                **{
                    **each,
                    "folders": tuple(each["folders"]),
                    "files": tuple(ConnectedFile(**file) for file in each.get("files", ())),
                }
            )
            for each in json.loads((home / CONNECTED).read_text())
        )
    return ()


def keep_connections(home: Path, kept: Sequence[Connection]) -> None:
    """Write the list; without any there is no file."""
    path = home / CONNECTED
    if kept:
        write_text(path, json.dumps([asdict(each) for each in kept], indent=1) + "\n", PRIVATE)
    else:
        path.unlink(missing_ok=True)


def text_of(path: Path) -> str | None:
    """The text of a file; None where there is none."""
    try:
        # Without newline=, "\r\n" would come back as "\n".
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as problem:
        raise coded_error("foreign/client_file_unreadable", name=str(path)) from problem


def write_text(path: Path, text: str, mode: int | None = None) -> None:
    """Replace a file at once; a link to it stays a link."""
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        replace_file(folder, target.name, text.encode(), mode=mode)
    finally:
        os.close(folder)


def put(path: Path, text: str, mode: int | None, mark: str | None = None) -> ConnectedFile:
    """Write a file of a connection, and tell what was there before."""
    before = text_of(path)
    mode_before = path.stat().st_mode & 0o777 if before is not None else None
    missing = [each for each in path.parents if not each.exists()]
    made = ConnectedFile(
        path=str(path),
        before=before,
        after=text,
        mark=mark,
        mode_before=mode_before,
        made_folder=str(missing[-1]) if missing else None,
    )
    write_text(path, text, mode if mode is not None else mode_before)
    return made


def restored(file: ConnectedFile, strip: Callable[[str], str | None]) -> str | None:
    """What a file holds without the connection; `strip` takes our part out of a changed one."""
    now = text_of(Path(file.path))
    if now is None or now == file.after:
        return file.before if now is not None else None
    return strip(now)


def put_back(file: ConnectedFile, text: str | None) -> None:
    """Give a file the text that it has without the connection; None removes it."""
    path = Path(file.path)
    if text is None:
        path.unlink(missing_ok=True)
    elif text_of(path) != text or file.mode_before is not None:
        write_text(path, text, file.mode_before)
    if file.made_folder is not None:
        _remove_empty(path.parent, Path(file.made_folder))


def _remove_empty(folder: Path, last: Path) -> None:
    with suppress(OSError):
        while folder.is_relative_to(last):
            folder.rmdir()
            folder = folder.parent


def without(kept: Sequence[Connection], gone: Connection) -> tuple[Connection, ...]:
    """The connections but one."""
    place = (gone.tool, gone.project)
    return tuple(each for each in kept if (each.tool, each.project) != place)


def with_files(connection: Connection, files: Sequence[ConnectedFile]) -> Connection:
    """A connection with the files that were written for it."""
    return replace(connection, files=tuple(files))
