"""Calls about assets."""

import base64
from collections.abc import Iterator

from understudy.client.calls import at, delete, get, given, post
from understudy.client.groups.resource import Resource, every
from understudy.wire.assets import AssetReferenceView, AssetView, CollectedView
from understudy.wire.base import Deleted, Items

_view = AssetView.model_validate


class Assets(Resource):
    """Files that inputs name by id."""

    def upload(
        self, file_name: str, data: bytes, *, media_type: str | None = None, key: str | None = None
    ) -> AssetView:
        """Keep a file; the same content again is the same asset."""
        fields = given(
            file_name=file_name,
            media_type=media_type,
            content_base64=base64.b64encode(data).decode(),
        )
        return self.transport.send(post(at("assets"), _view, fields, key=key))

    def get(self, asset_id: str) -> AssetView:
        """One asset, without its bytes."""
        return self.transport.send(get(at("assets", asset_id), _view))

    def raw(self, asset_id: str) -> bytes:
        """The bytes of an asset."""
        return self.transport.fetch(at("assets", asset_id, "raw"))

    def page(self, *, limit: int | None = None, cursor: str | None = None) -> Items[AssetView]:
        """Some assets, newest first."""
        read = Items[AssetView].model_validate
        return self.transport.send(get(at("assets"), read, **given(limit=limit, cursor=cursor)))

    def list(self) -> Iterator[AssetView]:
        """All assets, newest first."""
        return every(lambda cursor: self.page(cursor=cursor))

    def references_page(
        self, asset_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[AssetReferenceView]:
        """Some of what keeps an asset from being deleted."""
        read = Items[AssetReferenceView].model_validate
        query = given(limit=limit, cursor=cursor)
        return self.transport.send(get(at("assets", asset_id, "references"), read, **query))

    def references(self, asset_id: str) -> Iterator[AssetReferenceView]:
        """All that keeps an asset from being deleted."""
        return every(lambda cursor: self.references_page(asset_id, cursor=cursor))

    def delete(self, asset_id: str) -> Deleted:
        """Delete an asset that nothing refers to."""
        return self.transport.send(delete(at("assets", asset_id), Deleted.model_validate))

    def collect(
        self, *, older_than_ms: int | None = None, dry_run: bool | None = None
    ) -> CollectedView:
        """Remove assets that nothing refers to."""
        fields = given(older_than_ms=older_than_ms, dry_run=dry_run)
        return self.transport.send(post(at("assets", "gc"), CollectedView.model_validate, fields))
