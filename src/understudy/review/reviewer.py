"""The reviewer: policy, judge and verification of one claimed candidate."""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeGuard

from understudy.core.clock import Clock
from understudy.learnings.already_decided import declined
from understudy.learnings.conflicts import against_automation, duplicate_of, stated_in_the_way
from understudy.learnings.events import NO_LISTENERS, Listeners
from understudy.learnings.guard import NO_LITERALS, SecretGuard
from understudy.learnings.model import (
    AutomationReview,
    Candidate,
    CandidateState,
    Learning,
    Mode,
    Origin,
    Relation,
    ReviewAction,
)
from understudy.learnings.neighbours import Neighbourhood
from understudy.review.decision import (
    Application,
    ReviewDecision,
    after_conflict,
    after_declined,
    after_judge,
    after_verification,
    apply,
    as_before,
    by_policy_alone,
    note,
    review_of,
)
from understudy.review.evaluate import evaluate
from understudy.review.judge import Judge, may_be_shown
from understudy.review.late_evidence import settle_late
from understudy.review.policy import PolicyInForce, in_force
from understudy.review.verify import Support, support_for
from understudy.work.db_retry import retry_while_db_down
from understudy.work.queue_worker import LEASE_MS, Job, NeedsModel, while_held

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewCase:
    """A candidate under review, and the policy in force."""

    candidate: Candidate
    policy: PolicyInForce
    # The stored review under the same policy.
    stored: AutomationReview | None

    @property
    def is_applied(self) -> bool:
        """Whether decisions take effect (mode `enabled`)."""
        return self.policy.policy.mode is Mode.ENABLED

    @property
    def may_trust_tools(self) -> bool:
        """Whether statements of tools may be published as active."""
        return self.policy.policy.publication.allow_untrusted_active_publication


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewer:
    """Reviews claimed candidates; a lost lease means no decision."""

    units: "Units"
    clock: Clock
    judge: Judge
    listeners: Listeners = NO_LISTENERS
    guard: SecretGuard = NO_LITERALS
    neighbourhood: Neighbourhood | None = None

    async def review(self, job: Job) -> None:
        """Review the candidate of a job, apply the decision, and finish the job."""
        case = await retry_while_db_down(self.open, job)
        if case is None:
            await retry_while_db_down(self.close, job)
        elif case.stored is not None and not case.is_applied:
            await retry_while_db_down(self._repeat, job, case, case.stored)
        else:
            decision = await self._decide(job, case)
            if decision.publishes and self.neighbourhood is not None:
                looking = self.neighbourhood.refresh(job.job_id, may_ask=job.may_ask)
                await while_held(looking, partial(self._extend, job))
            support = None
            if decision.action is ReviewAction.PUBLISH_ACTIVE:
                support = await retry_while_db_down(self._support, case.candidate)
            await retry_while_db_down(self._settle, job, case, decision, support)

    def open(self, job: Job) -> ReviewCase | None:
        """The case of a job; None if there is nothing to review."""
        with self.units.read() as unit:
            policy = in_force(unit)
            candidate = unit.candidates.get(job.job_id)
            if policy.policy.mode is Mode.MANUAL_ONLY or not self._is_waiting(candidate):
                return None
            stored = unit.reviews.get(job.job_id, policy.digest)
        return ReviewCase(candidate=candidate, policy=policy, stored=stored)

    def close(self, job: Job) -> None:
        """Finish a job without a review; a learning that waited for its evidence is settled."""
        now = self.clock.now_ms()
        with self.units.write() as unit:
            candidate = unit.candidates.get(job.job_id, lock=True)
            if candidate is not None and unit.review_queue.holds(job):
                settle_late(unit, candidate, now_ms=now, listeners=self.listeners)
            unit.review_queue.done(job)

    async def _decide(self, job: Job, case: ReviewCase) -> ReviewDecision:
        policy = case.policy.policy
        evaluation = evaluate(case.candidate, policy, now_ms=self.clock.now_ms())
        decision = by_policy_alone(evaluation)
        if self.guard.knows(case.candidate.content):
            return decision.because(
                ReviewAction.REJECT, "it holds a secret that the operator named"
            )
        if case.stored is not None:
            return as_before(evaluation, case.stored)
        if not policy.judge.enabled or evaluation.action is ReviewAction.MANUAL_REVIEW:
            return decision
        if not may_be_shown(case.candidate):
            return _without_judge(decision)
        if not job.may_ask:
            raise NeedsModel
        support = await retry_while_db_down(self._support, case.candidate)
        asking = self.judge.judge(case.candidate, evaluation, policy, support=support)
        # The verdict is stored even if the lease is lost meanwhile.
        judgement = await while_held(asking, partial(self._extend, job), to_the_end=True)
        if judgement.is_failed:
            self.listeners.observer.count("judge_failures_total")
        decision = after_judge(decision, judgement, policy.mode)
        await retry_while_db_down(self._remember, case, decision)
        return decision

    def _extend(self, job: Job) -> bool:
        with self.units.write() as unit:
            return unit.review_queue.extend(job, until_ms=self.clock.now_ms() + LEASE_MS)

    def _remember(self, case: ReviewCase, decision: ReviewDecision) -> None:
        """Store the verdict of the judge before anything can fail, so that it is not asked again.

        The verdict is about this candidate under this policy, so it stays valid after a lost lease;
        a review that was stored meanwhile is kept.
        """
        if not case.is_applied:
            return
        candidate_id, digest = case.candidate.candidate_id, case.policy.digest
        review = review_of(decision, case.policy, at_ms=self.clock.now_ms())
        with self.units.write() as unit:
            if unit.reviews.get(candidate_id, digest) is None:
                unit.reviews.put(candidate_id, digest, review)

    def _support(self, candidate: Candidate) -> Support | None:
        with self.units.read() as unit:
            return support_for(unit, candidate, now_ms=self.clock.now_ms())

    def _repeat(self, job: Job, case: ReviewCase, review: AutomationReview) -> None:
        """In shadow mode, note the stored review again instead of making another."""
        with self.units.write() as unit:
            candidate = self._held(unit, job, case)
            if candidate is not None:
                unit.review_queue.done(job)
                if candidate.automation_review != review:
                    note(unit, candidate, review)

    def _settle(
        self, job: Job, case: ReviewCase, decision: ReviewDecision, support: Support | None
    ) -> None:
        now = self.clock.now_ms()
        with self.units.write() as unit:
            candidate = self._held(unit, job, case)
            if candidate is None:
                return
            if decision.publishes:
                decision = _checked_against_known(unit, case, candidate, decision, now_ms=now)
                decision = after_verification(
                    decision, support, may_trust_tools=case.may_trust_tools
                )
                # The lifetime of a rule counts from now, after the judge.
                said = evaluate(candidate, case.policy.policy, now_ms=now)
                decision = replace(decision, expires_at_ms=said.expires_at_ms)
            review = review_of(decision, case.policy, at_ms=now)
            unit.reviews.put(candidate.candidate_id, case.policy.digest, review)
            unit.review_queue.done(job)
            unit.after_commit(
                partial(self.listeners.observer.count, "reviews_total", decision.action)
            )
            if not case.is_applied:
                note(unit, candidate, review)
                return
            act = Application(
                unit=unit,
                candidate=candidate,
                decision=decision,
                review=review,
                now_ms=now,
                listeners=self.listeners,
            )
            apply(act)

    def _held(self, unit: "Unit", job: Job, case: ReviewCase) -> Candidate | None:
        """The locked candidate, if the lease is held and the policy is the same."""
        if not unit.review_queue.holds(job):
            return None
        candidate = unit.candidates.get(job.job_id, lock=True)
        if not self._is_waiting(candidate):
            unit.review_queue.done(job)
            return None
        if in_force(unit).digest != case.policy.digest:
            # A job that is put again while it is leased stays queued after it is done.
            unit.review_queue.put([job.job_id], due_at_ms=self.clock.now_ms())
            unit.review_queue.done(job)
            unit.after_commit(self.listeners.review)
            return None
        return candidate

    def _is_waiting(self, candidate: Candidate | None) -> TypeGuard[Candidate]:
        return (
            candidate is not None
            and candidate.state is CandidateState.PENDING
            and not candidate.is_expired(self.clock.now_ms())
        )


def _checked_against_known(
    unit: "Unit", case: ReviewCase, candidate: Candidate, decision: ReviewDecision, *, now_ms: int
) -> ReviewDecision:
    """The decision after conflicts and earlier refusals, as they are now."""
    other = _conflict(unit, candidate, is_applied=case.is_applied, now_ms=now_ms)
    decision = after_conflict(decision, other)
    if candidate.origin is Origin.API:
        return decision
    before = declined(unit, candidate.scope, candidate.kind, candidate.content)
    return after_declined(decision, before)


def _without_judge(decision: ReviewDecision) -> ReviewDecision:
    """Manual review instead of publishing, where the judge may not see the candidate."""
    action = ReviewAction.MANUAL_REVIEW if decision.publishes else decision.action
    return decision.because(action, "it is sensitive, so no judge is shown it")


def _conflict(
    unit: "Unit", candidate: Candidate, *, is_applied: bool, now_ms: int
) -> Learning | None:
    """The learning that conflicts with a candidate now."""
    if is_applied:
        unit.learnings.hold(candidate.scope)
    # A duplicate of a learning cannot conflict with another.
    if duplicate_of(unit, candidate, now_ms=now_ms) is not None:
        return None
    obvious = against_automation(unit, candidate, now_ms=now_ms)
    stated = stated_in_the_way(unit, candidate, Relation.CONTRADICTS, now_ms=now_ms)
    return obvious or stated
