"""The tool that finds text in the files of the workspace."""

import itertools
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import re2
from pydantic import BaseModel, Field

from understudy.patterns.linear import options
from understudy.tools.base import (
    WORKTREES,
    Approval,
    Effect,
    FolderPlace,
    Parameters,
    PathText,
    ToolContext,
    ToolError,
    in_thread,
)
from understudy.tools.paths import (
    MAX_DEPTH,
    WorkspacePath,
    open_child_directory,
    open_directory,
    open_regular,
    parse_path,
    readable_errors,
)

MAX_MATCHES: Final = 200
MAX_LINE_CHARS: Final = 300
MAX_FILES: Final = 20_000
MAX_ENTRIES: Final = 10_000
MAX_FILE_BYTES: Final = 4 * 1024 * 1024
MAX_TOTAL_BYTES: Final = 128 * 1024 * 1024
MAX_SECONDS: Final = 20.0
# The deadline is checked between windows.
WINDOW_BYTES: Final = 64 * 1024
BINARY_LOOK_BYTES: Final = 8 * 1024
# Large directories of generated files; naming one as the path does search it.
SKIPPED_NAMES: Final = frozenset({".git", ".hg", ".venv", "__pycache__", "node_modules", WORKTREES})
# Memory limit of the compiled pattern, which also bounds the work per byte.
_MAX_MEMORY: Final = 256 * 1024
# `^` and `$` match at the ends of lines.
_BY_LINE: Final = "(?m)"
# The wildcards of a glob, longest first.
_GLOB_MARKS: Final = (("**/", r"(?:.*/)?"), ("**", r".*"), ("*", r"[^/]*"), ("?", r"[^/]"))


class SearchFilesParameters(Parameters):
    """The parameters of `search_files`."""

    pattern: str = Field(
        min_length=1, max_length=1000, description="The text to find, within one line."
    )
    path: PathText = "."
    glob: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="Only files like this: '*.py' by name, 'src/**/*.py' by path.",
    )
    regex: bool = Field(default=False, description="Read the pattern as an RE2 expression.")
    ignore_case: bool = Field(default=False, description="Take capitals and small letters alike.")


class SearchFiles:
    """Answers with the lines that hold a text."""

    name = "search_files"
    description = (
        "Find text in the files of the workspace. Answers one match a line as path:line: text. "
        "Binary files, very large files, links, and directories like .git or node_modules are "
        "passed over."
    )
    effect = Effect.READ
    approval = Approval.NEVER
    parameters: type[BaseModel] = SearchFilesParameters

    async def call(self, arguments: SearchFilesParameters, context: ToolContext) -> str:
        """The matching lines, and a note where something was passed over."""
        path = parse_path(arguments.path)
        pattern = compile_pattern(
            arguments.pattern, is_regex=arguments.regex, ignore_case=arguments.ignore_case
        )
        glob = arguments.glob
        search = _Search(
            pattern=pattern,
            glob=compile_glob(glob) if glob else None,
            by_name=glob is not None and "/" not in glob,
            deadline=time.monotonic() + MAX_SECONDS,
        )
        return await in_thread(_run, search, context.place, path)


class _Enough(Exception):
    """A limit is reached: the matches so far are the answer."""


def _run(search: "_Search", place: FolderPlace, path: WorkspacePath) -> str:
    with readable_errors(path), open_directory(place, path.folder) as folder:
        try:
            _begin(search, folder, path)
        except _Enough as limit:
            search.note(f"stopped: {limit}")
    return search.text()


def _begin(search: "_Search", folder: int, path: WorkspacePath) -> None:
    if not path.parts:
        search.walk(folder, above=())
        return
    try:
        child = open_child_directory(folder, path.name)
    except NotADirectoryError:
        os.close(open_regular(folder, path.name))  # raises with the reason when it cannot be read
        search.look_into(folder, path.folder, path.name)
        return
    try:
        search.walk(child, above=path.parts)
    finally:
        os.close(child)


@dataclass(slots=True)
class _Search:
    """The state of one search: pattern, matches, and how much was read."""

    pattern: Any
    glob: Any
    by_name: bool
    deadline: float
    found: list[str] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)
    files: int = 0
    read_bytes: int = 0

    def walk(self, folder: int, *, above: tuple[str, ...]) -> None:
        """Search every file in and below the directory `folder`, in the order of names."""
        with os.scandir(folder) as scan:
            entries = sorted(itertools.islice(scan, MAX_ENTRIES), key=lambda entry: entry.name)
            if next(scan, None) is not None:
                self.note(f"a directory has more than {MAX_ENTRIES} entries")
        for entry in entries:
            self._check_time()
            if entry.name in SKIPPED_NAMES:
                continue
            if entry.is_dir(follow_symlinks=False):
                self._descend(folder, entry.name, above)
            elif entry.is_file(follow_symlinks=False):
                self.look_into(folder, above, entry.name)

    def _descend(self, folder: int, name: str, above: tuple[str, ...]) -> None:
        if len(above) + 1 >= MAX_DEPTH:
            self.note(f"directories below depth {MAX_DEPTH} are not opened")
            return
        try:
            child = open_child_directory(folder, name)
        except OSError:
            self.note("some directories cannot be opened")
            return
        try:
            self.walk(child, above=(*above, name))
        finally:
            os.close(child)

    def look_into(self, folder: int, above: tuple[str, ...], name: str) -> None:
        """Search one file, when the glob matches and it is text."""
        path = "/".join((*above, name))
        if self.glob and not self.glob.fullmatch(os.fsencode(name if self.by_name else path)):
            return
        if self.files == MAX_FILES:
            raise _Enough(f"{MAX_FILES} files were read; narrow the path or the glob")
        self.files += 1
        content = self._read(folder, name)
        if b"\0" not in content[:BINARY_LOOK_BYTES]:
            shown = path if path.isprintable() else repr(path)
            for number, line in self._matches(content):
                self._add(f"{shown}:{number}: {line}")

    def _read(self, folder: int, name: str) -> bytes:
        try:
            with os.fdopen(open_regular(folder, name), "rb") as stream:
                content = stream.read(MAX_FILE_BYTES + 1)
        except (OSError, ToolError):
            self.note("some files cannot be read")
            return b""
        if len(content) > MAX_FILE_BYTES:
            self.note(f"files of more than {MAX_FILE_BYTES} bytes are passed over")
            return b""
        self.read_bytes += len(content)
        if self.read_bytes > MAX_TOTAL_BYTES:
            raise _Enough(f"{MAX_TOTAL_BYTES} bytes were read; narrow the path or the glob")
        return content

    def _matches(self, content: bytes) -> Iterator[tuple[int, str]]:
        before = 0
        for window in _windows(content):
            self._check_time()
            start = 0
            while start < len(window) and (match := self.pattern.search(window, start)):
                begin = window.rfind(b"\n", 0, match.start()) + 1
                end = window.find(b"\n", match.start())
                end = len(window) if end < 0 else end
                number = before + window.count(b"\n", 0, begin) + 1
                yield number, _shown(window[begin:end])
                start = end + 1
            before += window.count(b"\n")

    def _add(self, line: str) -> None:
        if len(self.found) == MAX_MATCHES:
            raise _Enough(f"only the first {MAX_MATCHES} matches are shown")
        self.found.append(line)

    def _check_time(self) -> None:
        if time.monotonic() > self.deadline:
            raise _Enough(f"{MAX_SECONDS:.0f} s are over; narrow the path or the glob")

    def note(self, text: str) -> None:
        """Add a note to the answer, once."""
        self.notes[text] = None

    def text(self) -> str:
        """The answer for the model."""
        lines = self.found or [f"[no match in {self.files} files]"]
        return "\n".join([*lines, *(f"[{note}]" for note in self.notes)])


def _windows(content: bytes) -> Iterator[bytes]:
    """The content in windows of whole lines, unless a line is longer than a window."""
    start = 0
    while start < len(content):
        end = start + WINDOW_BYTES
        if end < len(content):
            end = content.rfind(b"\n", start, end) + 1 or end
        yield content[start:end]
        start = end


def _shown(line: bytes) -> str:
    text = line.decode(errors="replace").strip().replace("\0", "\ufffd")
    return text if len(text) <= MAX_LINE_CHARS else text[:MAX_LINE_CHARS] + "…"


def compile_pattern(text: str, *, is_regex: bool, ignore_case: bool) -> Any:
    """A pattern that is searched in bytes, line by line."""
    try:
        return re2.compile(
            _BY_LINE + text if is_regex else text,
            _options(literal=not is_regex, case_sensitive=not ignore_case, never_nl=True),
        )
    except re2.error as problem:
        reason = problem.args[0] if problem.args else "it cannot be read"
        said = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        said = said.replace(_BY_LINE, "", 1)[:200]
        raise ToolError(f"the regular expression is wrong: {said}", code="bad_pattern") from None


def compile_glob(glob: str) -> Any:
    """A glob that is matched against whole paths, as bytes; without '/' against names."""
    pattern, rest = "", glob
    while rest:
        mark, meaning = next(
            (pair for pair in _GLOB_MARKS if rest.startswith(pair[0])),
            (rest[0], re2.escape(rest[0])),
        )
        pattern, rest = pattern + meaning, rest[len(mark) :]
    return re2.compile(f"(?s){pattern}", _options())


def _options(**changed: bool) -> Any:
    chosen = options(_MAX_MEMORY)
    chosen.never_capture = True
    for name, value in changed.items():
        setattr(chosen, name, value)
    return chosen
