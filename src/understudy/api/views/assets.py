"""Assets as the wire shows them, and their bytes as a browser may have them."""

from dataclasses import asdict
from typing import Final
from urllib.parse import quote

from starlette.responses import Response

from understudy.assets.keeping import AssetContent
from understudy.assets.media import MAGIC, PLAIN_TEXT, UNKNOWN, MediaKind, kind_of
from understudy.assets.model import Asset, AssetReference, Cleanup
from understudy.wire.assets import AssetReferenceView, AssetView, CollectedView

# What came from outside must run nothing and load nothing, wherever it is opened.
RAW_HEADERS: Final = {
    "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}
# What bytes are said to be; anything else could be run by whoever opens it.
SHOWN_TYPES: Final = (*MAGIC, PLAIN_TEXT, UNKNOWN)


def asset_view(asset: Asset) -> AssetView:
    """An asset."""
    return AssetView(**asdict(asset))


def reference_view(reference: AssetReference) -> AssetReferenceView:
    """What refers to an asset."""
    return AssetReferenceView(
        asset_id=reference.asset_id, kind=reference.kind.value, ref_id=reference.ref_id
    )


def collected_view(cleanup: Cleanup, *, dry_run: bool) -> CollectedView:
    """What a garbage collection did."""
    return CollectedView(
        dry_run=dry_run,
        asset_ids=[asset.asset_id for asset in cleanup.assets],
        blobs=cleanup.blobs,
        has_more=cleanup.has_more,
    )


def raw_response(content: AssetContent) -> Response:
    """The bytes, to be saved and not opened; only types that run nothing keep theirs."""
    name = quote(content.asset.file_name, safe="", errors="replace")
    return Response(
        content.data,
        headers={
            **RAW_HEADERS,
            "Content-Type": _shown_type(content.asset.media_type),
            "Content-Disposition": f"attachment; filename*=UTF-8''{name}",
        },
    )


def _shown_type(media_type: str) -> str:
    if media_type in MAGIC:
        return media_type
    # Whatever text it is, markup and scripts among it: shown as the letters it consists of.
    return f"{PLAIN_TEXT}; charset=utf-8" if kind_of(media_type) is MediaKind.TEXT else UNKNOWN
