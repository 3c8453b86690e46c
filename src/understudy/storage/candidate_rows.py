"""Candidates as rows, and back."""

from typing import Any, Final

from understudy.core.principal import DAEMON
from understudy.learnings.lifecycle import OPEN
from understudy.learnings.model import EXPIRED, Candidate, CandidateState, CapturePath, Origin
from understudy.storage.columns import read_record
from understudy.storage.learning_json import read_review, review_json
from understudy.storage.learning_rows import read_shared, shared_body, shared_columns
from understudy.storage.search_text import folded
from understudy.storage.typed_json import fields_of

# Enough of the name of a rule to tell it from others, and short enough for an index.
MAX_RULE_CHARS: Final = 200
# What a body keeps beside what learnings say as well.
DECIDED_BY: Final = {
    "reproposal_of": str,
    "evidence_digest": str,
    "published_learning_id": str,
    "decided_by": str,
    "decision_reason": str,
}
DECLINED: Final = {"declined_before": bool}


def candidate_row(candidate: Candidate) -> dict[str, Any]:
    """All columns of a candidate."""
    review = candidate.automation_review
    rule = None if review is None else review.matched_rule_name
    is_automatic = candidate.decided_by == DAEMON.user_id
    return {
        "candidate_id": candidate.candidate_id,
        "origin": str(candidate.origin),
        "state": str(candidate.state),
        "is_open": candidate.state in OPEN,
        "capture_path": str(candidate.capture_path),
        "source_run_id": candidate.source.run_id,
        "rule_name": None if rule is None else rule[:MAX_RULE_CHARS],
        "rule_folded": None if rule is None else folded(rule),
        "is_automatic": is_automatic,
        "is_expired": is_automatic and candidate.decision_reason == EXPIRED,
        "decided_at_ms": candidate.decided_at_ms,
        **shared_columns(candidate.candidate_id, candidate),
        "body": {
            **shared_body(candidate),
            **{name: getattr(candidate, name) for name in DECIDED_BY},
            "declined_before": candidate.declined_before,
            "automation_review": None if review is None else review_json(review),
        },
    }


def read_candidate(row: Any) -> Candidate:
    """The candidate in a row, or `DamagedRecord`."""
    return read_record(row, _candidate, what=f"candidate {row.candidate_id}")


def _candidate(row: Any) -> Candidate:
    fields = read_shared(row)
    review = row.body["automation_review"]
    return Candidate(
        **fields,
        **fields_of(row.body, DECIDED_BY, optional=True),
        **fields_of(row.body, DECLINED, optional=False),
        candidate_id=row.candidate_id,
        origin=Origin(row.origin),
        state=CandidateState(row.state),
        capture_path=CapturePath(row.capture_path),
        decided_at_ms=row.decided_at_ms,
        automation_review=None if review is None else read_review(review),
    )
