"""The learning policy as the wire shows it, and what it makes of candidates."""

from dataclasses import asdict

from understudy.api.views.memory import scope_view
from understudy.review.dry_run import Change, DryRun, Outlook
from understudy.review.evaluate import Evaluation
from understudy.review.policy_json import policy_json
from understudy.review.service import PolicyAt
from understudy.review.trace import Adjustment, RuleTrace
from understudy.wire.learning_policy import (
    AdjustmentView,
    CandidateExplainView,
    LearningPolicyDryRunView,
    LearningPolicyFields,
    LearningPolicyRevisionView,
    LearningPolicyView,
    MismatchView,
    OutlookView,
    PolicyEffectView,
    RuleTraceView,
)


def policy_view(found: PolicyAt) -> LearningPolicyView:
    """The policy in force."""
    policy, revision = found
    return LearningPolicyView(
        policy=LearningPolicyFields.model_validate(policy_json(policy)),
        revision=revision.revision,
        updated_at_ms=revision.updated_at_ms,
    )


def policy_revision_view(found: PolicyAt) -> LearningPolicyRevisionView:
    """The policy as it stood after one change."""
    revision = found[1]
    return LearningPolicyRevisionView(
        **dict(policy_view(found)),
        actor=revision.actor,
        setting=revision.setting,
        rollback_of_revision=revision.rollback_of_revision,
    )


def explain_view(
    candidate_id: str, evaluation: Evaluation, in_force: PolicyAt
) -> CandidateExplainView:
    """What the policy in force makes of a candidate."""
    policy, revision = in_force
    trace = evaluation.trace
    return CandidateExplainView(
        candidate_id=candidate_id,
        policy_revision=revision.revision,
        mode=policy.mode.value,
        action=evaluation.action.value,
        matched_rule_name=evaluation.matched_rule_name,
        reason=evaluation.reason,
        expires_at_ms=evaluation.expires_at_ms,
        refused=trace.refused,
        rules=[_rule(it) for it in trace.rules],
        adjustments=[_adjustment(it) for it in trace.adjustments],
    )


def dry_run_view(found: DryRun) -> LearningPolicyDryRunView:
    """What another policy would do otherwise."""
    return LearningPolicyDryRunView.model_validate(
        {
            "days": found.days,
            "pending_count": found.pending_count,
            "decided_count": found.decided_count,
            "truncated": found.truncated,
            "before": found.before,
            "after": found.after,
            "changes": [_effect(change) for change in found.changes],
        }
    )


def _effect(change: Change) -> PolicyEffectView:
    return PolicyEffectView(
        candidate_id=change.candidate_id,
        kind=change.kind.value,
        scope=scope_view(change.scope),
        state=change.state.value,
        before=_outlook(change.before),
        after=_outlook(change.after),
    )


def _outlook(outlook: Outlook) -> OutlookView:
    return OutlookView(
        action=outlook.action.value,
        takes_effect=outlook.takes_effect,
        reason=outlook.reason,
        matched_rule_name=outlook.matched_rule_name,
        expires_at_ms=outlook.expires_at_ms,
    )


def _rule(trace: RuleTrace) -> RuleTraceView:
    return RuleTraceView(
        index=trace.index,
        name=trace.name,
        action=trace.action.value,
        matched=trace.matched,
        quarantined=trace.quarantined,
        decided=trace.decided,
        mismatches=[MismatchView(**asdict(it)) for it in trace.mismatches],
    )


def _adjustment(it: Adjustment) -> AdjustmentView:
    return AdjustmentView(
        code=it.code, before=it.before.value, after=it.after.value, reason=it.reason
    )
