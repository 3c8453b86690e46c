"""What a session has learned that has to do with an input: found, judged, chosen."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from understudy.learnings.model import TERM_KIND, Learning
from understudy.learnings.visibility import prompt_blockers, prompt_key, replaced_ids, talk_key
from understudy.retrieval.choice import MAX_ENTRIES, Judged, Learned, choose
from understudy.retrieval.documents import TermStatistics
from understudy.retrieval.rarity import SCAN_LIMIT
from understudy.retrieval.terms import query_terms
from understudy.sessions.learning_scopes import LearningScope, ScopeKind, visible_scopes
from understudy.sessions.model import Session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

# How many are ranked where there are more in sight than can all be read; what is past its time
# takes a place among them as well.
CANDIDATES: Final = 2 * MAX_ENTRIES
# How many more are looked at of what was said together with the first of them, and in how many talks.
SAID_TOGETHER: Final = 2 * MAX_ENTRIES
TALKS: Final = 4
# How many a narrower scope may say of the subjects that were found.
RIVALS: Final = 200


def learn_context(unit: "Unit", session: Session, query: str | None, now_ms: int) -> Learned:
    """Choose what to tell of a session's learnings; changes nothing, not even a counter."""
    scopes = visible_scopes(unit, session)
    asked = query if query and query.strip() else None
    keys = [prompt_key(scope) for scope in scopes]
    if is_small(unit, keys):
        ids = unit.term_index.newest(TERM_KIND, scopes=keys, limit=SCAN_LIMIT)
        return _chosen(unit, read(unit, ids, scopes), asked, now_ms=now_ms)
    if asked is not None:
        found = _found(unit, scopes, query_terms(asked))
        chosen = _chosen(unit, found, asked, now_ms=now_ms, around=scopes)
        if not chosen.is_browsed:
            return chosen
    return _chosen(
        unit, read(unit, _newest(unit, keys), scopes), asked, now_ms=now_ms, around=scopes
    )


def is_small(unit: "Unit", keys: Sequence[str]) -> bool:
    """Whether there is so little under these keys that all of it is read."""
    return unit.term_index.count(TERM_KIND, keys) <= SCAN_LIMIT


def read(
    unit: "Unit", learning_ids: Iterable[str], scopes: Sequence[LearningScope]
) -> tuple[Learning, ...]:
    """Those that can be read and are in one of the scopes, in this order."""
    wanted = tuple(learning_ids)
    found = unit.learnings.readable(wanted) if wanted else {}
    # The record says which scope it is in, whatever the index says.
    return tuple(found[each] for each in wanted if each in found and found[each].scope in scopes)


def judge(unit: "Unit", learnings: Sequence[Learning], *, now_ms: int) -> list[Judged]:
    """Learnings with everything that forbids to tell of them."""
    replaced = replaced_ids(unit.learnings, learnings, now_ms=now_ms) if learnings else frozenset()
    return [
        Judged(
            learning=it,
            blockers=prompt_blockers(it, now_ms=now_ms, is_replaced=it.learning_id in replaced),
        )
        for it in learnings
    ]


def statistics_for(unit: "Unit", query: str | None) -> TermStatistics | None:
    """How common the words of a query are among all learnings."""
    return None if query is None else unit.term_index.statistics(TERM_KIND, query_terms(query))


def rivals_of(
    unit: "Unit", judged: Sequence[Judged], scopes: Sequence[LearningScope], *, now_ms: int
) -> list[Judged]:
    """What narrower scopes say of the same subjects, where not everything in sight was read."""
    subjects = sorted(
        {
            it.learning.subject_key
            for it in judged
            if it.learning.subject_key is not None and not it.blockers
        }
    )
    narrower = [scope for scope in scopes if scope.kind is not ScopeKind.WORKSPACE]
    if not subjects:
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
    """What is told of these; `around` are the scopes that hold more than was read."""
    judged = judge(unit, learnings, now_ms=now_ms)
    rivals = rivals_of(unit, judged, around, now_ms=now_ms) if around else ()
    statistics = statistics_for(unit, asked)
    return choose(judged, asked, now_ms=now_ms, statistics=statistics, rivals=rivals)


def _found(
    unit: "Unit", scopes: Sequence[LearningScope], terms: Sequence[str]
) -> tuple[Learning, ...]:
    """What holds the rarest words, and what holds any of them and was said together with that."""
    keys = [prompt_key(scope) for scope in scopes]
    best = read(unit, _matching(unit, keys, terms, CANDIDATES), scopes)
    talks = dict.fromkeys(
        talk_key(it.scope, it.source.session_id) for it in best if it.source.session_id is not None
    )
    if not talks:
        return best
    together = _matching(unit, list(talks)[:TALKS], terms, SAID_TOGETHER)
    known = {it.learning_id for it in best}
    return (*best, *read(unit, (each for each in together if each not in known), scopes))


def _matching(unit: "Unit", keys: Sequence[str], terms: Sequence[str], limit: int) -> list[str]:
    found = unit.term_index.candidates(TERM_KIND, scopes=keys, terms=terms, limit=limit)
    return [each.source_id for each in found]


def _newest(unit: "Unit", keys: Sequence[str]) -> list[str]:
    """The newest of every scope, so that a full workspace does not hide a session's own."""
    return [
        each
        for key in keys
        for each in unit.term_index.newest(TERM_KIND, scopes=[key], limit=2 * MAX_ENTRIES)
    ]
