"""Search: the request, the results, and which documents match the letters and terms of a query."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Final

from understudy.core.records import Omitted
from understudy.memory.policy import RunMemoryPolicy
from understudy.redaction.marker import cut
from understudy.retrieval.documents import Document, Field, Rounded, Scored
from understudy.retrieval.score import DIGITS, rank
from understudy.retrieval.terms import query_terms
from understudy.retrieval.vocabulary import stop_words
from understudy.sessions.learning_scopes import LearningScope
from understudy.sessions.model import Session
from understudy.skills.catalogue_entry import CatalogueEntry

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

EXCERPT_CHARS: Final = 180
TITLE_CHARS: Final = 80
# The most records that are read and ranked when the scope has more than `SCAN_LIMIT`. Of the ten
# best of 400 candidates, more than nine are on average among the ten best of 64.
CANDIDATES: Final = 64
# Enough to be found, and less than a match of the whole word.
PART_POINTS: Final = 0.1
# Shorter substrings are in nearly every text.
LEAST_CHARS: Final = 3
# The most words of a query that are searched as substrings.
MAX_PARTS: Final = 32


class ResultKind(StrEnum):
    """The kinds of search results."""

    LEARNING = "learning"
    RECOVERED_RUN = "recovered_run"
    SKILL = "skill"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """One search of one session."""

    unit: "Unit"
    session: Session
    # The visible scopes, narrowest first.
    scopes: tuple[LearningScope, ...]
    # None to browse, newest first.
    query: str | None
    limit: int
    policy: RunMemoryPolicy
    now_ms: int
    # The skills that the agent may use for the caller.
    skills: tuple[CatalogueEntry, ...] = ()
    # Whether only reviewed learnings are found.
    reviewed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """One result of a search."""

    kind: ResultKind
    source_id: str
    title: str
    excerpt: str
    timestamp_ms: int
    # Whether it could reach a prompt of the asking session.
    prompt_eligible: bool
    # The share of the query that its best field holds, on one scale for all kinds; 0 without one.
    score: Rounded = 0.0
    # The narrowest scope of the asking session that it was found through.
    scope: Omitted[LearningScope] = None
    matched_fields: tuple[str, ...] = ()
    # Of learnings only.
    learning_status: Omitted[str] = None
    publish_tier: Omitted[str] = None
    applies: Omitted[str] = None
    verification_status: Omitted[str] = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A match by what it is sorted by; its result is built for the best only."""

    score: float
    timestamp_ms: int
    source_id: str
    result: Callable[[], SearchResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """The matches of one source, and stale records that it met."""

    found: tuple[Hit, ...] = ()
    # Expired run memories, to be deleted.
    expired: tuple[str, ...] = ()
    # How many run memories could not be read.
    unreadable: int = 0


# A source of search results.
HitSource = Callable[[SearchRequest], Hits]


def excerpt(text: str) -> str:
    """The beginning of a text on one line."""
    return cut(" ".join(text.split()), EXCERPT_CHARS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Needle:
    """The words of a query, searched as substrings."""

    parts: tuple[str, ...]

    def points(self, field: Field) -> float:
        """The points of a field for the share of the substrings that it contains."""
        text = field.text.casefold()
        return PART_POINTS * sum(part in text for part in self.parts) / max(1, len(self.parts))

    def score(self, scored: Scored, document: Document) -> float:
        """The score of terms and substrings together."""
        parts = max(map(self.points, document.fields), default=0.0)
        return round(scored.reasons.share() + parts, DIGITS)

    def matched_fields(self, scored: Scored, document: Document) -> tuple[str, ...]:
        """The names of the fields with a matched term or substring."""
        matched = [match.field for match in scored.matches]
        held = [it.name for it in document.fields if it.name in matched or self.points(it)]
        # Matches that are no field, such as the time of a record, come last.
        return tuple(dict.fromkeys((*held, *matched)))


def needle(query: str) -> Needle:
    """The substrings of a query."""
    words = dict.fromkeys(filter(_is_telling, query.casefold().split()))
    return Needle(parts=tuple(islice(words, MAX_PARTS)))


def _is_telling(word: str) -> bool:
    """Whether a word is worth a substring search; non-ASCII words may be short."""
    return word not in stop_words() and (len(word) >= LEAST_CHARS or not word.isascii())


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A matching document and its score."""

    id: str
    score: float = 0.0
    # What it matched with; None without a query.
    matched: "tuple[Needle, Scored, Document] | None" = None

    @property
    def matched_fields(self) -> tuple[str, ...]:
        """The names of the matched fields."""
        if self.matched is None:
            return ()
        sought, scored, document = self.matched
        return sought.matched_fields(scored, document)


def matching_documents(
    asked: SearchRequest, kind: str | None, documents: Sequence[Document]
) -> Iterator[Fit]:
    """The documents with a score; without a query all documents in their order.

    Term statistics come from the index for the kinds it has, else from the documents.
    """
    if asked.query is None:
        yield from (Fit(id=it.id) for it in documents)
        return
    if not documents:
        return
    by_id = {it.id: it for it in documents}
    statistics = asked.unit.term_index.statistics(kind, query_terms(asked.query)) if kind else None
    sought = needle(asked.query)
    for scored in rank(asked.query, documents, statistics=statistics, now_ms=asked.now_ms):
        document = by_id[scored.id]
        score = sought.score(scored, document)
        if score > 0:
            yield Fit(id=scored.id, score=score, matched=(sought, scored, document))
