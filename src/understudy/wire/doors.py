"""Imports and publications on the wire."""

from typing import Annotated, Final

from pydantic import Field

from understudy.wire.base import Id, RequestBody

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
