"""The asset store."""

from collections.abc import Collection
from functools import partial
from itertools import islice
from typing import Final

import sqlalchemy as sa

from understudy.assets.model import Asset, AssetReference
from understudy.core.page import Page, PageRequest
from understudy.storage.engine import Dialect
from understudy.storage.paging import select_page
from understudy.storage.rows import from_row, insert_new, to_row
from understudy.storage.schema import asset_references, assets

BATCH: Final = 500


class AssetStore:
    """Assets and their references in two tables."""

    def __init__(self, connection: sa.Connection, dialect: Dialect) -> None:
        self._connection = connection
        self._dialect = dialect

    def hold(self, *, alone: bool = False) -> None:
        """Let nobody remove an asset or a blob until the unit ends; `alone`, nobody add one either."""
        self._dialect.lock_assets(self._connection, alone=alone)

    def get(self, asset_id: str) -> Asset | None:
        """One asset."""
        return self._one(assets.c.asset_id == asset_id)

    def find(self, media_type: str, sha256: str) -> Asset | None:
        """The asset with this content, if there is one."""
        return self._one(sa.and_(assets.c.media_type == media_type, assets.c.sha256 == sha256))

    def add(self, asset: Asset) -> bool:
        """Store a new asset; False when one of that type and content is there."""
        return insert_new(self._connection, assets, to_row(asset, assets))

    def delete(self, asset_id: str) -> None:
        """Remove an asset."""
        self._connection.execute(sa.delete(assets).where(assets.c.asset_id == asset_id))

    def page(self, request: PageRequest) -> Page[Asset]:
        """Assets, newest first."""
        return select_page(
            self._connection,
            sa.select(assets),
            request,
            by=(assets.c.created_at_ms, assets.c.asset_id),
            read=partial(from_row, kind=Asset),
            descending=True,
        )

    def refer(self, reference: AssetReference) -> None:
        """Note a reference; noting it again changes nothing."""
        insert_new(self._connection, asset_references, to_row(reference, asset_references))

    def references(self, asset_id: str, request: PageRequest) -> Page[AssetReference]:
        """What refers to an asset."""
        return select_page(
            self._connection,
            sa.select(asset_references).where(asset_references.c.asset_id == asset_id),
            request,
            by=(asset_references.c.kind, asset_references.c.ref_id),
            read=partial(from_row, kind=AssetReference),
        )

    def is_referenced(self, asset_id: str) -> bool:
        """Whether anything refers to an asset."""
        query = sa.select(asset_references.c.ref_id).where(asset_references.c.asset_id == asset_id)
        return self._connection.execute(query.limit(1)).first() is not None

    def unreferenced(self, *, before_ms: int, limit: int) -> tuple[Asset, ...]:
        """The oldest assets from before a time that nothing refers to."""
        referred = sa.exists().where(asset_references.c.asset_id == assets.c.asset_id)
        query = (
            sa.select(assets)
            .where(assets.c.created_at_ms <= before_ms, ~referred)
            .order_by(assets.c.created_at_ms, assets.c.asset_id)
            .limit(limit)
        )
        return tuple(from_row(row, Asset) for row in self._connection.execute(query))

    def used(self, sha256s: Collection[str], *, besides: Collection[str] = ()) -> frozenset[str]:
        """Which of these contents some asset has, as if those `besides` were not there."""
        found: set[str] = set()
        names = iter(sha256s)
        while batch := list(islice(names, BATCH)):
            query = sa.select(assets.c.sha256).where(
                assets.c.sha256.in_(batch), assets.c.asset_id.not_in(besides)
            )
            found.update(self._connection.execute(query).scalars())
        return frozenset(found)

    def _one(self, where: sa.ColumnElement[bool]) -> Asset | None:
        row = self._connection.execute(sa.select(assets).where(where)).first()
        return None if row is None else from_row(row, Asset)
