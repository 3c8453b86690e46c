"""Where run memories are kept."""

from typing import Final

from understudy.settings import Settings
from understudy.storage.run_memory_files import FileRunMemories
from understudy.storage.run_memory_rows import SqlRunMemories
from understudy.storage.unit import OpenRunMemories

DIRECTORY: Final = "run-memories"


def open_run_memories(settings: Settings) -> OpenRunMemories:
    """Files under the home of a daemon that is alone, rows where several share a database."""
    if not settings.is_sqlite:
        return SqlRunMemories
    files = FileRunMemories(settings.home / DIRECTORY)
    return lambda _: files
