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
    """What can keep an asset from being deleted."""

    RUN = "run"
    SCHEDULE = "schedule"


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetReference:
    """Something that needs an asset for as long as it exists."""

    asset_id: str
    kind: ReferenceKind
    ref_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleanup:
    """What a garbage collection removed, or would remove."""

    assets: tuple[Asset, ...] = ()
    blobs: int = 0
    # Whether there is more of the same than one collection takes.
    has_more: bool = False


class BlobStore(Protocol):
    """Bytes by their SHA-256."""

    def put(self, sha256: str, data: bytes) -> None:
        """Keep bytes; what stands under that name and differs is damaged, and replaced."""
        ...

    def get(self, sha256: str) -> bytes | None:
        """The bytes as they are now, right or wrong; None when there are none."""
        ...

    def delete(self, sha256: str) -> None:
        """Remove bytes; what is not there stays so."""
        ...

    def names(self) -> Sequence[str]:
        """Everything that is kept, leftovers of a crash included."""
        ...
