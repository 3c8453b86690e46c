"""What callers send about assets, and what a collection of them answers."""

from pydantic import Field

from understudy.wire.base import RequestBody, View


class UploadAsset(RequestBody):
    """A file; without a media type it is found out."""

    file_name: str = Field(min_length=1, max_length=4096)
    media_type: str | None = Field(default=None, max_length=255)
    content_base64: str


class CollectAssets(RequestBody):
    """Which assets to collect: those nothing refers to, uploaded at least that long ago."""

    dry_run: bool = False
    older_than_ms: int | None = None


class CollectedView(View):
    """What was collected, or would be; `has_more` says that another call finds more."""

    dry_run: bool
    asset_ids: list[str]
    blobs: int
    has_more: bool
