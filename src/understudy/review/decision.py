"""What becomes of a candidate, as it takes shape: policy, judge, evidence, what is known already."""

from dataclasses import dataclass, replace

from understudy.learnings.already_decided import Declined
from understudy.learnings.model import (
    AutomationReview,
    JudgeVerdict,
    Learning,
    Mode,
    ReviewAction,
    Verification,
)
from understudy.review.evaluate import Evaluation
from understudy.review.judge import Judgement
from understudy.review.policy import PolicyInForce
from understudy.review.verify import Support


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDecision:
    """What is to be done with a candidate, and why."""

    action: ReviewAction
    matched_rule_name: str | None
    reason: str
    expires_at_ms: int | None
    judge: JudgeVerdict | None = None
    verification: Verification = Verification.UNVERIFIED

    @property
    def publishes(self) -> bool:
        """Whether it makes a learning."""
        return self.action in (ReviewAction.PUBLISH_PROVISIONAL, ReviewAction.PUBLISH_ACTIVE)

    def because(self, action: ReviewAction, why: str) -> "ReviewDecision":
        """Another action, with one more reason."""
        return replace(self, action=action, reason=f"{self.reason}; {why}")


def by_policy_alone(evaluation: Evaluation) -> ReviewDecision:
    """What the policy says, with nobody else asked."""
    return ReviewDecision(
        action=evaluation.action,
        matched_rule_name=evaluation.matched_rule_name,
        reason=evaluation.reason,
        expires_at_ms=evaluation.expires_at_ms,
    )


def after_judge(decision: ReviewDecision, judgement: Judgement, mode: Mode) -> ReviewDecision:
    """What the judge makes of it; a judge that fails stops automation, and changes no shadow."""
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
    """What was decided earlier under the same policy; nobody is asked again."""
    return ReviewDecision(
        action=stored.action,
        matched_rule_name=stored.matched_rule_name,
        reason=stored.reason,
        expires_at_ms=evaluation.expires_at_ms,
        judge=stored.judge,
    )


def after_conflict(decision: ReviewDecision, other: Learning | None) -> ReviewDecision:
    """A person decides between two that say different things."""
    if other is None:
        return decision
    why = f"it conflicts with {other.learning_id}, which says something else of the same subject"
    return decision.because(ReviewAction.MANUAL_REVIEW, why)


def after_declined(decision: ReviewDecision, before: Declined | None) -> ReviewDecision:
    """What a person said no to since it was proposed, a person decides."""
    if before is None:
        return decision
    why = "a person said no to the same thing, so a person decides"
    return decision.because(ReviewAction.MANUAL_REVIEW, why)


def after_verification(
    decision: ReviewDecision, support: Support | None, *, may_trust_tools: bool = False
) -> ReviewDecision:
    """Only what the daemon itself can confirm becomes active by itself."""
    if decision.action is not ReviewAction.PUBLISH_ACTIVE:
        return decision
    if support is not None and support.is_by_tool and not may_trust_tools:
        why = f"only the {support.where} says this, which is what a tool answered"
        return decision.because(ReviewAction.PUBLISH_PROVISIONAL, why)
    if support is None:
        why = "evidence is missing: nothing that the daemon kept of its run says this"
        return decision.because(ReviewAction.PUBLISH_PROVISIONAL, why)
    return replace(
        decision,
        verification=Verification.VERIFIED,
        reason=f"{decision.reason}; verified by the {support.where} of {support.run_id}",
    )


def review_of(decision: ReviewDecision, policy: PolicyInForce, *, at_ms: int) -> AutomationReview:
    """The decision as it is kept."""
    return AutomationReview(
        mode=policy.policy.mode,
        action=decision.action,
        reviewed_at_ms=at_ms,
        reason=decision.reason,
        policy_revision=policy.revision,
        matched_rule_name=decision.matched_rule_name,
        judge=decision.judge,
    )
