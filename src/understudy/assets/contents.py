"""Keeping and reading assets within the unit of whoever needs them."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from understudy.assets.drafts import digest
from understudy.assets.model import Asset, AssetDraft, AssetReference, ReferenceKind
from understudy.core import audit
from understudy.core.errors import coded_error
from understudy.core.ids import new_id
from understudy.core.principal import Principal

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetContent:
    """An asset with its bytes, which are what they were when it was uploaded."""

    asset: Asset
    data: bytes = field(repr=False)


def keep(
    unit: "Unit", principal: Principal, draft: AssetDraft, *, now_ms: int
) -> tuple[Asset, bool]:
    """The asset with the draft's type and content, and whether it is new.

    The blob is written even if it should be there: that mends one that was damaged.
    """
    unit.assets.hold()
    unit.blobs.put(draft.sha256, draft.data)
    asset = Asset(
        asset_id=new_id("ast"),
        file_name=draft.file_name,
        media_type=draft.media_type,
        size=len(draft.data),
        sha256=draft.sha256,
        owner_id=principal.user_id,
        created_at_ms=now_ms,
    )
    known = unit.assets.find(draft.media_type, draft.sha256)
    if known is None and not unit.assets.add(asset):
        # Somebody else was faster by the moment between the look and the insert.
        known = unit.assets.find(draft.media_type, draft.sha256)
    if known is not None:
        return known, False
    unit.audit.add(audit.done(principal, "assets.upload", asset.asset_id, at_ms=now_ms))
    return asset, True


def require_asset(unit: "Unit", asset_id: str) -> Asset:
    """The asset, or `NotFound`."""
    asset = unit.assets.get(asset_id)
    if asset is None:
        raise coded_error("assets/asset_not_found", asset_id=asset_id)
    return asset


def read_asset(unit: "Unit", asset_id: str) -> AssetContent:
    """An asset with its bytes, checked; `Conflict` when they are gone or not what they were."""
    asset = require_asset(unit, asset_id)
    data = unit.blobs.get(asset.sha256)
    if data is None or digest(data) != asset.sha256:
        raise coded_error(
            "assets/asset_integrity_mismatch",
            asset_id=asset_id,
            state="missing" if data is None else "damaged",
        )
    return AssetContent(asset=asset, data=data)


def refer(unit: "Unit", asset_id: str, kind: ReferenceKind, ref_id: str) -> None:
    """Keep an asset from being deleted while something needs it."""
    unit.assets.refer(AssetReference(asset_id=asset_id, kind=kind, ref_id=ref_id))
