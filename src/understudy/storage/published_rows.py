"""Learnings as rows, and back."""

from typing import Any, Final

from understudy.core.principal import DAEMON
from understudy.learnings.lifecycle import LIVE
from understudy.learnings.model import (
    Learning,
    LearningStatus,
    PolicyDecision,
    Tier,
    Verification,
)
from understudy.storage.columns import read_record
from understudy.storage.learning_rows import digest_of, read_shared, shared_body, shared_columns
from understudy.storage.search_text import folded
from understudy.storage.typed_json import fields_of

# What a body keeps beside what candidates say as well.
ENDED: Final = {
    "policy_actor": str,
    "superseded_by": str,
    "revoked_at_ms": int,
    "revoked_reason": str,
    "revoked_by": str,
}


def learning_row(learning: Learning) -> dict[str, Any]:
    """All columns of a learning."""
    decision, actor, subject = (
        learning.policy_decision,
        learning.policy_actor,
        learning.subject_key,
    )
    return {
        "learning_id": learning.learning_id,
        "status": str(learning.status),
        "is_live": learning.status in LIVE,
        "is_active": learning.status is LearningStatus.ACTIVE,
        "is_taken_back": _is_taken_back(learning),
        "publish_tier": str(learning.publish_tier),
        "verification_status": str(learning.verification_status),
        "policy_decision": None if decision is None else str(decision),
        "actor_folded": None if actor is None else folded(actor),
        "subject_digest": None if subject is None else digest_of(subject),
        "source_candidate_id": learning.source_candidate_id,
        "supersedes": learning.supersedes,
        "published_at_ms": learning.published_at_ms,
        **shared_columns(learning.learning_id, learning),
        "body": {
            **shared_body(learning),
            **{name: getattr(learning, name) for name in ENDED},
        },
    }


def _is_taken_back(learning: Learning) -> bool:
    by_daemon = learning.revoked_by == DAEMON.user_id
    return learning.status is LearningStatus.REVOKED and not by_daemon


def read_learning(row: Any) -> Learning:
    """The learning in a row, or `DamagedRecord`."""
    return read_record(row, _learning, what=f"learning {row.learning_id}")


def _learning(row: Any) -> Learning:
    decision = row.policy_decision
    return Learning(
        **read_shared(row),
        **fields_of(row.body, ENDED, optional=True),
        learning_id=row.learning_id,
        status=LearningStatus(row.status),
        publish_tier=Tier(row.publish_tier),
        verification_status=Verification(row.verification_status),
        policy_decision=None if decision is None else PolicyDecision(decision),
        source_candidate_id=row.source_candidate_id,
        supersedes=row.supersedes,
        published_at_ms=row.published_at_ms,
    )
