"""Decisions about a candidate after policy, judge and verification, and their effects."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from understudy.core import audit
from understudy.core.principal import DAEMON
from understudy.learnings.already_decided import Declined
from understudy.learnings.decisions import by_policy, reject
from understudy.learnings.events import Listeners, What, of_candidate, tell
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
from understudy.learnings.publication import Wanted, publish
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """One decision, and whatever it takes to carry it out; the last thing a unit does."""

    unit: "Unit"
    candidate: Candidate
    decision: ReviewDecision
    review: AutomationReview
    now_ms: int
    listeners: Listeners


def apply(act: Application) -> None:
    """Publish, reject or escalate, and keep the review with the candidate."""
    _ACTS[act.decision.action](act)


def note(unit: "Unit", candidate: Candidate, review: AutomationReview) -> None:
    """Keep the review with a candidate that stays as it is."""
    noted = replace(candidate, automation_review=review, version=candidate.version + 1)
    unit.candidates.update(noted, expected_version=candidate.version)


def escalate(unit: "Unit", candidate: Candidate, review: AutomationReview, *, now_ms: int) -> None:
    """Leave the decision to a person."""
    CANDIDATE.check(candidate.state, CandidateState.ESCALATED)
    escalated = replace(
        candidate,
        state=CandidateState.ESCALATED,
        automation_review=review,
        version=candidate.version + 1,
    )
    unit.candidates.update(escalated, expected_version=candidate.version)
    entry = audit.done(
        DAEMON,
        "learning_candidates.escalate",
        candidate.candidate_id,
        at_ms=now_ms,
        version=escalated.version,
    )
    unit.audit.add(entry)
    tell(unit, (of_candidate(What.CANDIDATE_ESCALATED, escalated),), at_ms=now_ms)


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
        Wanted(publish_tier=_TIERS[act.decision.action], expires_at_ms=act.decision.expires_at_ms),
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
