"""What a worker does with candidates that wait: it has them reviewed.

A crash leaves the claim to run out, and the candidate is reviewed again; what a judge said of it
was kept before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from understudy.core.clock import Clock
from understudy.core.errors import Unavailable
from understudy.learnings.model import Job, Mode
from understudy.review.giving_up import MAX_ATTEMPTS, WAITS_MS, give_up, is_hopeless, words_for
from understudy.review.policy import in_force
from understudy.review.reviewing import Reviewer

if TYPE_CHECKING:
    from understudy.storage.job_queue import JobQueue
    from understudy.storage.unit import Unit, Units

TOPIC: Final = "reviews"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDuty:
    """Reviews the candidates of all sessions."""

    units: "Units"
    clock: Clock
    reviewer: Reviewer

    name: ClassVar[str] = "review"
    id_name: ClassVar[str] = "candidate_id"
    topic: ClassVar[str] = TOPIC
    waits_ms: ClassVar[Sequence[int]] = WAITS_MS

    def queue(self, unit: "Unit") -> "JobQueue":
        """The candidates that wait."""
        return unit.review_queue

    def is_on(self, _: "Unit") -> bool:
        """Always: where people decide, what is queued is taken off without a review."""
        return True

    def startup(self) -> int:
        """Queue what waits and was not reviewed under the policy in force; tells how many."""
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
            # Whoever tried never got to say what went wrong.
            raise Unavailable(
                "review_never_ended",
                domain="review",
                detail=f"tried {job.attempts} times to no end",
            )
        await self.reviewer.review(job)

    def is_hopeless(self, _: "Unit", job: Job, problem: Exception) -> bool:
        """Whether a person has to decide."""
        return is_hopeless(job, problem)

    def give_up(self, unit: "Unit", job: Job, problem: Exception) -> None:
        """Leave the candidate to a person."""
        give_up(unit, job, words_for(problem), now_ms=self.clock.now_ms())
