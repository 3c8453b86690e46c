"""The stores of candidates and of their reviews by automation."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import islice
from typing import Any, Final

import sqlalchemy as sa

from understudy.core.page import Page, PageRequest
from understudy.core.records import parsed_strictly
from understudy.learnings.keys import KEY_RULES
from understudy.learnings.model import OPEN as OPEN_STATES
from understudy.learnings.model import (
    AutomationReview,
    Candidate,
    CandidateFilter,
    CandidateState,
    CandidateTally,
    Expired,
    Kind,
    Origin,
)
from understudy.sessions.learning_scopes import LearningScope
from understudy.storage.job_queue import ANEW
from understudy.storage.learning_rows import (
    NOT_READ,
    candidate_conditions,
    candidate_row,
    digest_of,
    read_candidate,
    without_search,
)
from understudy.storage.rows import (
    insert_into,
    insert_new_of,
    read_record,
    readable,
    select_page,
    upsert_of,
)
from understudy.storage.schema import learning_candidates as candidates
from understudy.storage.schema import learning_reviews, review_jobs
from understudy.storage.schema import learning_reviews as reviews
from understudy.storage.schema.learnings import BY_DAEMON, DECIDED, OPEN, OPEN_FOR_A_TIME
from understudy.storage.stored_keys import renew_keys
from understudy.storage.table import Table
from understudy.storage.visibility import require_existing
from understudy.storage.visible_connection import VisibleConnection

MOST_REJECTED: Final = 50


class CandidateStore(Table[Candidate]):
    """Candidates in a table."""

    table = candidates
    kind = Candidate
    unread = NOT_READ

    def add(self, candidate: Candidate) -> bool:
        """Insert a candidate; False if it violates a unique constraint.

        That is a daemon's candidate of the same run with the same scope, kind and semantic key,
        or any second run summary of one run.
        """
        require_existing(self._connection, candidate.scope, candidate.source.run_id)
        statement = _ADD[self._connection.dialect.name]
        row = self._row(candidate) | {"key_rules": KEY_RULES}
        return self._connection.execute(statement, row).first() is not None

    def renew_keys(self, *, limit: int) -> int:
        """Make keys of older rules anew; answers how many rows were looked at."""
        return renew_keys(self._connection, self._dialect, candidates, limit=limit)

    def page(
        self, request: PageRequest, *, narrowed: CandidateFilter, now_ms: int
    ) -> Page[Candidate]:
        """Candidates by id, oldest first, or in the order of review; without expired open ones."""
        is_shown = sa.or_(candidates.c.state.not_in(OPEN_STATES), _lasts(sa.literal(now_ms)))
        query = self._select(*candidate_conditions(narrowed, self._dialect), is_shown)
        by = _QUEUE if narrowed.waiting else (candidates.c.candidate_id,)
        return select_page(self._connection, query, request, by=by, read=read_candidate)

    def next_for_review(
        self, *, after: str | None, now_ms: int, narrowed: CandidateFilter | None = None
    ) -> tuple[Candidate | None, int]:
        """The first in the queue of review after the candidate `after`, and how many follow it.

        The queue holds open candidates that are neither expired nor snoozed.
        """
        in_queue = self._queue(now_ms, narrowed)
        place: tuple[int, str] = (self._rank(after), after) if after else _BEFORE_ALL_RANKS
        # Candidates that do not decode are skipped.
        while row := self._connection.execute(_after(in_queue, place).limit(1)).first():
            place = (row.review_rank, row.candidate_id)
            if found := readable([row], read_candidate):
                # Whoever reviews is near the beginning of the queue.
                before = self._count(in_queue.where(~_follows(place)))
                whole = self.queue_length(now_ms=now_ms, narrowed=narrowed)
                return found[0], max(0, whole - before)
        return None, 0

    def queue(self, request: PageRequest, *, now_ms: int) -> Page[Candidate]:
        """A page of the queue of review."""
        query = self._queue(now_ms)
        return select_page(self._connection, query, request, by=_QUEUE, read=read_candidate)

    def snoozed_count(self, *, now_ms: int, narrowed: CandidateFilter | None = None) -> int:
        """How many candidates would be in the queue of review if they were not snoozed."""
        snoozed = candidates.c.snoozed_until_ms > now_ms
        return self._count(self._open_rows(narrowed).where(_lasts(sa.literal(now_ms)), snoozed))

    def queue_length(self, *, now_ms: int, narrowed: CandidateFilter | None = None) -> int:
        """How many candidates are in the queue of review."""
        return self._count(self._queue(now_ms, narrowed))

    def open_ones(self, *, after: str | None, limit: int, now_ms: int) -> tuple[Candidate, ...]:
        """Pending and escalated candidates after an id, by id."""
        return tuple(islice(self._open(after, now_ms, at_once=limit), limit))

    def of_run(self, run_id: str) -> tuple[Candidate, ...]:
        """The candidates of the daemon from a run, in order."""
        return self._many(_OF_RUN, {"of": run_id})

    def rejected_by_people(
        self, scope: LearningScope, kind: Kind, semantic_key: str
    ) -> tuple[Candidate, ...]:
        """Candidates with this key that a person rejected, the fifty newest."""
        return self._many(_REJECTED, _same(scope, kind, semantic_key))

    def proposed_with_key(
        self,
        scope: LearningScope,
        kind: Kind,
        semantic_key: str,
        *,
        now_ms: int,
        origin: Origin = Origin.DAEMON,
    ) -> Candidate | None:
        """The oldest open candidate of this origin with this key."""
        values = {"now_ms": now_ms, "origin": str(origin), **_same(scope, kind, semantic_key)}
        return next(iter(self._many(_PROPOSED_WITH_KEY, values)), None)

    def decided_since(self, since_ms: int, *, limit: int) -> tuple[Candidate, ...]:
        """Candidates that were decided since a time, newest first."""
        return self._many(_DECIDED, {"since_ms": since_ms, "limit": limit})

    def expired(
        self, *, now_ms: int, limit: int, after: Expired | None = None
    ) -> tuple[Expired, ...]:
        """Expired open candidates, longest expired first, also those that do not decode."""
        last = after or _BEFORE_ALL
        values = {"now_ms": now_ms, "limit": limit, **last._asdict()}
        return tuple(Expired(*row) for row in self._connection.execute(_EXPIRED, values))

    def tallies(self) -> tuple[CandidateTally, ...]:
        """The number of candidates by capture path, rule and state."""
        return tuple(
            CandidateTally(
                capture_path=row.capture_path,
                rule=row.rule_name,
                state=row.state,
                is_automatic=row.is_automatic,
                is_expired=row.is_expired,
                count=row.number,
            )
            for row in self._connection.execute(_TALLIES)
        )

    def queue_pending(self, *, due_at_ms: int, unreviewed_under: str | None = None) -> int:
        """Queue pending candidates for review; answers how many.

        Without `unreviewed_under` all of them, and current leases are lost, because the policy
        changed. With it only those without a review under that policy; queued jobs stay as they are.
        """
        pending = _PENDING.add_columns(sa.literal(due_at_ms), sa.literal(0))
        if unreviewed_under is not None:
            pending = pending.where(~_is_reviewed(unreviewed_under))
        insert = insert_into(self._connection, review_jobs)
        insert = insert.from_select(["job_id", "due_at_ms", "attempts"], pending)
        if unreviewed_under is not None:
            statement = insert.on_conflict_do_nothing()
        else:
            anew = {"due_at_ms": due_at_ms, **ANEW}
            statement = insert.on_conflict_do_update(index_elements=["job_id"], set_=anew)
        queued = self._connection.execute(statement.returning(review_jobs.c.job_id))
        return len(queued.all())

    def _queue(self, now_ms: int, narrowed: CandidateFilter | None = None) -> sa.Select[Any]:
        return self._open_rows(narrowed).where(_lasts(sa.literal(now_ms)), _is_awake(now_ms))

    def _open_rows(self, narrowed: CandidateFilter | None) -> sa.Select[Any]:
        waiting = replace(narrowed or CandidateFilter(), waiting=True)
        return self._select(*candidate_conditions(waiting, self._dialect))

    def _count(self, query: sa.Select[Any]) -> int:
        counted = query.with_only_columns(sa.func.count(), maintain_column_froms=True)
        return self._connection.execute(counted).scalar_one()

    def _rank(self, candidate_id: str) -> int:
        rank = sa.select(candidates.c.review_rank).where(candidates.c.candidate_id == candidate_id)
        return self._connection.execute(rank).scalar() or 0

    def _row(self, candidate: Candidate) -> dict[str, Any]:
        return candidate_row(candidate)

    def _read(self, row: Any) -> Candidate:
        return read_candidate(row)

    def _open(self, after: str | None, now_ms: int, *, at_once: int) -> Iterator[Candidate]:
        """Open candidates by id; those that do not decode are skipped."""
        values = {"after": after or "", "now_ms": now_ms, "limit": at_once}
        while rows := self._connection.execute(_OPEN_AFTER, values).all():
            yield from readable(rows, read_candidate)
            values["after"] = rows[-1].candidate_id


def _lasts(now_ms: Any) -> sa.ColumnElement[bool]:
    """The SQL condition that a candidate is not expired."""
    expires = candidates.c.expires_at_ms
    return sa.or_(expires.is_(None), expires > now_ms)


def _after(query: sa.Select[Any], place: tuple[int, str]) -> sa.Select[Any]:
    """The part of the queue of review that follows a place, in order."""
    return query.where(_follows(place)).order_by(*_QUEUE)


def _follows(place: tuple[int, str]) -> sa.ColumnElement[bool]:
    return sa.tuple_(*_QUEUE) > sa.tuple_(*map(sa.literal, place))


def _is_awake(now_ms: int) -> sa.ColumnElement[bool]:
    """The SQL condition that a candidate is not snoozed."""
    until = candidates.c.snoozed_until_ms
    return sa.or_(until.is_(None), until <= now_ms)


def _is_reviewed(policy_digest: str) -> sa.ColumnElement[bool]:
    return sa.exists().where(
        learning_reviews.c.candidate_id == candidates.c.candidate_id,
        learning_reviews.c.policy_digest == policy_digest,
    )


# Built once: workers run them again and again.
_ADD: Final = insert_new_of(candidates)
_COLUMNS: Final = without_search(candidates)
_QUEUE: Final = (candidates.c.review_rank, candidates.c.candidate_id)
_BEFORE_ALL_RANKS: Final = (-1, "")
_OPEN_AFTER: Final = (
    sa.select(*_COLUMNS)
    .where(OPEN, candidates.c.candidate_id > sa.bindparam("after"))
    .where(_lasts(sa.bindparam("now_ms")))
    .order_by(candidates.c.candidate_id)
    .limit(sa.bindparam("limit"))
)
_OF_RUN: Final = (
    sa.select(*_COLUMNS)
    .where(BY_DAEMON, candidates.c.source_run_id == sa.bindparam("of"))
    .order_by(candidates.c.candidate_id)
)
_IS_SAME: Final = sa.and_(
    *(candidates.c[name] == sa.bindparam(name) for name in ("key_digest", "scope_key", "kind"))
)
_PROPOSED_WITH_KEY: Final = (
    sa.select(*_COLUMNS)
    .where(_IS_SAME, OPEN, _lasts(sa.bindparam("now_ms")))
    .where(candidates.c.origin == sa.bindparam("origin"))
    # Not by id alone: SQLite would scan the scope instead of using the key index.
    .order_by(candidates.c.created_at_ms, candidates.c.candidate_id)
)
_REJECTED: Final = (
    sa.select(*_COLUMNS)
    .where(_IS_SAME, candidates.c.state == str(CandidateState.REJECTED))
    .where(~candidates.c.is_automatic)
    .order_by(candidates.c.decided_at_ms.desc(), candidates.c.candidate_id.desc())
    .limit(MOST_REJECTED)
)
_DECIDED: Final = (
    sa.select(*_COLUMNS)
    .where(DECIDED, candidates.c.decided_at_ms >= sa.bindparam("since_ms"))
    .order_by(candidates.c.decided_at_ms.desc(), candidates.c.candidate_id.desc())
    .limit(sa.bindparam("limit"))
)
_BEFORE_ALL: Final = Expired(-1, "")
_BY_EXPIRY: Final = (candidates.c.expires_at_ms, candidates.c.candidate_id)
_EXPIRED: Final = (
    sa.select(*_BY_EXPIRY)
    .where(OPEN_FOR_A_TIME, candidates.c.expires_at_ms <= sa.bindparam("now_ms"))
    .where(sa.tuple_(*_BY_EXPIRY) > sa.tuple_(*(sa.bindparam(it.name) for it in _BY_EXPIRY)))
    .order_by(*_BY_EXPIRY)
    .limit(sa.bindparam("limit"))
)
_TALLIED: Final = tuple(
    candidates.c[name]
    for name in ("capture_path", "rule_name", "state", "is_automatic", "is_expired")
)
_TALLIES: Final = (
    sa.select(*_TALLIED, sa.func.count().label("number")).group_by(*_TALLIED).order_by(*_TALLIED)
)
# Queued in one order, which avoids deadlocks.
_PENDING: Final = (
    sa.select(candidates.c.candidate_id)
    .where(candidates.c.state == str(CandidateState.PENDING))
    .order_by(candidates.c.candidate_id)
)


def _same(scope: LearningScope, kind: Kind, semantic_key: str) -> dict[str, Any]:
    return {
        "key_digest": digest_of(semantic_key),
        "scope_key": scope.key,
        "kind": str(kind),
    }


class ReviewStore:
    """Reviews of candidates by automation, one for each policy."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def get(self, candidate_id: str, policy_digest: str) -> AutomationReview | None:
        """The review of a candidate under a policy; None if it does not decode."""
        values = {"of": candidate_id, "under": policy_digest}
        found = readable(self._connection.execute(_REVIEW, values).all(), _read)
        return next(iter(found), None)

    def put(self, candidate_id: str, policy_digest: str, review: AutomationReview) -> None:
        """Store a review, replacing one under the same policy."""
        values = {
            "candidate_id": candidate_id,
            "policy_digest": policy_digest,
            "reviewed_at_ms": review.reviewed_at_ms,
            "body": asdict(review),
        }
        self._connection.execute(_PUT[self._connection.dialect.name], values)

    def of_candidate(self, candidate_id: str) -> tuple[AutomationReview, ...]:
        """The reviews of a candidate, newest first."""
        rows = self._connection.execute(_OF_CANDIDATE, {"of": candidate_id}).all()
        return tuple(readable(rows, _read))


_PUT: Final = upsert_of(reviews)
_OF_CANDIDATE: Final = (
    sa.select(reviews)
    .where(reviews.c.candidate_id == sa.bindparam("of"))
    .order_by(reviews.c.reviewed_at_ms.desc(), reviews.c.policy_digest)
)
_REVIEW: Final = _OF_CANDIDATE.where(reviews.c.policy_digest == sa.bindparam("under"))


def _read(row: Any) -> AutomationReview:
    return read_record(
        row,
        lambda row: parsed_strictly(AutomationReview, row.body),
        what=f"review of candidate {row.candidate_id}",
    )
