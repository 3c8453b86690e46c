"""Assets."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Response

from understudy.api.gate import GatedRoute
from understudy.api.operations import admin, operator, viewer
from understudy.api.paging import Paging, items
from understudy.api.services import Caller, Services
from understudy.api.views.assets import (
    SHOWN_TYPES,
    asset_view,
    collected_view,
    raw_response,
    reference_view,
)
from understudy.assets.drafts import draft_of
from understudy.wire.assets import (
    AssetReferenceView,
    AssetView,
    CollectAssets,
    CollectedView,
    UploadAsset,
)
from understudy.wire.base import Deleted, Items

router = APIRouter(tags=["assets"], route_class=GatedRoute)
AssetId = Annotated[str, Path(description="id of the asset")]
ONE: Final = "/v1/assets/{asset_id}"
RAW: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {kind: {} for kind in SHOWN_TYPES}, "description": "The bytes"}
}


@router.post("/v1/assets", operation_id="assets.upload", status_code=201)
@operator()
def upload(body: UploadAsset, services: Services, caller: Caller, response: Response) -> AssetView:
    """Keep a file; one of the same type and content that is there already is answered with 200."""
    draft = draft_of(
        file_name=body.file_name, media_type=body.media_type, content_base64=body.content_base64
    )
    asset, is_new = services.assets.upload(caller, draft)
    if not is_new:
        response.status_code = 200
    return asset_view(asset)


@router.get("/v1/assets", operation_id="assets.list")
@viewer()
def list_assets(services: Services, page: Paging) -> Items[AssetView]:
    """Assets, newest first."""
    return items(services.assets.page(page), asset_view)


@router.post("/v1/assets/gc", operation_id="assets.gc")
@admin()
def collect(services: Services, caller: Caller, body: CollectAssets | None = None) -> CollectedView:
    """Remove assets that nothing refers to; those of the last day are spared by default."""
    wanted = body or CollectAssets()
    cleanup = services.assets.collect(
        caller, older_than_ms=wanted.older_than_ms, dry_run=wanted.dry_run
    )
    return collected_view(cleanup, dry_run=wanted.dry_run)


@router.get(ONE, operation_id="assets.get")
@viewer()
def get(asset_id: AssetId, services: Services) -> AssetView:
    """One asset, without its bytes."""
    return asset_view(services.assets.get(asset_id))


@router.get(ONE + "/references", operation_id="assets.references")
@viewer()
def references(asset_id: AssetId, services: Services, page: Paging) -> Items[AssetReferenceView]:
    """What keeps an asset from being deleted."""
    return items(services.assets.references(asset_id, page), reference_view)


@router.get(ONE + "/raw", operation_id="assets.raw", response_class=Response, responses=RAW)
@admin()
def raw(asset_id: AssetId, services: Services) -> Response:
    """The bytes of an asset, checked against the hash they were uploaded with."""
    return raw_response(services.assets.read(asset_id))


@router.delete(ONE, operation_id="assets.delete")
@operator()
def delete(asset_id: AssetId, services: Services, caller: Caller) -> Deleted:
    """Delete an asset that nothing refers to."""
    services.assets.delete(caller, asset_id)
    return Deleted()
