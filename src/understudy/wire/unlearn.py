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
    id: str = Field(min_length=1, max_length=MAX_TEXT)

    @property
    def record(self) -> UnlearnTarget:
        """The target."""
        return UnlearnTarget(kind=self.kind, id=self.id)


class PreviewUnlearn(RequestBody):
    """The target whose blast radius is requested."""

    target: TargetBody


class StartUnlearn(RequestBody):
    """The target to unlearn, and the mode."""

    target: TargetBody
    mode: Lax[UnlearnMode]
    reason: str | None = None


class ReceiptBody(RequestBody):
    """A receipt, exactly as it was given."""

    unlearn_id: str = Field(max_length=100)
    kind: Lax[TargetKind]
    target: Digest
    mode: Lax[UnlearnMode]
    actor: str = Field(max_length=500)
    started_at_ms: int
    finished_at_ms: int
    counts: dict[str, Int32]
    tombstones: Int32
    scrubbed: Int32
    digests: dict[str, Annotated[list[Digest], Field(max_length=MAX_DIGESTS)]]
    out_of_reach: list[Annotated[str, Field(max_length=200)]]
    signature: Digest


class VerifyUnlearn(RequestBody):
    """Check whether the stores still hold what a receipt names."""

    receipt: ReceiptBody
    # A text that the caller knows, to be searched as well; it is not stored.
    text: str | None = Field(default=None, max_length=MAX_TEXT)
