"""From what a caller sends to a file that can be kept: decoded, bounded, named and typed."""

import base64
import binascii
import hashlib
from typing import Final

from understudy.assets.media import clean_name, media_type_of
from understudy.assets.model import MAX_ASSET_BYTES, AssetDraft
from understudy.core.errors import coded_error

_BLANKS: Final = str.maketrans("", "", " \t\r\n")


def draft_of(
    *, file_name: str, media_type: str | None, content_base64: str, pointer: str = ""
) -> AssetDraft:
    """The draft of an uploaded file; `pointer` leads to where it stands in the request."""
    return draft_of_bytes(
        decode(content_base64, pointer=f"{pointer}/content_base64"),
        file_name=file_name,
        media_type=media_type,
        pointer=pointer,
    )


def draft_of_bytes(
    data: bytes, *, file_name: str, media_type: str | None = None, pointer: str = ""
) -> AssetDraft:
    """The draft of a file whose bytes are there already."""
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
    """The bytes in a base64 text, which may be broken into lines."""
    encoded = content_base64.translate(_BLANKS)
    # Before decoding: what is far too long is not worth the memory.
    _check_size(len(encoded) // 4 * 3 - 2 if encoded else 0, pointer=pointer)
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise coded_error("assets/invalid_base64", pointer=pointer) from None


def digest(data: bytes) -> str:
    """What content is known by."""
    return hashlib.sha256(data).hexdigest()


def _check_size(size: int, *, pointer: str) -> None:
    if size > MAX_ASSET_BYTES:
        raise coded_error("assets/asset_too_large", limit_bytes=MAX_ASSET_BYTES, pointer=pointer)
    if size == 0:
        raise coded_error("assets/asset_empty", pointer=pointer)
