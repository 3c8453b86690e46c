"""What a search asks its sources for, and what they answer."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from understudy.core.records import Omitted
from understudy.memory.policy import RunMemoryPolicy
from understudy.redaction.marker import cut
from understudy.retrieval.documents import Rounded
from understudy.sessions.learning_scopes import LearningScope
from understudy.sessions.model import Session
from understudy.skills.catalogue_entry import CatalogueEntry

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

EXCERPT_CHARS: Final = 180
TITLE_CHARS: Final = 80
# How many are ranked where there are more in scope than can all be read. Reading one costs more
# than finding it; the first ten of 64 are, on average, more than nine of the first ten of 400.
CANDIDATES: Final = 64


class ResultKind(StrEnum):
    """What kinds of things a search finds."""

    LEARNING = "learning"
    RECOVERED_RUN = "recovered_run"
    SKILL = "skill"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """One search of one session."""

    unit: "Unit"
    session: Session
    # What the session sees, narrowest first.
    scopes: tuple[LearningScope, ...]
    # None to browse, newest first.
    query: str | None
    limit: int
    policy: RunMemoryPolicy
    now_ms: int
    # What the session's agent may use for whoever asks.
    skills: tuple[CatalogueEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """Something that was found."""

    kind: ResultKind
    source_id: str
    title: str
    excerpt: str
    timestamp_ms: int
    # Whether it could reach a prompt of the asking session.
    prompt_eligible: bool
    # 0 without a query.
    score: Rounded = 0.0
    # The narrowest scope of the asking session that it was found through.
    scope: Omitted[LearningScope] = None
    matched_fields: tuple[str, ...] = ()
    # Of learnings only.
    learning_status: Omitted[str] = None
    publish_tier: Omitted[str] = None
    verification_status: Omitted[str] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """What one source found, and what it came upon on the way."""

    results: tuple[SearchResult, ...] = ()
    # Run memories past their time, to be dropped.
    expired: tuple[str, ...] = ()
    # How many run memories could not be read.
    unreadable: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HitSource:
    """One kind of thing that can be found."""

    find: Callable[[SearchRequest], Hits]
    # Whether it is shown to somebody who only browses.
    is_browsed: bool


def excerpt(text: str) -> str:
    """The beginning of a text on one line."""
    return cut(" ".join(text.split()), EXCERPT_CHARS)
