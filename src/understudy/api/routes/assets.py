"""Assets."""

from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import APIRouter, Path, Response

from understudy.api.gate import GatedRoute
from understudy.api.limits import LARGE_BODY_BYTES
from understudy.api.operations import RAW_HEADERS, admin, operator, viewer
from understudy.api.paging import Paging
from understudy.api.services import Caller, Services
from understudy.assets.contents import AssetContent, draft_of
from understudy.assets.media import MAGIC, PLAIN_TEXT, UNKNOWN, MediaKind, kind_of
from understudy.assets.model import Asset, AssetReference
from understudy.core.page import Page
from understudy.wire.assets import CollectAssets, CollectedView, UploadAsset
from understudy.wire.base import Deleted

router = APIRouter(tags=["assets"], route_class=GatedRoute)
AssetId = Annotated[str, Path(description="id of the asset")]
ONE: Final = "/v1/assets/{asset_id}"
# Media types that are sent as they are; others could execute in a browser.
SHOWN_TYPES: Final = (*MAGIC, PLAIN_TEXT, UNKNOWN)
RAW: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {kind: {} for kind in SHOWN_TYPES}, "description": "The bytes"}
}


@router.post(
    "/v1/assets",
    operation_id="assets.upload",
    status_code=201,
    responses={200: {"model": Asset, "description": "it was there already"}},
)
@operator(max_body_bytes=LARGE_BODY_BYTES)
def upload(body: UploadAsset, services: Services, caller: Caller, response: Response) -> Asset:
    """Store a file; one of the same type and content is answered with 200."""
    draft = draft_of(
        file_name=body.file_name, media_type=body.media_type, content_base64=body.content_base64
    )
    asset, is_new = services.assets.upload(caller, draft)
    if not is_new:
        response.status_code = 200
    return asset


@router.get("/v1/assets", operation_id="assets.list")
@viewer()
def list_assets(services: Services, caller: Caller, page: Paging) -> Page[Asset]:
    """List assets, newest first."""
    return services.assets.page(caller, page)


@router.post("/v1/assets/gc", operation_id="assets.gc")
@admin()
def collect(services: Services, caller: Caller, body: CollectAssets | None = None) -> CollectedView:
    """Remove assets that nothing refers to; those of the last day are spared by default."""
    wanted = body or CollectAssets()
    cleanup = services.assets.collect(
        caller, older_than_ms=wanted.older_than_ms, dry_run=wanted.dry_run
    )
    return CollectedView(
        dry_run=wanted.dry_run,
        asset_ids=[asset.asset_id for asset in cleanup.assets],
        blobs=cleanup.blobs,
        has_more=cleanup.has_more,
    )


@router.get(ONE, operation_id="assets.get")
@viewer()
def get(asset_id: AssetId, services: Services, caller: Caller) -> Asset:
    """Show an asset, without its bytes."""
    return services.assets.get(caller, asset_id)


@router.get(ONE + "/references", operation_id="assets.references")
@viewer()
def references(asset_id: AssetId, services: Services, page: Paging) -> Page[AssetReference]:
    """List what refers to an asset and keeps it from being deleted."""
    return services.assets.references(asset_id, page)


@router.get(ONE + "/raw", operation_id="assets.raw", response_class=Response, responses=RAW)
@admin()
def raw(asset_id: AssetId, services: Services, caller: Caller) -> Response:
    """Download the bytes of an asset, checked against the hash of its upload."""
    return _raw_response(services.assets.read(caller, asset_id))


@router.delete(ONE, operation_id="assets.delete")
@operator()
def delete(asset_id: AssetId, services: Services, caller: Caller) -> Deleted:
    """Delete an asset that nothing refers to."""
    services.assets.delete(caller, asset_id)
    return Deleted()


def _raw_response(content: AssetContent) -> Response:
    """The bytes as a download; only types that cannot execute keep their media type."""
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
    # Any text, markup and scripts included, is sent as plain text.
    return f"{PLAIN_TEXT}; charset=utf-8" if kind_of(media_type) is MediaKind.TEXT else UNKNOWN
