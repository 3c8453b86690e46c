"""Candidates and learnings as the wire shows them."""

from dataclasses import asdict
from typing import Any, Final

from understudy.api.views.memory import scope_view
from understudy.learnings.lifecycle import CANDIDATE, LEARNING
from understudy.learnings.model import (
    AutomationReview,
    Candidate,
    CandidateState,
    Learning,
    LearningStatus,
)
from understudy.learnings.publication import Published
from understudy.learnings.supersession import SupersedingLearning
from understudy.wire.learnings import (
    AutomationReviewView,
    CandidateView,
    EvidenceRefView,
    JudgeVerdictView,
    LearningView,
    PublishedView,
    RelatedLearningView,
    SourceView,
)

# What a caller does to bring a record into a state.
VERBS: Final = {
    CandidateState.PUBLISHED: "publish",
    CandidateState.REJECTED: "reject",
    LearningStatus.SUPERSEDED: "supersede",
    LearningStatus.REVOKED: "revoke",
}


def candidate_view(candidate: Candidate) -> CandidateView:
    """A candidate as it stands."""
    return CandidateView(**candidate_fields(candidate))


def candidate_fields(candidate: Candidate) -> dict[str, Any]:
    """The same, for a view that shows more."""
    review = candidate.automation_review
    return {
        **_common(candidate),
        "candidate_id": candidate.candidate_id,
        "origin": candidate.origin.value,
        "state": candidate.state.value,
        "automation_review": None if review is None else review_view(review),
        "published_learning_id": candidate.published_learning_id,
        "capture_path": candidate.capture_path.value,
        "reproposal_of": candidate.reproposal_of,
        "declined_before": candidate.declined_before,
        "decided_at_ms": candidate.decided_at_ms,
        "decided_by": candidate.decided_by,
        "decision_reason": candidate.decision_reason,
        "actions": [VERBS[it] for it in CANDIDATE.allowed(candidate.state) if it in VERBS],
    }


def review_view(review: AutomationReview) -> AutomationReviewView:
    """What automation made of a candidate."""
    judge = review.judge
    return AutomationReviewView(
        mode=review.mode.value,
        action=review.action.value,
        reviewed_at_ms=review.reviewed_at_ms,
        policy_revision=review.policy_revision,
        matched_rule_name=review.matched_rule_name,
        judge=None
        if judge is None
        else JudgeVerdictView(
            action=judge.action.value, judged_at_ms=judge.judged_at_ms, reason=judge.reason
        ),
        reason=review.reason,
    )


def learning_view(learning: Learning) -> LearningView:
    """A learning as it stands."""
    return LearningView(**learning_fields(learning))


def learning_fields(learning: Learning) -> dict[str, Any]:
    """The same, for a view that shows more."""
    decision = learning.policy_decision
    return {
        **_common(learning),
        "learning_id": learning.learning_id,
        "source_candidate_id": learning.source_candidate_id,
        "published_at_ms": learning.published_at_ms,
        "status": learning.status.value,
        "publish_tier": learning.publish_tier.value,
        "policy_decision": None if decision is None else decision.value,
        "policy_actor": learning.policy_actor,
        "verification_status": learning.verification_status.value,
        "supersedes": learning.supersedes,
        "superseded_by": learning.superseded_by,
        "revoked_at_ms": learning.revoked_at_ms,
        "revoked_reason": learning.revoked_reason,
        "revoked_by": learning.revoked_by,
        "actions": [VERBS[status] for status in LEARNING.allowed(learning.status)],
    }


def published_view(published: Published | SupersedingLearning) -> PublishedView:
    """A learning as publishing left it, with what says otherwise."""
    return PublishedView(
        **learning_fields(published.learning),
        contradicts=[related_view(other) for other in published.contradicts],
    )


def related_view(learning: Learning) -> RelatedLearningView:
    """A learning that has to do with another, in short."""
    return RelatedLearningView(
        learning_id=learning.learning_id,
        scope=scope_view(learning.scope),
        status=learning.status.value,
        content=learning.content,
    )


def _common(record: Candidate | Learning) -> dict[str, Any]:
    """What both have."""
    return {
        "scope": scope_view(record.scope),
        "kind": record.kind.value,
        "sensitivity": record.sensitivity.value,
        "content": record.content,
        "confidence": record.confidence,
        "source": SourceView(**asdict(record.source)),
        "evidence_refs": [EvidenceRefView(**asdict(ref)) for ref in record.evidence_refs],
        "created_at_ms": record.created_at_ms,
        "expires_at_ms": record.expires_at_ms,
        "semantic_key": record.semantic_key,
        "subject_key": record.subject_key,
        "derived_from_untrusted": record.derived_from_untrusted,
        "version": record.version,
    }
