"""What to do about a review that fails: how long to wait, and when to leave it to a person."""

from typing import TYPE_CHECKING, Final

import structlog

from understudy.core.errors import (
    Conflict,
    DamagedRecord,
    Invalid,
    NotFound,
    Rejected,
    StaleVersion,
    UnderstudyError,
)
from understudy.core.text import preview
from understudy.learnings.model import Action, AutomationReview, CandidateState, Job, Mode
from understudy.review.applying import escalate, note
from understudy.review.policy import in_force

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

log = structlog.get_logger()

# After the first try, the second, and so on.
WAITS_MS: Final = (500, 2_000, 8_000, 30_000)
MAX_ATTEMPTS: Final = len(WAITS_MS) + 1
# What the next try would only find again.
LASTING: Final = (Conflict, Invalid, NotFound, Rejected)
REASON_CHARS: Final = 400


def is_hopeless(job: Job, problem: Exception) -> bool:
    """Whether trying a review again is no use."""
    is_lasting = isinstance(problem, LASTING) and not isinstance(problem, StaleVersion)
    return is_lasting or job.attempts + 1 >= MAX_ATTEMPTS


def words_for(problem: Exception) -> str:
    """A failure as a person may read it."""
    if isinstance(problem, UnderstudyError):
        return preview(f"{problem.code}: {problem.detail}", REASON_CHARS)
    return f"the daemon failed unexpectedly ({type(problem).__name__}); its log says how"


def give_up(unit: "Unit", job: Job, why: str, *, now_ms: int) -> None:
    """Take a job off the queue, and leave its candidate to a person."""
    if not unit.review_queue.holds(job):
        return
    unit.review_queue.done(job)
    try:
        candidate = unit.candidates.get(job.job_id, lock=True)
    except DamagedRecord:
        log.exception("review.unreadable", candidate_id=job.job_id)
        return
    policy = in_force(unit)
    mode = policy.policy.mode
    is_waiting = candidate is not None and candidate.state is CandidateState.PENDING
    if candidate is None or not is_waiting or mode is Mode.MANUAL_ONLY:
        return
    review = AutomationReview(
        mode=mode,
        action=Action.MANUAL_REVIEW,
        reviewed_at_ms=now_ms,
        reason=f"it could not be reviewed: {why}",
        policy_revision=policy.revision,
    )
    unit.reviews.put(candidate.candidate_id, policy.digest, review)
    if mode is Mode.ENABLED:
        escalate(unit, candidate, review, now_ms=now_ms)
    else:
        note(unit, candidate, review)
