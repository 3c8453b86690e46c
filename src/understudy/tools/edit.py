"""The tool that replaces exact text in a file of the workspace."""

import os
import stat
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from understudy.tools.base import (
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
    WorkspacePath,
    check_replaceable,
    open_directory,
    open_regular,
    parse_path,
    readable_errors,
)
from understudy.tools.text_files import (
    MAX_WRITE_BYTES,
    check_size,
    decode,
    encode,
    replace,
    size_of,
)

if TYPE_CHECKING:
    from understudy.evolution.context_files import AgentContextFiles


class EditFileParameters(Parameters):
    """The parameters of `edit_file`."""

    path: PathText
    old_text: str = Field(
        min_length=1, description="The text to replace, exactly as in the file, blanks included."
    )
    new_text: str = Field(description="What to put in its place; empty to take it out.")
    replace_all: bool = Field(
        default=False, description="Replace every occurrence instead of the only one."
    )


class EditFile:
    """Replaces text that occurs once, or every occurrence when asked to."""

    name = "edit_file"
    description = (
        "Replace exact text in a UTF-8 file of the workspace. The old text must occur exactly "
        "once, unless replace_all is set; add the lines around it until it does."
    )
    # A repeat is another edit: if the new text contains the old one it would match again, and if
    # not the model would be told of a failure that was none.
    effect = Effect.ONCE
    approval = Approval.NEVER
    parameters: type[BaseModel] = EditFileParameters

    def __init__(self, context_files: "AgentContextFiles | None" = None) -> None:
        self._context_files = context_files
        # The calls of one reply run concurrently; two edits of one file must not overwrite each
        # other.
        self._one_at_a_time = threading.Lock()

    async def call(self, arguments: EditFileParameters, context: ToolContext) -> str:
        """The number of replacements, and the path."""
        return await in_thread(self._edit, arguments, context)

    def _edit(self, wanted: EditFileParameters, context: ToolContext) -> str:
        files = self._context_files
        name = files.named(wanted.path, context.workspace) if files else None
        if files and name:
            edit = _Edit.wanted(wanted)
            return files.edit(name, lambda text: decode(edit.made_in(text.encode())[0]), context)
        path = parse_path(wanted.path)
        return self._edit_on_disk(context.place, path, _Edit.wanted(wanted))

    def _edit_on_disk(self, place: FolderPlace, path: WorkspacePath, edit: "_Edit") -> str:
        name = path.name
        with (
            self._one_at_a_time,
            readable_errors(path),
            open_directory(place, path.folder) as folder,
        ):
            content, before = _read_whole(folder, name)
            edited, count = edit.made_in(content)
            _check_unchanged(folder, name, before)
            replace(folder, name, edited, mode=stat.S_IMODE(before.st_mode) & 0o777)
        places = "1 place" if count == 1 else f"{count} places"
        return f"edited {path}: {places} changed ({size_of(edited)})"


@dataclass(frozen=True, slots=True)
class _Edit:
    """A replacement of text: at one place, or wherever the text occurs."""

    old: bytes
    new: bytes
    every: bool

    @classmethod
    def wanted(cls, arguments: EditFileParameters) -> "_Edit":
        """The edit of a call, or a `ToolError` when it changes nothing."""
        old, new = encode(arguments.old_text), encode(arguments.new_text)
        if old == new:
            raise ToolError("old_text and new_text are the same", code="nothing_to_change")
        return cls(old, new, every=arguments.replace_all)

    def made_in(self, content: bytes) -> tuple[bytes, int]:
        """The new content, and the number of replacements."""
        count = _places(content, self.old, every=self.every)
        # Checked first: a short text replaced often by a long one may become enormous.
        check_size(len(content) + count * (len(self.new) - len(self.old)))
        return content.replace(self.old, self.new), count


def _read_whole(folder: int, name: str) -> tuple[bytes, os.stat_result]:
    with os.fdopen(open_regular(folder, name), "rb") as stream:
        content = stream.read(MAX_WRITE_BYTES + 1)
        if len(content) > MAX_WRITE_BYTES:
            raise ToolError(
                f"the file has more than {MAX_WRITE_BYTES} bytes, the most that can be edited",
                code="file_too_large",
            )
        decode(content)
        return content, os.fstat(stream.fileno())


def _places(content: bytes, old: bytes, *, every: bool) -> int:
    first = content.find(old)
    if first < 0:
        raise ToolError(
            f"old_text does not occur in the file{_hint(content, old)}", code="no_match"
        )
    count = content.count(old)
    # Overlapping matches count once, but which of them was meant is ambiguous.
    if not every and content.find(old, first + 1) >= 0:
        raise ToolError(
            f"old_text occurs in {max(count, 2)} places; add the lines around the one you mean, "
            "or set replace_all",
            code="several_matches",
        )
    return count


def _hint(content: bytes, old: bytes) -> str:
    if b"\r\n" in content and b"\n" in old and old.replace(b"\n", b"\r\n") in content:
        return "; its lines end with \\r\\n"
    words = b" ".join(old.split())
    if words and words in b" ".join(content.split()):
        return "; something like it does, with other blanks or line ends"
    return ""


def _check_unchanged(folder: int, name: str, before: os.stat_result) -> None:
    now = check_replaceable(folder, name)
    if now is None or _version(now) != _version(before):
        raise ToolError("the file changed while it was edited; read it again", code="file_changed")


def _version(found: os.stat_result) -> tuple[int, int, int, int]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
