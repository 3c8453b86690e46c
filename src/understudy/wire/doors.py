"""Imports and publications on the wire."""

from typing import Annotated, Final

from pydantic import Field

from understudy.foreign.imports import ImportSource
from understudy.wire.base import Id, Lax, RequestBody

MAX_PATH_CHARS: Final = 4_096
FilePath = Annotated[str, Field(min_length=1, max_length=MAX_PATH_CHARS)]


class PublishFiles(RequestBody):
    """The repository to publish into, or to compare."""

    directory: FilePath
    """An absolute path on the daemon's machine."""
    project_id: Id | None = None
    """The project whose standing learnings are written; left out, those of the workspace are."""
    check: bool = False
    """Whether to compare only, and write nothing."""


class ImportTranscripts(RequestBody):
    """What to import: files on the daemon's machine, or the text of one."""

    source: Lax[ImportSource]
    """The program that wrote it."""
    path: FilePath | None = None
    """A file or folder on the daemon's machine, as an absolute path; needs an operator."""
    upload: str | None = None
    """The text of a transcript or of a memory file."""
    name: str = Field(default="upload.jsonl", min_length=1, max_length=255)
    """The name of the uploaded file; one that ends with `.md` is a memory file."""
    cursor: str | None = Field(default=None, max_length=100)
    """Where to go on: `next_cursor` of the answer before."""
    max_bytes: int | None = Field(default=None, ge=1, le=2**40)
    """The bytes after which this call has read enough; left out, it reads everything."""
