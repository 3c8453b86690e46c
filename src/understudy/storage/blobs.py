"""The bytes of assets: files beside the embedded database, or rows that every daemon sees.

File blobs are only written and removed within a unit that writes, so on SQLite, where there is one
such unit at a time and one daemon per home, nobody removes what another is about to name.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import sqlalchemy as sa
import structlog
from sqlalchemy.dialects import postgresql, sqlite

from understudy.assets.model import MAX_ASSET_BYTES
from understudy.core.errors import coded_error
from understudy.storage.files import LEFTOVER, opened, read_file, replace_file
from understudy.storage.schema import asset_blobs

log = structlog.get_logger()

_NAME: Final = re.compile(r"[0-9a-f]{64}")


class SqlBlobs:
    """Blobs as rows."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def put(self, sha256: str, data: bytes) -> None:
        """Keep bytes; what stands under that name and differs is replaced."""
        is_postgres = self._connection.dialect.name == "postgresql"
        insert = (postgresql.insert if is_postgres else sqlite.insert)(asset_blobs)
        statement = insert.values(sha256=sha256, content=data)
        self._connection.execute(
            statement.on_conflict_do_update(
                index_elements=[asset_blobs.c.sha256],
                set_={"content": statement.excluded.content},
                where=asset_blobs.c.content != statement.excluded.content,
            )
        )

    def get(self, sha256: str) -> bytes | None:
        """The bytes as they are now; None when there are none."""
        query = sa.select(asset_blobs.c.content).where(asset_blobs.c.sha256 == sha256)
        content = self._connection.execute(query).scalar()
        return None if content is None else bytes(content)

    def delete(self, sha256: str) -> None:
        """Remove bytes."""
        self._connection.execute(sa.delete(asset_blobs).where(asset_blobs.c.sha256 == sha256))

    def names(self) -> tuple[str, ...]:
        """Everything that is kept."""
        return tuple(self._connection.execute(sa.select(asset_blobs.c.sha256)).scalars())


class FileBlobs:
    """Blobs as files of one directory, named by their hash, read by nobody else on the machine."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def put(self, sha256: str, data: bytes) -> None:
        """Keep bytes; what stands under that name and differs is replaced, all at once."""
        with _speaking():
            self._directory.mkdir(mode=0o700, exist_ok=True)
            with opened(self._directory) as directory:
                if _content(directory, sha256) != data:
                    replace_file(directory, sha256, data)

    def get(self, sha256: str) -> bytes | None:
        """The bytes as they are now; None when there is no plain file of that name."""
        if not _NAME.fullmatch(sha256):
            return None
        with _speaking(), suppress(FileNotFoundError), opened(self._directory) as directory:
            return _content(directory, sha256)
        return None

    def delete(self, sha256: str) -> None:
        """Remove bytes."""
        with _speaking(), suppress(FileNotFoundError), opened(self._directory) as directory:
            if _is_ours(sha256):
                os.unlink(sha256, dir_fd=directory)

    def names(self) -> tuple[str, ...]:
        """Everything that is kept, and files that a crash left half written."""
        with (
            _speaking(),
            suppress(FileNotFoundError),
            opened(self._directory) as directory,
            os.scandir(directory) as entries,
        ):
            return tuple(entry.name for entry in entries if _is_ours(entry.name))
        return ()


def _content(directory: int, name: str) -> bytes | None:
    # A file that grew beyond every asset is damaged; one byte more is enough to show it.
    return read_file(directory, name, limit=MAX_ASSET_BYTES + 1)


def _is_ours(name: str) -> bool:
    return bool(_NAME.fullmatch(name) or LEFTOVER.fullmatch(name))


@contextmanager
def _speaking() -> Iterator[None]:
    """Say of a file system that fails that it does."""
    try:
        yield
    except OSError as problem:
        log.warning("assets.storage_failed", reason=problem.strerror, errno=problem.errno)
        raise coded_error("assets/asset_storage_unavailable") from problem
