"""Events of candidates and learnings: journal entries without contents, counters, and listeners."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from understudy.core.errors import undamaged
from understudy.core.principal import Principal
from understudy.learnings.model import (
    Candidate,
    CapturePath,
    Learning,
    LearningSource,
    PolicyDecision,
    ReviewAction,
)
from understudy.sessions.journal import EventKind, NewEvent
from understudy.sessions.learning_scopes import LearningScope, ScopeKind

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


# What is counted, by its labels.
COUNTED: Final[Mapping[str, Iterable[str]]] = {
    "candidates_total": CapturePath,
    "reviews_total": ReviewAction,
    "judge_failures_total": ("",),
    "publications_total": PolicyDecision,
}


@dataclass(slots=True)
class LearningCounters:
    """Counters of the learning plane; safe to use from several threads."""

    _counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    def count(self, name: str, label: str = "") -> None:
        """Count one thing of `COUNTED`."""
        with self._lock:
            self._counts[name, label] += 1

    def snapshot(self) -> dict[str, dict[str, int]]:
        """All counters at one moment, by their labels."""
        with self._lock:
            return {
                name: {str(label): self._counts[name, label] for label in labels}
                for name, labels in COUNTED.items()
            }


class LearningEvent(StrEnum):
    """What happened to a candidate or a learning."""

    CANDIDATE_CREATED = "candidate_created"
    CANDIDATE_ESCALATED = "candidate_escalated"
    CANDIDATE_DECIDED = "candidate_decided"
    CANDIDATE_REOPENED = "candidate_reopened"
    LEARNING_PUBLISHED = "learning_published"
    LEARNING_CHANGED = "learning_changed"
    LEARNING_RESTORED = "learning_restored"
    LEARNING_SUPERSEDED = "learning_superseded"
    LEARNING_REVOKED = "learning_revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningNotice:
    """One journal event, and the ids of the sessions it is written to."""

    session_ids: frozenset[str]
    event: NewEvent


def of_candidate(what: LearningEvent, candidate: Candidate) -> LearningNotice:
    """The event of a candidate, for its source session and the session of its scope."""
    data = {
        "what": str(what),
        "candidate_id": candidate.candidate_id,
        "learning_id": candidate.published_learning_id,
        "state": str(candidate.state),
    }
    return _told(candidate.scope, candidate.source.session_id, data)


def of_learning(what: LearningEvent, learning: Learning) -> LearningNotice:
    """The event of a learning, for its source session and the session of its scope."""
    data = {
        "what": str(what),
        "candidate_id": learning.source_candidate_id,
        "learning_id": learning.learning_id,
        "status": str(learning.status),
    }
    return _told(learning.scope, learning.source.session_id, data)


def candidates_added(source: LearningSource, candidate_ids: Sequence[str]) -> LearningNotice:
    """The event of a run that left candidates, for the session of the run."""
    return LearningNotice(
        session_ids=frozenset(it for it in (source.session_id,) if it),
        event=NewEvent(
            kind=EventKind.CANDIDATES_ADDED,
            run_id=source.run_id,
            data={"candidate_ids": list(candidate_ids)},
        ),
    )


def tell(unit: "Unit", told: Sequence[LearningNotice], *, at_ms: int) -> None:
    """Write notices into the journals of the sessions that exist.

    Lock order: sessions by id, then the journal, then run memories. Whoever calls this has taken
    all other locks of the unit before.
    """
    concerned = sorted({session_id for it in told for session_id in it.session_ids})
    held = [it for it in concerned if undamaged(unit.sessions.get, it, lock=True) is not None]
    for session_id in held:
        events = [it.event for it in told if session_id in it.session_ids]
        unit.journal.append(session_id, events, at_ms=at_ms)


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


# Called in the unit that revokes or supersedes a learning, before that is written: ends what
# depends on the learning, or raises and so stops the change. Answers notices for `tell`.
LinkedHook: TypeAlias = Callable[["Unit", Principal, Learning], Sequence[LearningNotice]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listeners:
    """Observers of the learning plane: hooks before an end, counters, the review worker."""

    linked: tuple[LinkedHook, ...] = ()
    observer: LearningCounters = field(default_factory=LearningCounters)
    # Wakes the review worker.
    review: Callable[[], None] = lambda: None


NO_LISTENERS = Listeners()
