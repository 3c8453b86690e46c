"""Events of candidates and learnings: journal entries without contents, counters, and listeners."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from understudy.core.errors import DamagedRecord
from understudy.core.principal import Principal
from understudy.learnings.model import (
    Candidate,
    CapturePath,
    Learning,
    PolicyDecision,
    ReviewAction,
)
from understudy.sessions.journal import EventKind, NewEvent
from understudy.sessions.learning_scopes import LearningScope, ScopeKind

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


@dataclass(slots=True)
class LearningCounters:
    """An observer that counts; several threads may tell it."""

    _candidates: Counter[CapturePath] = field(default_factory=Counter)
    _reviews: Counter[ReviewAction] = field(default_factory=Counter)
    _publications: Counter[PolicyDecision] = field(default_factory=Counter)
    _judge_failures: int = 0
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    def candidate_proposed(self, path: CapturePath) -> None:
        """A candidate was made."""
        with self._lock:
            self._candidates[path] += 1

    def candidate_reviewed(self, action: ReviewAction) -> None:
        """Automation made up its mind about a candidate."""
        with self._lock:
            self._reviews[action] += 1

    def judge_failed(self) -> None:
        """The judge did not answer, or not in a way that can be used."""
        with self._lock:
            self._judge_failures += 1

    def learning_published(self, decision: PolicyDecision) -> None:
        """A learning was made."""
        with self._lock:
            self._publications[decision] += 1

    def snapshot(self) -> dict[str, dict[str, int]]:
        """All of them as they stand together, each by what it is counted by."""
        with self._lock:
            return {
                "candidates_total": {str(path): self._candidates[path] for path in CapturePath},
                "reviews_total": {str(action): self._reviews[action] for action in ReviewAction},
                "judge_failures_total": {"": self._judge_failures},
                "publications_total": {
                    str(decision): self._publications[decision] for decision in PolicyDecision
                },
            }


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


# Told of a learning that is about to be revoked or superseded, within the same unit: whatever
# hangs on it goes first, and if that cannot be, neither does the learning. It answers what is to be
# told of that once the unit has done all else.
LinkedHook: TypeAlias = Callable[["Unit", Principal, Learning], Sequence[LearningNotice]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listeners:
    """Who is told what, and when."""

    linked: tuple[LinkedHook, ...] = ()
    observer: LearningCounters = field(default_factory=LearningCounters)
    # Wakes those who review, once there is something to review.
    review: Callable[[], None] = lambda: None


NO_LISTENERS = Listeners()
