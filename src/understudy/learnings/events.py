"""What the sessions concerned are told of candidates and learnings: ids, and never their words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from understudy.core.errors import DamagedRecord
from understudy.learnings.model import Candidate, Learning
from understudy.sessions.journal import EventKind, NewEvent
from understudy.sessions.learning_scopes import LearningScope, ScopeKind

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


class What(StrEnum):
    """What happened."""

    CANDIDATE_CREATED = "candidate_created"
    CANDIDATE_ESCALATED = "candidate_escalated"
    CANDIDATE_DECIDED = "candidate_decided"
    LEARNING_PUBLISHED = "learning_published"
    LEARNING_SUPERSEDED = "learning_superseded"
    LEARNING_REVOKED = "learning_revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningNotice:
    """One event, and the sessions it may be about."""

    session_ids: frozenset[str]
    event: NewEvent


def of_candidate(what: What, candidate: Candidate) -> LearningNotice:
    """The event of a candidate, for the sessions that it comes from and belongs to."""
    data = {
        "what": str(what),
        "candidate_id": candidate.candidate_id,
        "learning_id": candidate.published_learning_id,
        "state": str(candidate.state),
    }
    return _told(candidate.scope, candidate.source.session_id, data)


def of_learning(what: What, learning: Learning) -> LearningNotice:
    """The event of a learning, for the sessions that it comes from and belongs to."""
    data = {
        "what": str(what),
        "candidate_id": learning.source_candidate_id,
        "learning_id": learning.learning_id,
        "status": str(learning.status),
    }
    return _told(learning.scope, learning.source.session_id, data)


def tell(unit: "Unit", told: Sequence[LearningNotice], *, at_ms: int) -> None:
    """Write them into the journals of those of the sessions that there are.

    Comes last in a unit, or nearly so: who has the lock of the journal may afterwards take only
    that of run memories, as a run does that ends. So all rows of sessions are held before the first
    event is written, in the order of their ids.
    """
    concerned = sorted({session_id for it in told for session_id in it.session_ids})
    held = [session_id for session_id in concerned if _hold(unit, session_id)]
    for session_id in held:
        events = [it.event for it in told if session_id in it.session_ids]
        unit.journal.append(session_id, events, at_ms=at_ms)


def _hold(unit: "Unit", session_id: str) -> bool:
    try:
        return unit.sessions.get(session_id, lock=True) is not None
    except DamagedRecord:
        return False


def _told(
    scope: LearningScope, source: str | None, data: Mapping[str, str | None]
) -> LearningNotice:
    own = scope.id if scope.kind is ScopeKind.SESSION else None
    return LearningNotice(
        session_ids=frozenset(it for it in (own, source) if it),
        event=NewEvent(
            kind=EventKind.LEARNING,
            data={name: value for name, value in data.items() if value is not None},
        ),
    )
