"""The tools that read, write and list files of the workspace."""

import io
import itertools
import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, Final

from pydantic import BaseModel, Field

from understudy.tools.base import (
    Approval,
    Effect,
    FolderPlace,
    OwnWords,
    Parameters,
    PathText,
    ToolContext,
    ToolError,
    in_thread,
)
from understudy.tools.paths import (
    WorkspacePath,
    check_replaceable,
    open_child_directory,
    open_directory,
    open_regular,
    parse_path,
    readable_errors,
)
from understudy.tools.text_files import decode, encode, replace, size_of

if TYPE_CHECKING:
    from understudy.evolution.context_files import AgentContextFiles


MAX_READ_BYTES: Final = 256 * 1024
MAX_SKIPPED_BYTES: Final = 64 * 1024 * 1024
MAX_ENTRIES: Final = 1000
MAX_SCANNED: Final = 10_000
MAX_LIST_DEPTH: Final = 8


class ReadFileParameters(Parameters):
    """The parameters of `read_file`."""

    path: PathText
    offset: int = Field(default=1, ge=1, description="First line to read; lines count from 1.")
    limit: int = Field(default=10_000, ge=1, le=100_000, description="How many lines to read.")


class WriteFileParameters(Parameters):
    """The parameters of `write_file`."""

    path: PathText
    content: str = Field(description="The whole new content of the file.")


class ListFilesParameters(Parameters):
    """The parameters of `list_files`."""

    path: PathText = "."
    recursive: bool = Field(default=False, description="Also list what is in directories below.")


class ReadFile:
    """Answers with the text of a file."""

    name = "read_file"
    description = (
        "Read a UTF-8 text file of the workspace. Long files are cut; the answer then says with "
        "which offset to read on."
    )
    effect = Effect.READ
    approval = Approval.NEVER
    parameters: type[BaseModel] = ReadFileParameters

    def __init__(self, context_files: "AgentContextFiles | None" = None) -> None:
        self._context_files = context_files

    async def call(self, arguments: ReadFileParameters, context: ToolContext) -> str:
        """The lines asked for, and a note where something was cut."""
        return await in_thread(self._read, arguments, context)

    def _read(self, wanted: ReadFileParameters, context: ToolContext) -> str:
        files = self._context_files
        name = files.named(wanted.path, context.workspace) if files else None
        kept = files.read(name, context) if files and name else None
        if kept is None:
            # A context file's name elsewhere is an ordinary file.
            return _read(context.place, parse_path(wanted.path), wanted)
        with io.BytesIO(kept.encode()) as stream:
            shown = _lines(stream, wanted)
        return OwnWords(shown) if isinstance(kept, OwnWords) else shown


class WriteFile:
    """Writes a file atomically."""

    name = "write_file"
    description = (
        "Write a UTF-8 text file of the workspace, replacing what was there. Missing directories "
        "are created."
    )
    effect = Effect.IDEMPOTENT
    approval = Approval.NEVER
    parameters: type[BaseModel] = WriteFileParameters

    def __init__(self, context_files: "AgentContextFiles | None" = None) -> None:
        self._context_files = context_files

    async def call(self, arguments: WriteFileParameters, context: ToolContext) -> str:
        """The size and the path of the file that was written."""
        return await in_thread(self._write, arguments, context)

    def _write(self, wanted: WriteFileParameters, context: ToolContext) -> str:
        files = self._context_files
        name = files.named(wanted.path, context.workspace) if files else None
        if files and name:
            encode(wanted.content)
            return files.write(name, wanted.content, context)
        path = parse_path(wanted.path)
        return _write(context.place, path, encode(wanted.content))


class ListFiles:
    """Answers with the names in a directory."""

    name = "list_files"
    description = (
        "List a directory of the workspace, one name a line, sorted. Directories end with '/'; "
        "links are named but not followed."
    )
    effect = Effect.READ
    approval = Approval.NEVER
    parameters: type[BaseModel] = ListFilesParameters

    async def call(self, arguments: ListFilesParameters, context: ToolContext) -> str:
        """One entry a line, and a note where something was left out."""
        path = parse_path(arguments.path)
        return await in_thread(_list, context.place, path, arguments.recursive)


def _read(place: FolderPlace, path: WorkspacePath, wanted: ReadFileParameters) -> str:
    name = path.name
    with (
        readable_errors(path),
        open_directory(place, path.folder) as folder,
        os.fdopen(open_regular(folder, name), "rb") as stream,
    ):
        return _lines(stream, wanted)


def _lines(stream: BinaryIO, wanted: ReadFileParameters) -> str:
    _skip_lines(stream, wanted.offset - 1)
    return _take_lines(stream, wanted)


def _skip_lines(stream: BinaryIO, count: int) -> None:
    skipped = 0
    while skipped < count:
        chunk = stream.readline(MAX_READ_BYTES)
        if not chunk:
            raise _past_end(count + 1)
        if stream.tell() > MAX_SKIPPED_BYTES:
            raise ToolError(
                f"line {count + 1} lies beyond the first {MAX_SKIPPED_BYTES} bytes",
                code="file_too_large",
            )
        skipped += chunk.endswith(b"\n")


def _take_lines(stream: BinaryIO, wanted: ReadFileParameters) -> str:
    taken: list[bytes] = []
    room = MAX_READ_BYTES
    while len(taken) < wanted.limit and room:
        line = stream.readline(room)
        if not line:
            break
        room -= len(line)
        taken.append(line)
    more = bool(stream.read(1))
    if not taken:
        if wanted.offset > 1:
            raise _past_end(wanted.offset)
        return "[the file is empty]"
    if not more:
        return decode(b"".join(taken))
    if not taken[-1].endswith(b"\n") and len(taken) > 1:
        taken.pop()
    return _cut_text(taken, wanted.offset)


def _past_end(line: int) -> ToolError:
    return ToolError(f"the file ends before line {line}", code="offset_past_end")


def _cut_text(lines: list[bytes], offset: int) -> str:
    text = decode(b"".join(lines), is_cut=True)
    following = offset + len(lines)
    if not lines[-1].endswith(b"\n"):
        return f"{text}\n[cut: line {offset} has more than {MAX_READ_BYTES} bytes]"
    return f"{text}[cut: lines {offset} to {following - 1} shown; read on with offset={following}]"


def _write(place: FolderPlace, path: WorkspacePath, content: bytes) -> str:
    name = path.name
    with readable_errors(path), open_directory(place, path.folder, create=True) as folder:
        before = check_replaceable(folder, name)
        mode = stat.S_IMODE(before.st_mode) & 0o777 if before else None
        replace(folder, name, content, mode=mode)
    return f"{'replaced' if before else 'created'} {path} ({size_of(content)})"


def _list(place: FolderPlace, path: WorkspacePath, recursive: bool) -> str:
    listing = _Listing(depth_limit=MAX_LIST_DEPTH if recursive else 1)
    with readable_errors(path), open_directory(place, path.parts) as folder:
        listing.add(folder, prefix="", depth=1)
    return listing.text()


@dataclass(slots=True)
class _Listing:
    """Lines of a listing, up to a number of entries and a depth."""

    depth_limit: int
    lines: list[str] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)

    def add(self, folder: int, *, prefix: str, depth: int) -> None:
        """Add what is in the directory `folder`, then what is below each entry."""
        with os.scandir(folder) as scan:
            entries = sorted(itertools.islice(scan, MAX_SCANNED), key=lambda entry: entry.name)
            if next(scan, None) is not None:
                self._note(f"a directory has more than {MAX_SCANNED} entries")
            for entry in entries:
                if len(self.lines) == MAX_ENTRIES:
                    self._note(f"only the first {MAX_ENTRIES} entries are shown")
                    return
                self._add_entry(folder, entry, prefix=prefix, depth=depth)

    def _add_entry(self, folder: int, entry: os.DirEntry[str], *, prefix: str, depth: int) -> None:
        # A name with a line break in it must not look like two entries.
        name = prefix + (entry.name if entry.name.isprintable() else repr(entry.name))
        if not entry.is_dir(follow_symlinks=False):
            self.lines.append(name + _mark(entry))
            return
        self.lines.append(f"{name}/")
        if depth < self.depth_limit:
            self._descend(folder, entry.name, prefix=f"{name}/", depth=depth + 1)
        elif depth == MAX_LIST_DEPTH:
            self._note(f"directories below depth {MAX_LIST_DEPTH} are not opened")

    def _descend(self, folder: int, name: str, *, prefix: str, depth: int) -> None:
        try:
            child = open_child_directory(folder, name)
        except OSError:
            self._note("some directories cannot be opened")
            return
        try:
            self.add(child, prefix=prefix, depth=depth)
        finally:
            os.close(child)

    def _note(self, text: str) -> None:
        self.notes[text] = None

    def text(self) -> str:
        """The listing as the model reads it."""
        return "\n".join([*self.lines, *(f"[{note}]" for note in self.notes)]) or (
            "[the directory is empty]"
        )


def _mark(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return " (link)"
    return "" if entry.is_file(follow_symlinks=False) else " (special)"
