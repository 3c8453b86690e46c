"""What assets need from outside: a store of records, and one of the bytes behind them."""

from collections.abc import Collection, Sequence
from typing import Protocol

from understudy.assets.model import Asset, AssetReference
from understudy.core.audit import AuditStore
from understudy.core.page import Page, PageRequest


class AssetStore(Protocol):
    """Assets by id, and who refers to them."""

    def hold(self, *, alone: bool = False) -> None:
        """Let nobody remove an asset or a blob until the unit ends; `alone`, nobody add one either."""
        ...

    def get(self, asset_id: str) -> Asset | None: ...

    def find(self, media_type: str, sha256: str) -> Asset | None:
        """The asset with this content, if there is one."""
        ...

    def add(self, asset: Asset) -> bool:
        """Store a new asset; False when one of that type and content is there."""
        ...

    def delete(self, asset_id: str) -> None: ...

    def page(self, request: PageRequest) -> Page[Asset]:
        """Assets, newest first."""
        ...

    def refer(self, reference: AssetReference) -> None:
        """Note a reference; noting it again changes nothing."""
        ...

    def references(self, asset_id: str, request: PageRequest) -> Page[AssetReference]:
        """What refers to an asset."""
        ...

    def is_referenced(self, asset_id: str) -> bool: ...

    def unreferenced(self, *, before_ms: int, limit: int) -> tuple[Asset, ...]:
        """The oldest assets from before a time that nothing refers to."""
        ...

    def used(self, sha256s: Collection[str], *, besides: Collection[str] = ()) -> frozenset[str]:
        """Which of these contents some asset has, as if those `besides` were not there."""
        ...


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


class AssetUnit(Protocol):
    """One transaction over what assets touch."""

    @property
    def assets(self) -> AssetStore: ...

    @property
    def blobs(self) -> BlobStore: ...

    @property
    def audit(self) -> AuditStore: ...
