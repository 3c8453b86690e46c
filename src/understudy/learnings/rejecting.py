"""Saying no to a candidate."""

from typing import TYPE_CHECKING

from understudy.learnings.deciding import Decider, decide, require_candidate
from understudy.learnings.events import LearningNotice, What, of_candidate, tell
from understudy.learnings.model import Candidate, CandidateState
from understudy.learnings.refusals import was_published

if TYPE_CHECKING:
    from understudy.storage.unit import Unit


def reject(
    unit: "Unit", candidate_id: str, *, by: Decider, now_ms: int, reason: str | None = None
) -> Candidate:
    """Reject a candidate; one that was rejected before stays as it is."""
    rejected, told = reject_quietly(unit, candidate_id, by=by, now_ms=now_ms, reason=reason)
    tell(unit, told, at_ms=now_ms)
    return rejected


def reject_quietly(
    unit: "Unit", candidate_id: str, *, by: Decider, now_ms: int, reason: str | None = None
) -> tuple[Candidate, tuple[LearningNotice, ...]]:
    """The same, with what is still to be told once the unit has done everything else."""
    candidate = require_candidate(unit, candidate_id, lock=True)
    if candidate.state is CandidateState.REJECTED:
        return candidate, ()
    if candidate.state is CandidateState.PUBLISHED:
        raise was_published(candidate_id, candidate.published_learning_id)
    rejected = decide(unit, candidate, CandidateState.REJECTED, by=by, now_ms=now_ms, reason=reason)
    return rejected, (of_candidate(What.CANDIDATE_DECIDED, rejected),)
