"""Rows of candidates and learnings, and the SQL conditions of their filters."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from hashlib import sha256
from typing import Any, Final

import sqlalchemy as sa

from understudy.core.principal import DAEMON
from understudy.core.records import parsed_strictly
from understudy.learnings.model import (
    EXPIRED,
    LIVE,
    OPEN,
    Candidate,
    CandidateFilter,
    Learning,
    LearningFilter,
    LearningStatus,
)
from understudy.sessions.learning_scopes import LearningScope
from understudy.storage.engine import Dialect
from understudy.storage.rows import folded, read_record, search_text, to_row
from understudy.storage.schema import audit, learning_candidates, learning_uses, learnings
from understudy.storage.schema.learnings import OPEN as OPEN_ROW

# Fields that every stored body has; a body without one is damaged, although the record has a
# default.
_SAID: Final = frozenset(
    {
        "confidence",
        "content",
        "derived_from_untrusted",
        "evidence_refs",
        "semantic_key",
        "source",
        "subject_key",
    }
)
_SAID_OF_CANDIDATES: Final = _SAID | {"automation_review", "declined_before"}


def digest_of(key: str) -> str:
    """The digest of a semantic or subject key, short enough for an index."""
    return sha256(key.encode(errors="surrogatepass")).hexdigest()


# Columns that no record is read from.
NOT_READ: Final = frozenset({"search", "key_rules"})


def without_search(table: sa.Table) -> tuple[sa.Column[Any], ...]:
    """The columns that a record is read from."""
    return tuple(column for column in table.c if column.name not in NOT_READ)


MAX_RULE_CHARS: Final = 200


def learning_row(learning: Learning) -> dict[str, Any]:
    """All columns of a learning."""
    actor, subject = learning.policy_actor, learning.subject_key
    row = _row(learning, learning.learning_id, learnings)
    is_undone = learning.undone_at_ms is not None
    if is_undone:
        # The column is unique, and the candidate may become another learning.
        row["body"] = row["body"] | {"source_candidate_id": row.pop("source_candidate_id")}
        row["source_candidate_id"] = None
    return row | {
        "is_live": learning.status in LIVE,
        "is_active": learning.status is LearningStatus.ACTIVE,
        # Revoked by a person, and not undone.
        "is_taken_back": learning.status is LearningStatus.REVOKED
        and learning.revoked_by != DAEMON.user_id
        and not is_undone,
        "actor_folded": None if actor is None else folded(actor),
        "subject_digest": None if subject is None else digest_of(subject),
    }


def candidate_row(candidate: Candidate) -> dict[str, Any]:
    """All columns of a candidate."""
    review = candidate.automation_review
    rule = None if review is None else review.matched_rule_name
    is_automatic = candidate.decided_by == DAEMON.user_id
    return _row(candidate, candidate.candidate_id, learning_candidates) | {
        "is_open": candidate.state in OPEN,
        "review_rank": candidate.review_rank,
        "source_run_id": candidate.source.run_id,
        "rule_name": None if rule is None else rule[:MAX_RULE_CHARS],
        "rule_folded": None if rule is None else folded(rule),
        "is_automatic": is_automatic,
        "is_expired": is_automatic and candidate.decision_reason == EXPIRED,
    }


def _row(record: Candidate | Learning, record_id: str, table: sa.Table) -> dict[str, Any]:
    row, scope = to_row(record, table), record.scope.key
    found_by = (record_id, scope, record.kind, record.content, record.source.run_id or "")
    body = {name: value for name, value in row["body"].items() if name != "scope"}
    return row | {
        "scope_key": scope,
        "key_digest": digest_of(record.semantic_key),
        "search": search_text(*found_by),
        "body": body,
    }


def read_learning(row: Any) -> Learning:
    """The learning in a row, or `DamagedRecord`."""
    return read_record(
        row,
        lambda it: parsed_strictly(Learning, _values(it, _SAID)),
        what=f"learning {row.learning_id}",
    )


def read_candidate(row: Any) -> Candidate:
    """The candidate in a row, or `DamagedRecord`."""
    return read_record(
        row,
        lambda it: parsed_strictly(Candidate, _values(it, _SAID_OF_CANDIDATES)),
        what=f"candidate {row.candidate_id}",
    )


def _values(row: Any, said: frozenset[str]) -> dict[str, Any]:
    values = row._asdict()
    body = values.pop("body")
    if isinstance(body, str):
        body = json.loads(body)
    if not isinstance(body, dict) or not said <= body.keys():
        raise TypeError("the body is not whole")
    return {**values, **body, "scope": asdict(LearningScope.from_key(row.scope_key))}


def candidate_conditions(
    narrowed: CandidateFilter, dialect: Dialect
) -> Iterator[sa.ColumnElement[bool] | sa.TextClause]:
    """The SQL conditions of a filter of candidates."""
    yield from _shared(learning_candidates, narrowed, dialect)
    yield from _equal((learning_candidates.c.state, narrowed.state))
    if narrowed.candidate_ids:
        yield learning_candidates.c.candidate_id.in_(narrowed.candidate_ids)
    if narrowed.waiting:
        yield OPEN_ROW
    if narrowed.own:
        # Rows of others are not visible: neither their runs nor their part of the audit.
        made = sa.select(audit.c.resource_id).where(audit.c.action == "learning_candidates.create")
        yield sa.or_(
            learning_candidates.c.source_run_id.is_not(None),
            learning_candidates.c.candidate_id.in_(made),
        )


def learning_conditions(
    narrowed: LearningFilter, dialect: Dialect
) -> Iterator[sa.ColumnElement[bool]]:
    """The SQL conditions of a filter of learnings."""
    yield from _shared(learnings, narrowed, dialect)
    yield from _equal(
        (learnings.c.status, narrowed.status),
        (learnings.c.publish_tier, narrowed.publish_tier),
        (learnings.c.verification_status, narrowed.verification_status),
        (learnings.c.policy_decision, narrowed.policy_decision),
        (learnings.c.actor_folded, _fold(narrowed.policy_actor)),
    )
    if narrowed.published_after_ms is not None:
        yield learnings.c.published_at_ms >= narrowed.published_after_ms
    if narrowed.published_before_ms is not None:
        yield learnings.c.published_at_ms < narrowed.published_before_ms
    if narrowed.used is not None:
        was_told = sa.exists().where(learning_uses.c.learning_id == learnings.c.learning_id)
        yield was_told if narrowed.used else ~was_told
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
        (table.c.scope_key, None if scope is None else scope.key),
        (table.c.kind, narrowed.kind),
        (table.c.applies, narrowed.applies),
    )
    if narrowed.query is not None:
        yield dialect.contains(table.c.search, folded(narrowed.query))


def _equal(*wanted: tuple[sa.Column[Any], str | None]) -> Iterator[sa.ColumnElement[bool]]:
    for column, value in wanted:
        if value is not None:
            yield column == str(value)


def _fold(text: str | None) -> str | None:
    return None if text is None else folded(text)
