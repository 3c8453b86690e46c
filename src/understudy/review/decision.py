"""Decisions about a candidate after policy, judge and verification, and their effects."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from understudy.core.principal import DAEMON
from understudy.learnings.already_decided import Declined
from understudy.learnings.decisions import by_policy, reject, save_candidate
from understudy.learnings.events import LearningEvent, Listeners, of_candidate, tell
from understudy.learnings.model import (
    CANDIDATE,
    AutomationReview,
    Candidate,
    CandidateState,
    JudgeVerdict,
    Learning,
    Mode,
    ReviewAction,
    Tier,
    Verification,
)
from understudy.learnings.proof import ClauseProof, ProofLevel
from understudy.learnings.publication import PublishChanges, publish
from understudy.review.evaluate import Evaluation
from understudy.review.judge import Judgement
from understudy.review.policy import PolicyInForce
from understudy.review.verify import Support

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

_TIERS: Final = {
    ReviewAction.PUBLISH_PROVISIONAL: Tier.PROVISIONAL,
    ReviewAction.PUBLISH_ACTIVE: Tier.ACTIVE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDecision:
    """The action for a candidate, and its reasons."""

    action: ReviewAction
    matched_rule_name: str | None
    reason: str
    expires_at_ms: int | None
    judge: JudgeVerdict | None = None
    verification: Verification = Verification.UNVERIFIED

    @property
    def publishes(self) -> bool:
        """Whether the action publishes."""
        return self.action in (ReviewAction.PUBLISH_PROVISIONAL, ReviewAction.PUBLISH_ACTIVE)

    def because(self, action: ReviewAction, why: str) -> "ReviewDecision":
        """The decision with another action and one more reason."""
        return replace(self, action=action, reason=f"{self.reason}; {why}")


def by_policy_alone(evaluation: Evaluation) -> ReviewDecision:
    """The decision of the policy, before judge and verification."""
    return ReviewDecision(
        action=evaluation.action,
        matched_rule_name=evaluation.matched_rule_name,
        reason=evaluation.reason,
        expires_at_ms=evaluation.expires_at_ms,
    )


def after_judge(decision: ReviewDecision, judgement: Judgement, mode: Mode) -> ReviewDecision:
    """The decision after the judge; a failed judge means manual review, except in shadow mode."""
    verdict = judgement.verdict
    judged = replace(decision, judge=verdict)
    if judgement.is_failed:
        if mode is not Mode.ENABLED:
            return replace(judged, reason=f"{decision.reason}; the judge failed")
        return judged.because(ReviewAction.MANUAL_REVIEW, "the judge failed")
    if judgement.is_clamped:
        return judged.because(verdict.action, "the judge asked for more than it may")
    if verdict.action is decision.action:
        return replace(judged, reason=f"{decision.reason}; the judge agrees")
    return judged.because(verdict.action, f"the judge says {verdict.action}")


def as_before(evaluation: Evaluation, stored: AutomationReview) -> ReviewDecision:
    """The stored decision under the same policy; the judge is not asked again."""
    return ReviewDecision(
        action=stored.action,
        matched_rule_name=stored.matched_rule_name,
        reason=stored.reason,
        expires_at_ms=evaluation.expires_at_ms,
        judge=stored.judge,
    )


def after_conflict(decision: ReviewDecision, other: Learning | None) -> ReviewDecision:
    """Manual review if a learning conflicts."""
    if other is None:
        return decision
    why = f"it conflicts with {other.learning_id}, which says otherwise"
    return decision.because(ReviewAction.MANUAL_REVIEW, why)


def after_declined(decision: ReviewDecision, before: Declined | None) -> ReviewDecision:
    """Manual review if a person declined the same statement meanwhile."""
    if before is None:
        return decision
    why = "a person said no to the same thing, so a person decides"
    return decision.because(ReviewAction.MANUAL_REVIEW, why)


def after_verification(
    decision: ReviewDecision, support: Support | None, *, may_trust_tools: bool = False
) -> ReviewDecision:
    """Provisional unless verification found the statement in its source run.

    A person decides where the words around its quote do not prove it. Verification failed where the
    request was read and does not say it, and is pending where the run goes on; a statement that only a tool made, or that has no text to look in, is unverified.
    """
    if decision.action is not ReviewAction.PUBLISH_ACTIVE:
        return decision
    if support is not None and support.is_by_tool and not may_trust_tools:
        why = f"only the {support.where} says this, which is what a tool answered"
        return decision.because(ReviewAction.PUBLISH_PROVISIONAL, why)
    if support is None:
        why = "evidence is missing: there is no text of a source run to look in"
        return decision.because(ReviewAction.PUBLISH_PROVISIONAL, why)
    if support.is_awaited:
        why = f"verification is pending: {support.run_id} has not ended"
        pending = decision.because(ReviewAction.PUBLISH_PROVISIONAL, why)
        return replace(pending, verification=Verification.PENDING)
    proof = support.proof
    if not support.is_found and proof is not None and proof.level is ProofLevel.WEAK:
        return _after_weak_proof(decision, support, proof)
    if not support.is_found and proof is not None and proof.clause is not None:
        why = f"the user's words around its quote do not prove this ({proof.reason}), so a person decides"
        return decision.because(ReviewAction.MANUAL_REVIEW, why)
    if not support.is_found:
        code = "" if proof is None or proof.reason is None else f" ({proof.reason})"
        why = f"verification failed: the {support.where} of {support.run_id} does not plainly say this{code}"
        failed = decision.because(ReviewAction.PUBLISH_PROVISIONAL, why)
        return replace(failed, verification=Verification.FAILED)
    return _verified(decision, f"verified by the {support.where} of {support.run_id}")


def _after_weak_proof(
    decision: ReviewDecision, support: Support, proof: ClauseProof
) -> ReviewDecision:
    """Verified where the judge says that the clause means the statement; else a person decides."""
    if decision.judge is not None and decision.judge.supported:
        return _verified(decision, f"the judge says that the clause of {support.run_id} means this")
    why = (
        f"verification failed: the clause of {support.run_id} says more than this ({proof.reason})"
    )
    failed = decision.because(ReviewAction.PUBLISH_PROVISIONAL, why)
    return replace(failed, verification=Verification.FAILED)


def _verified(decision: ReviewDecision, why: str) -> ReviewDecision:
    return replace(decision, verification=Verification.VERIFIED, reason=f"{decision.reason}; {why}")


def review_of(decision: ReviewDecision, policy: PolicyInForce, *, at_ms: int) -> AutomationReview:
    """The stored review of a decision."""
    return AutomationReview(
        mode=policy.policy.mode,
        action=decision.action,
        reviewed_at_ms=at_ms,
        reason=decision.reason,
        policy_revision=policy.revision,
        matched_rule_name=decision.matched_rule_name,
        judge=decision.judge,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """A decision with what its effects need; applied last in a unit."""

    unit: "Unit"
    candidate: Candidate
    decision: ReviewDecision
    review: AutomationReview
    now_ms: int
    listeners: Listeners


def apply(act: Application) -> None:
    """Publish, reject or escalate a candidate, and store the review with it."""
    _ACTS[act.decision.action](act)


def note(unit: "Unit", candidate: Candidate, review: AutomationReview) -> None:
    """Store the review with a candidate, and leave its state."""
    noted = replace(candidate, automation_review=review, version=candidate.version + 1)
    unit.candidates.update(noted, expected_version=candidate.version)


def escalate(unit: "Unit", candidate: Candidate, review: AutomationReview, *, now_ms: int) -> None:
    """Escalate the candidate to a person."""
    CANDIDATE.check(candidate.state, CandidateState.ESCALATED)
    escalated = replace(candidate, state=CandidateState.ESCALATED, automation_review=review)
    escalated = save_candidate(
        unit, candidate, escalated, "learning_candidates.escalate", by=DAEMON, now_ms=now_ms
    )
    tell(unit, (of_candidate(LearningEvent.CANDIDATE_ESCALATED, escalated),), at_ms=now_ms)


def _escalate(act: Application) -> None:
    escalate(act.unit, act.candidate, act.review, now_ms=act.now_ms)


def _reject(act: Application) -> None:
    reject(
        act.unit,
        act.candidate.candidate_id,
        by=by_policy(act.review),
        now_ms=act.now_ms,
        reason=act.review.reason,
    )


def _publish(act: Application) -> None:
    publish(
        act.unit,
        act.candidate.candidate_id,
        PublishChanges(
            publish_tier=_TIERS[act.decision.action], expires_at_ms=act.decision.expires_at_ms
        ),
        by=by_policy(act.review, verification=act.decision.verification),
        now_ms=act.now_ms,
        listeners=act.listeners,
    )


_ACTS: Final[Mapping[ReviewAction, Callable[[Application], None]]] = {
    ReviewAction.MANUAL_REVIEW: _escalate,
    ReviewAction.REJECT: _reject,
    ReviewAction.PUBLISH_PROVISIONAL: _publish,
    ReviewAction.PUBLISH_ACTIVE: _publish,
}
