"""The runtime document and its revisions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from understudy.core.records import OMIT

MAX_REVISIONS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """The runtime document as it stood after one change."""

    revision: int
    updated_at_ms: int
    actor: str
    setting: str
    document: Mapping[str, Any] = field(default_factory=dict)
    rollback_of_revision: Annotated[int | None, OMIT] = None
