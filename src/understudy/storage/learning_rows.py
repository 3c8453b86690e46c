"""Candidates, learnings and their filters as rows, and back."""

from collections.abc import Iterator
from dataclasses import asdict
from hashlib import sha256
from typing import Any, Final

import sqlalchemy as sa

from understudy.core.principal import DAEMON
from understudy.learnings.filters import CandidateFilter, LearningFilter
from understudy.learnings.lifecycle import LIVE, OPEN
from understudy.learnings.model import (
    EXPIRED,
    AutomationReview,
    Candidate,
    CandidateState,
    CapturePath,
    EvidenceRef,
    JudgeVerdict,
    Kind,
    Learning,
    LearningSource,
    LearningStatus,
    Mode,
    Origin,
    PolicyDecision,
    ReviewAction,
    Sensitivity,
    Tier,
    Verification,
)
from understudy.sessions.learning_scopes import LearningScope
from understudy.storage.columns import fields_of, folded, list_of, read_record, search_text
from understudy.storage.engine import Dialect
from understudy.storage.schema import learning_candidates, learnings

SAID: Final = {
    "content": str,
    "semantic_key": str,
    "confidence": int,
    "derived_from_untrusted": bool,
}
ABOUT: Final = {"subject_key": str}


def digest_of(key: str) -> str:
    """A key of any length as something that an index takes."""
    return sha256(key.encode(errors="surrogatepass")).hexdigest()


def without_search(table: sa.Table) -> tuple[sa.Column[Any], ...]:
    """The columns that a record is read from."""
    return tuple(column for column in table.c if column.name != "search")


def shared_columns(record_id: str, record: Candidate | Learning) -> dict[str, Any]:
    """The columns that both tables have."""
    scope, source = record.scope, record.source
    found_by = (record_id, scope.key, record.kind, record.content, source.run_id or "")
    return {
        "scope_key": scope.key,
        "kind": str(record.kind),
        "sensitivity": str(record.sensitivity),
        "key_digest": digest_of(record.semantic_key),
        "created_at_ms": record.created_at_ms,
        "expires_at_ms": record.expires_at_ms,
        "search": search_text(*found_by),
        "version": record.version,
    }


def shared_body(record: Candidate | Learning) -> dict[str, Any]:
    """What both bodies say."""
    return {
        **{name: getattr(record, name) for name in (*SAID, *ABOUT)},
        "source": asdict(record.source),
        "evidence_refs": [asdict(ref) for ref in record.evidence_refs],
    }


def read_shared(row: Any) -> dict[str, Any]:
    """The fields of a record that both tables keep."""
    return {
        **fields_of(row.body, SAID, optional=False),
        **fields_of(row.body, ABOUT, optional=True),
        "scope": LearningScope.from_key(row.scope_key),
        "kind": Kind(row.kind),
        "sensitivity": Sensitivity(row.sensitivity),
        "source": read_source(row.body["source"]),
        "evidence_refs": tuple(map(read_evidence, list_of(row.body["evidence_refs"]))),
        "created_at_ms": row.created_at_ms,
        "expires_at_ms": row.expires_at_ms,
        "version": row.version,
    }


SOURCE: Final = {
    "run_id": str,
    "session_id": str,
    "agent_id": str,
    "input_event_offset": int,
    "observation_id": str,
    "derivation_id": str,
}
EVIDENCE: Final = {"run_id": str, "artifact_id": str, "note": str}
REVIEW: Final = {
    "mode": str,
    "action": str,
    "reviewed_at_ms": int,
    "reason": str,
    "policy_revision": int,
}
RULE: Final = {"matched_rule_name": str}
VERDICT: Final = {"action": str, "judged_at_ms": int, "reason": str}


def read_source(stored: Any) -> LearningSource:
    """Where something was said."""
    return LearningSource(**fields_of(stored, SOURCE, optional=True))


def read_evidence(stored: Any) -> EvidenceRef:
    """What speaks for something."""
    return EvidenceRef(**fields_of(stored, EVIDENCE, optional=True))


def review_json(review: AutomationReview) -> dict[str, Any]:
    """What automation made of a candidate."""
    return asdict(review)


def read_review(stored: Any) -> AutomationReview:
    """What automation made of a candidate."""
    said = fields_of(stored, REVIEW, optional=False)
    judge = stored["judge"]
    return AutomationReview(
        **said | {"mode": Mode(said["mode"]), "action": ReviewAction(said["action"])},
        **fields_of(stored, RULE, optional=True),
        judge=None if judge is None else _verdict(judge),
    )


def _verdict(stored: Any) -> JudgeVerdict:
    said = fields_of(stored, VERDICT, optional=False)
    return JudgeVerdict(**said | {"action": ReviewAction(said["action"])})


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


def candidate_conditions(
    narrowed: CandidateFilter, dialect: Dialect
) -> Iterator[sa.ColumnElement[bool]]:
    """What candidates must meet."""
    yield from _shared(learning_candidates, narrowed, dialect)
    yield from _equal((learning_candidates.c.state, narrowed.state))


def learning_conditions(
    narrowed: LearningFilter, dialect: Dialect
) -> Iterator[sa.ColumnElement[bool]]:
    """What learnings must meet."""
    yield from _shared(learnings, narrowed, dialect)
    yield from _equal(
        (learnings.c.status, narrowed.status),
        (learnings.c.policy_decision, narrowed.policy_decision),
        (learnings.c.actor_folded, _fold(narrowed.policy_actor)),
    )
    if narrowed.matched_rule_name is not None:
        yield sa.exists().where(
            learning_candidates.c.candidate_id == learnings.c.source_candidate_id,
            learning_candidates.c.rule_folded == folded(narrowed.matched_rule_name),
        )


def _shared(
    table: sa.Table, narrowed: CandidateFilter | LearningFilter, dialect: Dialect
) -> Iterator[sa.ColumnElement[bool]]:
    scope = narrowed.scope
    yield from _equal(
        (table.c.scope_key, None if scope is None else scope.key), (table.c.kind, narrowed.kind)
    )
    if narrowed.query is not None:
        yield dialect.contains(table.c.search, folded(narrowed.query))


def _equal(*wanted: tuple[sa.Column[Any], str | None]) -> Iterator[sa.ColumnElement[bool]]:
    for column, value in wanted:
        if value is not None:
            yield column == str(value)


def _fold(text: str | None) -> str | None:
    return None if text is None else folded(text)
