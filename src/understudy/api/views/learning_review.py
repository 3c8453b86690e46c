"""What whoever decides about candidates is shown."""

from understudy.api.views.learnings import candidate_fields, related_view
from understudy.api.views.memory import scope_view
from understudy.learnings.bulk import BulkAction, BulkResult
from understudy.learnings.candidates import Item
from understudy.learnings.model import Candidate, Learning
from understudy.wire.learnings import (
    BulkDecisionView,
    BulkOutcomeView,
    NextItemView,
    RejectedBeforeView,
    ReviewItemView,
    RevokedBeforeView,
)


def item_view(item: Item) -> ReviewItemView:
    """A candidate with what speaks against it."""
    conflict, duplicate = item.conflict, item.duplicate_of
    return ReviewItemView(
        **candidate_fields(item.candidate),
        expired=item.is_expired,
        conflicts_with=None if conflict is None else related_view(conflict),
        contradicts=[related_view(other) for other in item.contradicts],
        duplicate_of=None if duplicate is None else related_view(duplicate),
        rejected_before=[_rejected(it) for it in item.rejected_before],
        revoked_before=[_revoked(it) for it in item.revoked_before],
    )


def next_view(item: Item | None) -> NextItemView:
    """The next one to decide."""
    return NextItemView(item=None if item is None else item_view(item))


def bulk_view(action: BulkAction, result: BulkResult) -> BulkDecisionView:
    """What became of many candidates, or would."""
    items = [
        BulkOutcomeView(
            candidate_id=it.candidate_id,
            done=it.is_done,
            learning_id=it.learning_id,
            code=it.code,
            detail=it.detail,
        )
        for it in result.outcomes
    ]
    done = sum(it.done for it in items)
    return BulkDecisionView(
        action=action.value,
        dry_run=result.is_dry_run,
        done_count=done,
        refused_count=len(items) - done,
        items=items,
        has_more=result.has_more,
    )


def _rejected(candidate: Candidate) -> RejectedBeforeView:
    return RejectedBeforeView(
        candidate_id=candidate.candidate_id,
        decided_at_ms=candidate.decided_at_ms,
        decided_by=candidate.decided_by,
        reason=candidate.decision_reason,
    )


def _revoked(learning: Learning) -> RevokedBeforeView:
    return RevokedBeforeView(
        learning_id=learning.learning_id,
        scope=scope_view(learning.scope),
        revoked_at_ms=learning.revoked_at_ms,
        revoked_by=learning.revoked_by,
        reason=learning.revoked_reason,
    )
