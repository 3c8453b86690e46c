"""Undo in review: a decision taken back by the person who made it, and snoozed candidates."""

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from understudy.core.errors import coded_error
from understudy.core.principal import Principal
from understudy.learnings.conflicts import conflict_with, duplicate_of
from understudy.learnings.decisions import (
    Retirement,
    decided_error,
    not_live_error,
    require_candidate,
    require_learning,
    save_candidate,
)
from understudy.learnings.events import (
    LearningEvent,
    LearningNotice,
    Listeners,
    of_candidate,
    tell,
)
from understudy.learnings.model import (
    CANDIDATE,
    LIVE,
    OPEN,
    Candidate,
    CandidateState,
    Learning,
    LearningStatus,
)

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

UNDONE: Final = "undone in review"
# The most learnings of earlier publications that a candidate names.
MAX_UNDONE: Final = 20


def reopen(
    unit: "Unit",
    candidate_id: str,
    *,
    by: Principal,
    now_ms: int,
    listeners: Listeners,
    reason: str | None = None,
) -> Candidate:
    """Make a decided candidate pending again; an open one stays as it is.

    Only the person who decided may do so, and only while nothing depends on the decision.
    """
    candidate = require_candidate(unit, candidate_id, lock=True)
    if candidate.state in OPEN:
        return candidate
    CANDIDATE.check(candidate.state, CandidateState.PENDING)
    if candidate.decided_by != by.user_id:
        raise coded_error(
            "learnings/candidate_decided_by_other",
            candidate_id=candidate_id,
            by=candidate.decided_by,
        )
    if candidate.is_expired(now_ms):
        raise coded_error("learnings/candidate_expired", candidate_id=candidate_id)
    ending = Retirement(unit=unit, by=by, now_ms=now_ms, listeners=listeners)
    undone, told = _take_back(ending, candidate, reason or UNDONE)
    reopened = replace(
        candidate,
        state=CandidateState.PENDING,
        published_learning_id=None,
        decided_at_ms=None,
        decided_by=None,
        decision_reason=None,
        undone_learning_ids=(*candidate.undone_learning_ids, *undone)[-MAX_UNDONE:],
    )
    reopened = save_candidate(
        unit, candidate, reopened, "learning_candidates.reopen", by=by, now_ms=now_ms, reason=reason
    )
    tell(unit, (*told, of_candidate(LearningEvent.CANDIDATE_REOPENED, reopened)), at_ms=now_ms)
    return reopened


def snooze(
    unit: "Unit",
    candidate_id: str,
    until_ms: int,
    *,
    by: Principal,
    now_ms: int,
) -> Candidate:
    """Snooze an open candidate until a time; a time in the past wakes it."""
    candidate = require_candidate(unit, candidate_id, lock=True)
    if candidate.state not in OPEN:
        raise decided_error(candidate)
    asleep = replace(candidate, snoozed_until_ms=until_ms if until_ms > now_ms else None)
    return save_candidate(
        unit, candidate, asleep, "learning_candidates.snooze", by=by, now_ms=now_ms
    )


def _take_back(
    ending: Retirement, candidate: Candidate, reason: str
) -> tuple[tuple[str, ...], tuple[LearningNotice, ...]]:
    """Revoke the learning of a publication; answers the ids and notices of what was revoked."""
    unit, learning_id = ending.unit, candidate.published_learning_id
    found = require_learning(unit, learning_id) if learning_id else None
    # A learning that existed before is not the candidate's own, so it is not revoked.
    if found is None or found.source_candidate_id != candidate.candidate_id:
        return (), ()
    older = require_learning(unit, found.supersedes) if found.supersedes else None
    scopes = {it.scope for it in (found, older) if it is not None}
    # In one order, which avoids deadlocks.
    for scope in sorted(scopes, key=lambda it: it.key):
        unit.learnings.hold(scope)
    learning = require_learning(unit, found.learning_id, lock=True)
    if learning.status not in LIVE:
        raise not_live_error(learning)
    skill = unit.rollouts.live_name_of(learning.learning_id)
    if skill is not None:
        raise coded_error("learnings/learning_promoted", learning_id=learning_id, skill=skill)
    revoked, told = ending.revoke(learning, reason, is_undone=True)
    restored = _restore(ending, older.learning_id, revoked) if older else ()
    return (revoked.learning_id,), (*told, *restored)


def _restore(
    ending: Retirement, learning_id: str, replacement: Learning
) -> tuple[LearningNotice, ...]:
    """Bring back the learning that an undone publication had superseded."""
    older = require_learning(ending.unit, learning_id, lock=True)
    is_ours = older.superseded_by == replacement.learning_id
    if older.status is not LearningStatus.SUPERSEDED or not is_ours:
        return ()
    for find in (conflict_with, duplicate_of):
        other = find(ending.unit, older, now_ms=ending.now_ms)
        if other is not None:
            raise coded_error("learnings/learning_conflict", learning_id=other.learning_id)
    return ending.restore(older)
