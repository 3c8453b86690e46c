"""The review duty of the background worker: reviews queued candidates.

After a crash the lease of a job expires and the candidate is reviewed again; a verdict of the judge
was stored before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import structlog

from understudy.core.clock import Clock
from understudy.core.errors import (
    Conflict,
    DamagedRecord,
    Invalid,
    NotFound,
    Rejected,
    StaleVersion,
    UnderstudyError,
    coded_error,
)
from understudy.core.text import preview
from understudy.learnings.model import AutomationReview, CandidateState, Mode, ReviewAction
from understudy.review.decision import escalate, note
from understudy.review.policy import in_force
from understudy.review.reviewer import Reviewer
from understudy.work.queue_worker import Job

if TYPE_CHECKING:
    from understudy.storage.job_queue import JobQueue
    from understudy.storage.unit import Unit, Units

log = structlog.get_logger()

# Back-off after each attempt.
WAITS_MS: Final = (500, 2_000, 8_000, 30_000)
MAX_ATTEMPTS: Final = len(WAITS_MS) + 1
# Errors that a retry would meet again.
LASTING: Final = (Conflict, Invalid, NotFound, Rejected)
REASON_CHARS: Final = 400
TOPIC: Final = "reviews"


def is_hopeless(job: Job, problem: Exception) -> bool:
    """Whether retrying a review is useless."""
    is_lasting = isinstance(problem, LASTING) and not isinstance(problem, StaleVersion)
    return is_lasting or job.attempts + 1 >= MAX_ATTEMPTS


def words_for(problem: Exception) -> str:
    """The message of a failure for a person."""
    if isinstance(problem, UnderstudyError):
        return preview(f"{problem.code}: {problem.detail}", REASON_CHARS)
    return f"the daemon failed unexpectedly ({type(problem).__name__}); its log says how"


def give_up(unit: "Unit", job: Job, why: str, *, now_ms: int) -> None:
    """Finish a job, and escalate its candidate to a person."""
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
        action=ReviewAction.MANUAL_REVIEW,
        reviewed_at_ms=now_ms,
        reason=f"it could not be reviewed: {why}",
        policy_revision=policy.revision,
    )
    unit.reviews.put(candidate.candidate_id, policy.digest, review)
    if mode is Mode.ENABLED:
        escalate(unit, candidate, review, now_ms=now_ms)
    else:
        note(unit, candidate, review)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDuty:
    """The worker duty that reviews queued candidates."""

    units: "Units"
    clock: Clock
    reviewer: Reviewer

    name: ClassVar[str] = "review"
    id_name: ClassVar[str] = "candidate_id"
    topic: ClassVar[str] = TOPIC
    waits_ms: ClassVar[Sequence[int]] = WAITS_MS

    def queue(self, unit: "Unit") -> "JobQueue":
        """The queue of candidates to review."""
        return unit.review_queue

    def is_on(self, _: "Unit") -> bool:
        """Always: in mode `manual_only`, jobs are finished without a review."""
        return True

    def startup(self) -> int:
        """Queue pending candidates without a review under the policy in force; answers how many."""
        with self.units.write() as unit:
            policy = in_force(unit)
            if policy.policy.mode is Mode.MANUAL_ONLY:
                return 0
            return unit.candidates.queue_pending(
                due_at_ms=self.clock.now_ms(), unreviewed_under=policy.digest
            )

    async def do(self, job: Job) -> None:
        """Review one candidate."""
        if job.attempts >= MAX_ATTEMPTS:
            # The worker died on every attempt before it could report an error.
            raise coded_error("review/review_never_ended", attempts=job.attempts)
        await self.reviewer.review(job)

    def is_hopeless(self, _: "Unit", job: Job, problem: Exception) -> bool:
        """Whether a person has to decide."""
        return is_hopeless(job, problem)

    def give_up(self, unit: "Unit", job: Job, problem: Exception) -> None:
        """Escalate the candidate to a person."""
        give_up(unit, job, words_for(problem), now_ms=self.clock.now_ms())
