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
# How many are ranked where there are more in scope than can all be read. Reading one costs more
# than finding it; the first ten of 64 are, on average, more than nine of the first ten of 400.
CANDIDATES: Final = 64
# Enough to be found, and too little to come before a text that holds the word itself.
PART_POINTS: Final = 0.1
# Shorter pieces of letters are in nearly every text.
LEAST_CHARS: Final = 3
# A longer query is no search for parts of words.
MAX_PARTS: Final = 32


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Needle:
    """What is looked for in many texts, letter by letter."""

    parts: tuple[str, ...]

    def points(self, field: Field) -> float:
        """What a field earns for what it contains."""
        text = field.text.casefold()
        return PART_POINTS * sum(1 for part in self.parts if part in text)

    def earned(self, scored: Scored, document: Document) -> tuple[float, tuple[str, ...]]:
        """What the terms and the letters of a query earn together, and in which fields."""
        contained = {field.name: self.points(field) for field in document.fields}
        matched = [match.field for match in scored.matches]
        held = [name for name, points in contained.items() if points or name in matched]
        # Last what is no field: a query may name the time of a record.
        names = dict.fromkeys((*held, *matched))
        return round(scored.score + sum(contained.values()), DIGITS), tuple(names)


def needle(query: str) -> Needle:
    """A query made ready."""
    words = dict.fromkeys(filter(_is_telling, query.casefold().split()))
    return Needle(parts=tuple(islice(words, MAX_PARTS)))


def _is_telling(word: str) -> bool:
    """Whether a word is worth looking for; other scripts than ours say much in few letters."""
    return word not in stop_words() and (len(word) >= LEAST_CHARS or not word.isascii())


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A document that fits, how well, and through which of its fields."""

    id: str
    score: float = 0.0
    matched_fields: tuple[str, ...] = ()


def fitting(asked: SearchRequest, kind: str | None, documents: Sequence[Document]) -> Iterator[Fit]:
    """Those that earn something; without a query all of them, as they come.

    How common a term is, the index knows for its kinds; of others the documents tell themselves.
    """
    if asked.query is None:
        yield from (Fit(id=it.id) for it in documents)
        return
    by_id = {it.id: it for it in documents}
    statistics = asked.unit.term_index.statistics(kind, query_terms(asked.query)) if kind else None
    sought = needle(asked.query)
    for scored in rank(asked.query, documents, statistics=statistics, now_ms=asked.now_ms):
        score, fields = sought.earned(scored, by_id[scored.id])
        if score > 0:
            yield Fit(id=scored.id, score=score, matched_fields=fields)
