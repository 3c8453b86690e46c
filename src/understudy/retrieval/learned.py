"""Learnings for a prompt: read by index, judged by visibility rules, then chosen."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from understudy.learnings.model import TERM_KIND, Learning
from understudy.learnings.taint import is_unreviewed
from understudy.learnings.visibility import (
    prompt_blockers,
    prompt_key,
    prompt_visible,
    replaced_ids,
    talk_key,
)
from understudy.retrieval.choice import MAX_ENTRIES, Judged, Learned, choose
from understudy.retrieval.documents import TermStatistics
from understudy.retrieval.rarity import POSTINGS_BUDGET, SCAN_LIMIT
from understudy.retrieval.terms import query_terms
from understudy.review.policy import MAX_STANDING, retrieval_in
from understudy.sessions.learning_scopes import LearningScope, ScopeKind, visible_scopes
from understudy.sessions.model import Session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# The most learnings that are read and ranked when more are visible than `SCAN_LIMIT`, expired ones
# included.
CANDIDATES: Final = 2 * MAX_ENTRIES
# The most learnings read from the sessions of the best ones, and the most such sessions.
SAID_TOGETHER: Final = 2 * MAX_ENTRIES
TALKS: Final = 4
# The most learnings of narrower scopes that are read for the subjects found.
RIVALS: Final = 200


def learn_context(unit: "Unit", session: Session, query: str | None, now_ms: int) -> Learned:
    """Choose the learnings to inject for a session, without changing anything."""
    scopes = visible_scopes(unit, session)
    asked = query if query and query.strip() else None
    keys = [prompt_key(scope) for scope in scopes]
    unit.term_index.look_ahead(TERM_KIND, scopes=keys, terms=query_terms(asked or ""))
    if is_small(unit, keys):
        ids = unit.term_index.newest(TERM_KIND, scopes=keys, limit=SCAN_LIMIT)
        return _chosen(unit, read(unit, ids, scopes), asked, now_ms=now_ms)
    standing = unit.learnings.standing_in(scopes, limit=MAX_STANDING + CANDIDATES)
    if asked is not None:
        found = _found(unit, scopes, query_terms(asked))
        chosen = _chosen(unit, _with(standing, found), asked, now_ms=now_ms, around=scopes)
        if not chosen.is_browsed:
            return chosen
    newest = read(unit, _newest(unit, keys), scopes)
    return _chosen(unit, _with(standing, newest), asked, now_ms=now_ms, around=scopes)


def _with(standing: Sequence[Learning], found: Sequence[Learning]) -> tuple[Learning, ...]:
    """The found learnings, and the standing ones that are not among them."""
    known = {it.learning_id for it in found}
    return (*found, *(it for it in standing if it.learning_id not in known))


def is_small(unit: "Unit", keys: Sequence[str]) -> bool:
    """Whether the keys have so few entries that all are read."""
    return unit.term_index.count(TERM_KIND, keys) <= SCAN_LIMIT


def read(
    unit: "Unit", learning_ids: Iterable[str], scopes: Sequence[LearningScope]
) -> tuple[Learning, ...]:
    """The readable learnings of these scopes, in the given order."""
    wanted = tuple(learning_ids)
    found = unit.learnings.readable(wanted) if wanted else {}
    # The record decides its scope, not the index.
    return tuple(found[each] for each in wanted if each in found and found[each].scope in scopes)


def reviewed_among(unit: "Unit", learnings: Iterable[Learning], *, now_ms: int) -> list[Learning]:
    """The learnings that a model which we do not run may read, in the same order."""
    visible = prompt_visible(unit.learnings, learnings, now_ms=now_ms)
    return [it for it in visible if not is_unreviewed(it)]


def judge(unit: "Unit", learnings: Sequence[Learning], *, now_ms: int) -> list[Judged]:
    """Learnings with the rules that block them from prompts."""
    replaced = replaced_ids(unit.learnings, learnings, now_ms=now_ms) if learnings else frozenset()
    return [
        Judged(
            learning=it,
            blockers=prompt_blockers(it, now_ms=now_ms, is_replaced=it.learning_id in replaced),
        )
        for it in learnings
    ]


def statistics_for(unit: "Unit", query: str | None) -> TermStatistics | None:
    """Term statistics of a query over all learnings."""
    return None if query is None else unit.term_index.statistics(TERM_KIND, query_terms(query))


def rivals_of(
    unit: "Unit", judged: Sequence[Judged], scopes: Sequence[LearningScope], *, now_ms: int
) -> list[Judged]:
    """Learnings of narrower scopes on the same subjects, if not all visible ones were read."""
    subjects = sorted(
        {
            it.learning.subject_key
            for it in judged
            if it.learning.subject_key is not None and not it.blockers
        }
    )
    narrower = [
        scope
        for scope in scopes
        if scope.kind is not ScopeKind.WORKSPACE
        and not unit.term_index.is_empty(TERM_KIND, prompt_key(scope))
    ]
    if not subjects or not narrower:
        return []
    known = {it.learning.learning_id for it in judged}
    found = unit.learnings.on_subjects(narrower, subjects, limit=RIVALS)
    others = [it for it in found if it.learning_id not in known]
    return judge(unit, others, now_ms=now_ms)


def _chosen(
    unit: "Unit",
    learnings: Sequence[Learning],
    asked: str | None,
    *,
    now_ms: int,
    around: Sequence[LearningScope] = (),
) -> Learned:
    """The choice among learnings; `around` are scopes with more learnings than were read."""
    judged = judge(unit, learnings, now_ms=now_ms)
    rivals = rivals_of(unit, judged, around, now_ms=now_ms) if around else ()
    # Where there is nothing to rank, nothing is counted for it.
    statistics = statistics_for(unit, asked) if judged else None
    return choose(
        judged,
        asked,
        now_ms=now_ms,
        statistics=statistics,
        rivals=rivals,
        settings=retrieval_in(unit),
    )


def _found(
    unit: "Unit", scopes: Sequence[LearningScope], terms: Sequence[str]
) -> tuple[Learning, ...]:
    """Learnings with the rarest terms, and those of the same sessions with any term."""
    keys = [prompt_key(scope) for scope in scopes]
    matching = _matching(unit, keys, terms, CANDIDATES)
    best = read(unit, matching, scopes)
    if len(matching) < CANDIDATES and _are_all_read(unit, terms):
        return best
    talks = dict.fromkeys(
        talk_key(it.scope, it.source.session_id) for it in best if it.source.session_id is not None
    )
    together = _matching(unit, list(talks)[:TALKS], terms, SAID_TOGETHER, few=True)
    known = {it.learning_id for it in best}
    return (*best, *read(unit, (each for each in together if each not in known), scopes))


def _are_all_read(unit: "Unit", terms: Sequence[str]) -> bool:
    """Whether no term is so common that its entries are not looked up."""
    frequencies = unit.term_index.statistics(TERM_KIND, terms).frequencies
    return sum(frequencies.values()) <= POSTINGS_BUDGET


def _matching(
    unit: "Unit", keys: Sequence[str], terms: Sequence[str], limit: int, *, few: bool = False
) -> list[str]:
    index = unit.term_index
    found = index.candidates(TERM_KIND, scopes=keys, terms=terms, limit=limit, few=few)
    return [each.source_id for each in found]


def _newest(unit: "Unit", keys: Sequence[str]) -> list[str]:
    """The newest of every scope, so that a large workspace does not hide those of the session."""
    return [
        each
        for key in keys
        for each in unit.term_index.newest(TERM_KIND, scopes=[key], limit=2 * MAX_ENTRIES)
    ]
