"""Where the bytes of assets are kept."""

from typing import Final

from understudy.settings import Settings
from understudy.storage.blobs import FileBlobs, SqlBlobs
from understudy.storage.unit import OpenBlobs

DIRECTORY: Final = "assets"


def open_blobs(settings: Settings) -> OpenBlobs:
    """Files under the home of a daemon that is alone, rows where several share a database."""
    if not settings.is_sqlite:
        return SqlBlobs
    files = FileBlobs(settings.home / DIRECTORY)
    return lambda _: files
