"""Assets on the wire."""

from pydantic import Field

from understudy.wire.base import Request, View


class UploadAsset(Request):
    """A file; without a media type it is found out."""

    file_name: str = Field(min_length=1, max_length=4096)
    media_type: str | None = Field(default=None, max_length=255)
    content_base64: str


class CollectAssets(Request):
    """Which assets to collect: those nothing refers to, uploaded at least that long ago."""

    dry_run: bool = False
    older_than_ms: int | None = None


class AssetView(View):
    """A file that inputs can name."""

    asset_id: str
    file_name: str
    media_type: str
    size: int
    sha256: str
    owner_id: str
    created_at_ms: int


class AssetReferenceView(View):
    """What keeps an asset from being deleted: a `kind` such as `run`, and its id."""

    asset_id: str
    kind: str
    ref_id: str


class CollectedView(View):
    """What was collected, or would be; `has_more` says that another call finds more."""

    dry_run: bool
    asset_ids: list[str]
    blobs: int
    has_more: bool
