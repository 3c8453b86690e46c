"""The records of an asset."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

MAX_ASSET_BYTES: Final = 12 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetDraft:
    """A file that was checked and is about to become an asset."""

    file_name: str
    media_type: str
    sha256: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """A file that inputs can name; its content never changes."""

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
    """A reference from a run, a schedule or a channel, which keeps the asset from being deleted."""

    asset_id: str
    kind: ReferenceKind
    ref_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleanup:
    """What a garbage collection removed, or would remove."""

    assets: tuple[Asset, ...] = ()
    blobs: int = 0
    # Whether there is more than one collection removes.
    has_more: bool = False


class BlobStore(Protocol):
    """Bytes by their SHA-256."""

    def put(self, sha256: str, data: bytes) -> None:
        """Store bytes; damaged bytes under that hash are replaced."""
        ...

    def get(self, sha256: str) -> bytes | None:
        """The bytes as they are now, damaged or not; None without any."""
        ...

    def delete(self, sha256: str) -> None:
        """Delete bytes; missing bytes are no error."""
        ...

    def names(self) -> Sequence[str]:
        """The hashes of all blobs, leftovers of a crash included."""
        ...
