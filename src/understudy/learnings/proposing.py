"""Putting a candidate before those who decide."""

from functools import partial
from typing import TYPE_CHECKING

from understudy.core import audit
from understudy.core.principal import Principal
from understudy.learnings.events import What, of_candidate, tell
from understudy.learnings.listeners import NO_LISTENERS, Listeners
from understudy.learnings.model import Candidate

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


def propose(
    unit: "Unit",
    candidate: Candidate,
    *,
    by: Principal,
    now_ms: int,
    listeners: Listeners = NO_LISTENERS,
) -> bool:
    """Keep a new candidate and have it reviewed; False when it is there already.

    Comes last in a unit, as `tell` does: it takes the lock of the journal. Only more candidates of
    the same session may follow, whose row is held then, and the lock of run memories.
    """
    if not unit.candidates.add(candidate):
        return False
    unit.review_queue.put([candidate.candidate_id], due_at_ms=now_ms)
    unit.audit.add(
        audit.done(
            by, "learning_candidates.create", candidate.candidate_id, at_ms=now_ms, version=1
        )
    )
    tell(unit, (of_candidate(What.CANDIDATE_CREATED, candidate),), at_ms=now_ms)
    unit.afterwards(partial(listeners.observer.candidate_proposed, candidate.capture_path))
    unit.afterwards(listeners.review)
    return True
