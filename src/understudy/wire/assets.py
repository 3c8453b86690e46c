"""Request bodies of assets, and the answer of a collection."""

from pydantic import Field

from understudy.wire.base import RequestBody, View


class UploadAsset(RequestBody):
    """A file; without a media type it is detected."""

    file_name: str = Field(min_length=1, max_length=4096)
    """The name of the file."""
    media_type: str | None = Field(default=None, max_length=255)
    """The media type; by default it is detected."""
    content_base64: str
    """The bytes in base64."""


class CollectAssets(RequestBody):
    """The assets to collect: unreferenced ones, uploaded at least that long ago."""

    dry_run: bool = False
    """Only list what would be deleted."""
    older_than_ms: int | None = None
    """Only assets that were uploaded at least so many milliseconds ago."""


class CollectedView(View):
    """The collected assets, or those that would be; `has_more`: another call finds more."""

    dry_run: bool
    asset_ids: list[str]
    blobs: int
    has_more: bool
