"""The records of an asset."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

MAX_ASSET_BYTES: Final = 12 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetDraft:
    """A validated file before it is stored as an asset."""

    file_name: str
    media_type: str
    sha256: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """A file that inputs name by id; its content is immutable."""

    asset_id: str
    file_name: str
    media_type: str
    size: int
    sha256: str
    owner_id: str
    created_at_ms: int


class ReferenceKind(StrEnum):
    """The kinds of records that refer to assets."""

    RUN = "run"
    SCHEDULE = "schedule"
    CHANNEL = "channel"


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetReference:
    """A reference from a run, a schedule or a channel, which prevents deletion of the asset."""

    asset_id: str
    kind: ReferenceKind
    ref_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleanup:
    """The result of a garbage collection, or of its dry run."""

    assets: tuple[Asset, ...] = ()
    blobs: int = 0
    # Whether more is left than one collection removes.
    has_more: bool = False


class BlobStore(Protocol):
    """Content-addressed storage: bytes by their SHA-256."""

    def put(self, sha256: str, data: bytes) -> None:
        """Store bytes, replacing damaged ones under the same digest."""
        ...

    def get(self, sha256: str) -> bytes | None:
        """The bytes as stored, damaged or not; None if missing."""
        ...

    def delete(self, sha256: str) -> None:
        """Delete bytes; missing ones are no error."""
        ...

    def names(self) -> Sequence[str]:
        """The digests of all blobs, including leftovers of a crash."""
        ...
