"""What a session can find: every kind of knowledge it sees, in one ranked list."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from understudy.core.errors import Invalid
from understudy.memory.policy import RunMemoryPolicy
from understudy.retrieval.hits import Asked, SearchResult, Source
from understudy.retrieval.learning_search import visible_learnings
from understudy.retrieval.run_search import recovered_runs
from understudy.retrieval.skill_search import visible_skills
from understudy.sessions.learning_scopes import LearningScope, visible_scopes
from understudy.sessions.model import Session
from understudy.skills.catalogue_entry import CatalogueEntry

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

DEFAULT_LIMIT: Final = 12
MAX_LIMIT: Final = 50
MAX_QUERY_CHARS: Final = 4096
# In no order: the results of all are ranked together.
SOURCES: Final[tuple[Source, ...]] = (
    Source(find=visible_learnings, is_browsed=True),
    Source(find=recovered_runs, is_browsed=True),
    Source(find=visible_skills, is_browsed=False),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswer:
    """What was found, and what the search came upon that is to be cleared away."""

    session: Session
    learning_scopes: tuple[LearningScope, ...]
    query: str | None
    truncated: bool
    results: tuple[SearchResult, ...]
    expired: tuple[str, ...] = ()
    unreadable: int = 0


def search(
    unit: "Unit",
    session: Session,
    *,
    query: str | None,
    limit: int | None,
    policy: RunMemoryPolicy,
    now_ms: int,
    skills: tuple[CatalogueEntry, ...] = (),
) -> SearchAnswer:
    """Rank what the session sees against the query; without one, the newest come first."""
    asked = Asked(
        unit=unit,
        session=session,
        scopes=visible_scopes(unit, session),
        query=checked_query(query),
        limit=clamped(limit),
        policy=policy,
        now_ms=now_ms,
        skills=skills,
    )
    hits = [
        source.find(asked) for source in SOURCES if source.is_browsed or asked.query is not None
    ]
    results = sorted((result for each in hits for result in each.results), key=_order)
    return SearchAnswer(
        session=session,
        learning_scopes=asked.scopes,
        query=asked.query,
        truncated=len(results) > asked.limit,
        results=tuple(results[: asked.limit]),
        expired=tuple(run_id for each in hits for run_id in each.expired),
        unreadable=sum(each.unreadable for each in hits),
    )


def checked_query(query: str | None) -> str | None:
    """What to look for; None when it is absent or blank."""
    asked = (query or "").strip()
    if len(asked) > MAX_QUERY_CHARS:
        raise Invalid(
            "invalid_query",
            domain="memory",
            pointer="/query",
            detail=f"a query has at most {MAX_QUERY_CHARS} characters; this one has {len(asked)}",
        )
    return asked or None


def clamped(limit: int | None) -> int:
    """How many results to answer: what was asked for, within bounds."""
    return DEFAULT_LIMIT if limit is None else min(max(limit, 1), MAX_LIMIT)


def _order(result: SearchResult) -> tuple[float, int, str]:
    return (-result.score, -result.timestamp_ms, result.source_id)
