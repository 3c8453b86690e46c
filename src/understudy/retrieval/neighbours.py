"""The learnings nearest to a statement, among those that a scope is read together with."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from understudy.learnings.model import TERM_KIND, Learning
from understudy.learnings.neighbours import MOST_NEIGHBOURS
from understudy.learnings.visibility import prompt_key, prompt_visible
from understudy.retrieval.choice import LEARNED_TUNING, content_of
from understudy.retrieval.learned import is_small, statistics_for
from understudy.retrieval.rarity import SCAN_LIMIT
from understudy.retrieval.score import rank
from understudy.retrieval.terms import query_terms
from understudy.sessions.learning_scopes import LearningScope

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# The most learnings that are read and ranked.
CANDIDATES: Final = 64
# A longer text is about more than its beginning can match.
MAX_QUERY_CHARS: Final = 2_000


def nearest(
    unit: "Unit", text: str, scopes: Collection[LearningScope] | None, now_ms: int
) -> tuple[tuple[Learning, float], ...]:
    """The few prompt-visible learnings most like a text, with their scores, best first.

    `scopes` None means those of every scope.
    """
    query = text[:MAX_QUERY_CHARS]
    found = unit.learnings.readable(_preselected(unit, query_terms(query), scopes)).values()
    near = [it for it in found if scopes is None or it.scope in scopes]
    by_id = {it.learning_id: it for it in prompt_visible(unit.learnings, near, now_ms=now_ms)}
    ranked = rank(
        query,
        [content_of(it) for it in by_id.values()],
        statistics=statistics_for(unit, query) if by_id else None,
        tuning=LEARNED_TUNING,
    )
    return tuple((by_id[it.id], it.score) for it in ranked[:MOST_NEIGHBOURS] if it.score > 0)


def _preselected(
    unit: "Unit", terms: Sequence[str], scopes: Collection[LearningScope] | None
) -> tuple[str, ...]:
    """The ids of learnings to read; all of scopes that have few."""
    index = unit.term_index
    if scopes is None:
        return index.anywhere(TERM_KIND, terms=terms, limit=CANDIDATES)
    keys = [prompt_key(scope) for scope in scopes]
    if is_small(unit, keys):
        return index.newest(TERM_KIND, scopes=keys, limit=SCAN_LIMIT)
    found = index.candidates(TERM_KIND, scopes=keys, terms=terms, limit=CANDIDATES)
    return tuple(each.source_id for each in found)
