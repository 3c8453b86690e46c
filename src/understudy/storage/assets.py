"""The asset store, and its bytes: in files, or in rows where daemons share a database."""

import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, cast

import sqlalchemy as sa
import structlog
from sqlalchemy.dialects import postgresql, sqlite

from understudy.assets.model import MAX_ASSET_BYTES, Asset, AssetReference, ReferenceKind
from understudy.core.errors import coded_error
from understudy.core.page import Page, PageRequest
from understudy.core.visibility import current_visibility, unrestricted
from understudy.storage.engine import Dialect
from understudy.storage.files import LEFTOVER, opened, read_file, replace_file
from understudy.storage.rows import from_row, insert_new, select_page, to_row
from understudy.storage.schema import asset_blobs, asset_owners, asset_references, assets
from understudy.storage.visible_connection import VisibleConnection

log = structlog.get_logger()

BATCH: Final = 500
# What each owner of an asset has said of it.
OF_UPLOAD: Final = frozenset({"file_name", "owner_id", "created_at_ms"})
_NAME: Final = re.compile(r"[0-9a-f]{64}")


class AssetStore:
    """Assets and their references in two tables."""

    def __init__(self, connection: VisibleConnection, dialect: Dialect) -> None:
        self._connection = connection
        self._dialect = dialect

    def hold(self, *, alone: bool = False) -> None:
        """Lock assets and blobs against deletion until the unit ends; `alone`, insertion too."""
        self._dialect.lock_assets(self._connection, alone=alone)

    def get(self, asset_id: str, *, user_id: str | None = None) -> Asset | None:
        """One asset, as a user sees it."""
        return self._one(assets.c.asset_id == asset_id, user_id)

    def find(self, media_type: str, sha256: str) -> Asset | None:
        """The asset with this content, if there is one."""
        return self._one(sa.and_(assets.c.media_type == media_type, assets.c.sha256 == sha256))

    def add(self, asset: Asset) -> bool:
        """Store a new asset; False when one of that type and content is there."""
        is_new = insert_new(self._connection, assets, to_row(asset, assets))
        if is_new:
            self.claim(asset.asset_id, asset)
        return is_new

    def claim(self, asset_id: str, upload: Asset) -> None:
        """Add the owner of an upload to the asset with this content, with its name and time."""
        claim = {**to_row(upload, asset_owners), "asset_id": asset_id}
        insert_new(self._connection, asset_owners, claim)

    def delete(self, asset_id: str) -> None:
        """Delete an asset; with restricted visibility, only the caller's claim if others remain."""
        claims = asset_owners.c.asset_id == asset_id
        user_id = current_visibility.get().user_id
        if user_id is not None:
            own = sa.delete(asset_owners).where(claims, asset_owners.c.owner_id == user_id)
            self._connection.execute(own)
            if self._connection.execute(sa.select(asset_owners).where(claims)).first() is not None:
                return
        self._connection.execute(sa.delete(asset_owners).where(claims))
        self._connection.execute(sa.delete(assets).where(assets.c.asset_id == asset_id))

    def page(self, request: PageRequest, *, user_id: str | None = None) -> Page[Asset]:
        """Assets as a user sees them, newest first."""
        query = _as_seen_by(user_id)
        return select_page(
            self._connection,
            query,
            request,
            by=(cast("sa.Column[int]", query.selected_columns.created_at_ms), assets.c.asset_id),
            read=_read_asset,
            descending=True,
        )

    def refer(self, reference: AssetReference) -> None:
        """Add a reference; idempotent."""
        insert_new(self._connection, asset_references, to_row(reference, asset_references))

    def unrefer(self, kind: ReferenceKind, ref_id: str) -> None:
        """Delete all references of a record."""
        self._connection.execute(
            sa.delete(asset_references).where(
                asset_references.c.kind == kind, asset_references.c.ref_id == ref_id
            )
        )

    def references(self, asset_id: str, request: PageRequest) -> Page[AssetReference]:
        """The references to an asset."""
        return select_page(
            self._connection,
            sa.select(asset_references).where(asset_references.c.asset_id == asset_id),
            request,
            by=(asset_references.c.kind, asset_references.c.ref_id),
            read=partial(from_row, kind=AssetReference),
        )

    def is_referenced(self, asset_id: str) -> bool:
        """Whether an asset has references."""
        query = sa.select(asset_references.c.ref_id).where(asset_references.c.asset_id == asset_id)
        return self._connection.execute(query.limit(1)).first() is not None

    def unreferenced(self, *, before_ms: int, limit: int) -> tuple[Asset, ...]:
        """The oldest unreferenced assets created before a time."""
        referred = sa.exists().where(asset_references.c.asset_id == assets.c.asset_id)
        query = (
            sa.select(assets)
            .where(assets.c.created_at_ms <= before_ms, ~referred)
            .order_by(assets.c.created_at_ms, assets.c.asset_id)
            .limit(limit)
        )
        return tuple(map(_read_asset, self._connection.execute(query)))

    def used(self, sha256s: Collection[str], *, besides: Collection[str] = ()) -> frozenset[str]:
        """The digests among these that an asset uses, ignoring the assets `besides`."""
        # Includes assets that the caller cannot see, because blobs are shared.
        with unrestricted():
            return self._used(sha256s, besides)

    def _used(self, sha256s: Collection[str], besides: Collection[str]) -> frozenset[str]:
        found: set[str] = set()
        names = iter(sha256s)
        while batch := list(islice(names, BATCH)):
            query = sa.select(assets.c.sha256).where(
                assets.c.sha256.in_(batch), assets.c.asset_id.not_in(besides)
            )
            found.update(self._connection.execute(query).scalars())
        return frozenset(found)

    def _one(self, where: sa.ColumnElement[bool], user_id: str | None = None) -> Asset | None:
        row = self._connection.execute(_as_seen_by(user_id).where(where)).first()
        return None if row is None else _read_asset(row)


_read_asset: Final = partial(from_row, kind=Asset)


def _as_seen_by(user_id: str | None) -> sa.Select[Any]:
    """Assets with the name and time of the user's own upload, else of the first one."""
    own = asset_owners.alias("own_uploads")
    seen_by = current_visibility.get().user_id or user_id
    is_own = sa.and_(own.c.asset_id == assets.c.asset_id, own.c.owner_id == seen_by)
    return sa.select(
        *(
            sa.func.coalesce(own.c[it.name], it).label(it.name) if it.name in OF_UPLOAD else it
            for it in assets.c
        )
    ).outerjoin_from(assets, own, is_own)


class SqlBlobs:
    """Blobs as rows."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def put(self, sha256: str, data: bytes) -> None:
        """Store bytes; a differing blob of that name is replaced."""
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
        """The stored bytes; None when there are none."""
        query = sa.select(asset_blobs.c.content).where(asset_blobs.c.sha256 == sha256)
        content = self._connection.execute(query).scalar()
        return None if content is None else bytes(content)

    def delete(self, sha256: str) -> None:
        """Delete a blob."""
        self._connection.execute(sa.delete(asset_blobs).where(asset_blobs.c.sha256 == sha256))

    def names(self) -> tuple[str, ...]:
        """The digests of all blobs."""
        return tuple(self._connection.execute(sa.select(asset_blobs.c.sha256)).scalars())


class FileBlobs:
    """Blobs as files in one directory, named by their hash, with mode 0600."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def put(self, sha256: str, data: bytes) -> None:
        """Store bytes; a differing file of that name is replaced atomically."""
        with _speaking():
            self._directory.mkdir(mode=0o700, exist_ok=True)
            with opened(self._directory) as directory:
                if _content(directory, sha256) != data:
                    replace_file(directory, sha256, data)

    def get(self, sha256: str) -> bytes | None:
        """The stored bytes; None when there is no regular file of that name."""
        if not _NAME.fullmatch(sha256):
            return None
        with _speaking(), suppress(FileNotFoundError), opened(self._directory) as directory:
            return _content(directory, sha256)
        return None

    def delete(self, sha256: str) -> None:
        """Delete a blob."""
        with _speaking(), suppress(FileNotFoundError), opened(self._directory) as directory:
            if _is_ours(sha256):
                os.unlink(sha256, dir_fd=directory)

    def names(self) -> tuple[str, ...]:
        """The names of all blobs, and of temporary files that a crash left."""
        with (
            _speaking(),
            suppress(FileNotFoundError),
            opened(self._directory) as directory,
            os.scandir(directory) as entries,
        ):
            return tuple(entry.name for entry in entries if _is_ours(entry.name))
        return ()


def _content(directory: int, name: str) -> bytes | None:
    # A file larger than the asset limit is damaged; one byte more than the limit shows it.
    return read_file(directory, name, limit=MAX_ASSET_BYTES + 1)


def _is_ours(name: str) -> bool:
    return bool(_NAME.fullmatch(name) or LEFTOVER.fullmatch(name))


@contextmanager
def _speaking() -> Iterator[None]:
    """Turn file system errors into `Unavailable`."""
    try:
        yield
    except OSError as problem:
        log.warning("assets.storage_failed", reason=problem.strerror, errno=problem.errno)
        raise coded_error("assets/asset_storage_unavailable") from problem
