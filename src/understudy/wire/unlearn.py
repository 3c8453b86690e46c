"""Unlearning on the wire."""

from typing import Annotated

from pydantic import Field

from understudy.unlearn.model import (
    MAX_TEXT,
    TargetKind,
    UnlearnMode,
    UnlearnTarget,
)
from understudy.wire.base import Int32, Lax, RequestBody

MAX_DIGESTS = 1_000_000
Digest = Annotated[str, Field(max_length=64)]


class TargetBody(RequestBody):
    """The target to unlearn; the text itself where the kind is `user_text`."""

    kind: Lax[TargetKind]
    """The kind of record."""
    id: str = Field(min_length=1, max_length=MAX_TEXT)
    """Its id, or the text where the kind is `user_text`."""

    @property
    def record(self) -> UnlearnTarget:
        """The target."""
        return UnlearnTarget(kind=self.kind, id=self.id)


class PreviewUnlearn(RequestBody):
    """The target whose blast radius is requested."""

    target: TargetBody
    """The target."""


class StartUnlearn(RequestBody):
    """The target to unlearn, and the mode."""

    target: TargetBody
    """The target."""
    mode: Lax[UnlearnMode]
    """`revoke` takes it out of use, `erase` removes it."""
    reason: str | None = None
    """The reason, for the receipt."""


class ReceiptBody(RequestBody):
    """A receipt, exactly as it was given."""

    unlearn_id: str = Field(max_length=100)
    """The unlearning."""
    kind: Lax[TargetKind]
    """The kind of the target."""
    target: Digest
    """The digest of the target's id."""
    mode: Lax[UnlearnMode]
    """`revoke` or `erase`."""
    actor: str = Field(max_length=500)
    """The admin who started it."""
    started_at_ms: int
    """When it began."""
    finished_at_ms: int
    """When it ended."""
    counts: dict[str, Int32]
    """How many records of each kind it reached."""
    tombstones: Int32
    """How many records it left as tombstones."""
    scrubbed: Int32
    """How many texts it scrubbed."""
    digests: dict[str, Annotated[list[Digest], Field(max_length=MAX_DIGESTS)]]
    """Digests of the erased texts by kind."""
    out_of_reach: list[Annotated[str, Field(max_length=200)]]
    """Places that it could not reach."""
    signature: Digest
    """The signature of the receipt."""


class VerifyUnlearn(RequestBody):
    """Check whether the stores still hold what a receipt names."""

    receipt: ReceiptBody
    """The receipt."""
    text: str | None = Field(default=None, max_length=MAX_TEXT)
    """A text that the caller knows, to be searched as well; it is not stored."""
