"""The content of assets: uploads checked as drafts, stored and read within the caller's unit."""

import base64
import binascii
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from understudy.assets.media import clean_name, media_type_of
from understudy.assets.model import (
    MAX_ASSET_BYTES,
    Asset,
    AssetDraft,
    AssetReference,
    ReferenceKind,
)
from understudy.core import audit
from understudy.core.errors import coded_error
from understudy.core.ids import new_id
from understudy.core.principal import Principal
from understudy.core.visibility import unrestricted

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

_BLANKS: Final = str.maketrans("", "", " \t\r\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetContent:
    """An asset with its bytes, verified against their digest."""

    asset: Asset
    data: bytes = field(repr=False)


def keep(
    unit: "Unit", principal: Principal, draft: AssetDraft, *, now_ms: int
) -> tuple[Asset, bool]:
    """Store a draft: the asset with its type and content, and whether it is new.

    The blob is always written, which repairs a damaged one.
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
    if not unit.assets.add(asset):
        # It may belong to a user whose assets are not visible to this caller.
        with unrestricted():
            known = unit.assets.find(draft.media_type, draft.sha256)
        if known is not None:
            unit.assets.claim(known.asset_id, asset)
            return require_asset(unit, known.asset_id, user_id=principal.user_id), False
    unit.audit.add(audit.done(principal, "assets.upload", asset.asset_id, at_ms=now_ms))
    return asset, True


def require_asset(unit: "Unit", asset_id: str, *, user_id: str | None = None) -> Asset:
    """The asset as a user sees it, or `NotFound`."""
    asset = unit.assets.get(asset_id, user_id=user_id)
    if asset is None:
        raise coded_error("assets/asset_not_found", asset_id=asset_id)
    return asset


def read_asset(unit: "Unit", asset_id: str, *, user_id: str | None = None) -> AssetContent:
    """An asset with its bytes; `Conflict` if they are missing or their digest differs."""
    asset = require_asset(unit, asset_id, user_id=user_id)
    data = unit.blobs.get(asset.sha256)
    if data is None or digest(data) != asset.sha256:
        raise coded_error(
            "assets/asset_integrity_mismatch",
            asset_id=asset_id,
            state="missing" if data is None else "damaged",
        )
    return AssetContent(asset=asset, data=data)


def refer(unit: "Unit", asset_id: str, kind: ReferenceKind, ref_id: str) -> None:
    """Add a reference, which prevents garbage collection and deletion of an asset."""
    unit.assets.refer(AssetReference(asset_id=asset_id, kind=kind, ref_id=ref_id))


def draft_of(
    *, file_name: str, media_type: str | None, content_base64: str, pointer: str = ""
) -> AssetDraft:
    """The draft of a base64 upload; `pointer` is the JSON pointer of the file in the request."""
    return draft_of_bytes(
        decode(content_base64, pointer=f"{pointer}/content_base64"),
        file_name=file_name,
        media_type=media_type,
        pointer=pointer,
    )


def draft_of_bytes(
    data: bytes, *, file_name: str, media_type: str | None = None, pointer: str = ""
) -> AssetDraft:
    """The draft of a file from its bytes."""
    _check_size(len(data), pointer=f"{pointer}/content_base64")
    name = clean_name(file_name, pointer=f"{pointer}/file_name")
    return AssetDraft(
        file_name=name,
        media_type=media_type_of(
            data, declared=media_type, file_name=name, pointer=f"{pointer}/media_type"
        ),
        sha256=digest(data),
        data=data,
    )


def decode(content_base64: str, *, pointer: str) -> bytes:
    """Decode a base64 text, which may have line breaks."""
    encoded = content_base64.translate(_BLANKS)
    # Checked before decoding, so that an oversized text takes no memory.
    _check_size(len(encoded) // 4 * 3 - 2 if encoded else 0, pointer=pointer)
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise coded_error("assets/invalid_base64", pointer=pointer) from None


def digest(data: bytes) -> str:
    """The SHA-256 digest of some bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def _check_size(size: int, *, pointer: str) -> None:
    if size > MAX_ASSET_BYTES:
        raise coded_error("assets/asset_too_large", limit_bytes=MAX_ASSET_BYTES, pointer=pointer)
    if size == 0:
        raise coded_error("assets/asset_empty", pointer=pointer)
