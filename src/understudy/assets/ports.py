"""What assets need from outside: where their bytes are kept."""

from collections.abc import Sequence
from typing import Protocol


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
