"""The index of run memories: pointers by session and scope, terms, evidence and backlog."""

from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from typing import Any, Final

import sqlalchemy as sa

from understudy.core.batches import batches
from understudy.core.page import Page, PageRequest
from understudy.memory.ports import TERM_KIND, IndexCounts
from understudy.memory.record import (
    CaptureState,
    Pointer,
    RunCapture,
    RunEvidence,
    RunMemoryRecord,
    SemanticCapture,
)
from understudy.retrieval.terms import terms_of
from understudy.runs.model import RunStatus
from understudy.storage.engine import Dialect
from understudy.storage.rows import insert_new, read_record, select_page, upsert_of
from understudy.storage.schema import (
    run_captures,
    run_memories,
    run_memory_backlog,
    run_memory_evidence,
    run_memory_scopes,
    runs,
    term_entries,
)
from understudy.storage.term_index import TermIndex
from understudy.storage.visible_connection import VisibleConnection


class RunMemoryIndex:
    """Pointers, scopes, evidence and backlog in tables; terms in the term index."""

    def __init__(self, connection: VisibleConnection, dialect: Dialect, terms: TermIndex) -> None:
        self._connection = connection
        self._dialect = dialect
        self._terms = terms
        # Whether this unit holds them, and alone.
        self._held: bool | None = None

    def hold(self, *, alone: bool = False) -> None:
        """Lock run memories until the unit ends: `alone` where the policy or any record may go.

        Reentrant; but two units that share the lock would wait for each other to get it alone.
        """
        if self._held is None:
            self._dialect.lock_run_memories(self._connection, alone=alone)
            self._held = alone
        elif alone and not self._held:
            raise RuntimeError("the unit shares the run memories; hold them alone from the start")

    def claim(self, run_ids: Sequence[str]) -> frozenset[str]:
        """Lock the pointers to records that are to be deleted; without those in use elsewhere."""
        found: set[str] = set()
        for some in batches(run_ids):
            wanted = sa.select(run_memories.c.run_id).where(run_memories.c.run_id.in_(some))
            found |= set(self._connection.execute(self._dialect.locked_if_free(wanted)).scalars())
        return frozenset(found)

    def add(self, record: RunMemoryRecord, *, stamp: str = "", is_new: bool = False) -> None:
        """Index a record, replacing an older pointer of the same run unless it `is_new`."""
        run_id, at_ms = record.run_id, record.memory.recorded_at_ms
        values = {
            "run_id": run_id,
            "session_id": record.session_id,
            "recorded_at_ms": at_ms,
            "semantic_capture": str(record.semantic_capture),
            "stamp": stamp,
        }
        self._connection.execute(_POINT[self._connection.dialect.name], values)
        if not is_new:
            self._connection.execute(_DROP_SCOPES, {"of": run_id})
        scopes = tuple(dict.fromkeys(record.scope_keys))
        if scopes:
            rows = [{"scope_key": key, "recorded_at_ms": at_ms, "run_id": run_id} for key in scopes]
            self._connection.execute(_ADD_SCOPES, rows)
        self._terms.put(
            TERM_KIND, run_id, scopes=scopes, terms=words_of(record), at_ms=at_ms, is_new=is_new
        )

    def forget(self, run_ids: Sequence[str]) -> int:
        """Delete pointers and their evidence; answers how many."""
        dropped = 0
        for some in batches(run_ids):
            dropped += self._connection.execute(_FORGET, {"run_ids": some}).rowcount
        self._terms.remove(TERM_KIND, run_ids)
        return dropped

    def get(self, run_id: str, *, lock: bool = False) -> Pointer | None:
        """The pointer to the record of a run; `lock` it to change it."""
        query = self._dialect.locked(_POINTER) if lock else _POINTER
        row = self._connection.execute(query, {"of": run_id}).first()
        return None if row is None else _read(row)

    def in_session(self, session_id: str, *, limit: int, skip: int = 0) -> tuple[Pointer, ...]:
        """The pointers of a session after the first `skip`, newest first, ties by run id."""
        values = {"of": session_id, "limit": limit, "skip": skip}
        return tuple(map(_read, self._connection.execute(_IN_SESSION, values)))

    def page(
        self, request: PageRequest, *, since_ms: int, session_id: str | None = None
    ) -> Page[Pointer]:
        """The pointers to records made since a time, of a session or of all, in the same order."""
        query = sa.select(*_COLUMNS).where(run_memories.c.recorded_at_ms >= since_ms)
        if session_id is not None:
            query = query.where(run_memories.c.session_id == session_id)
        by = (run_memories.c.recorded_at_ms, run_memories.c.run_id)
        return select_page(self._connection, query, request, by=by, read=_read, descending=True)

    def in_scopes(self, scope_keys: Sequence[str], *, limit: int) -> tuple[Pointer, ...]:
        """The pointers of records in any of these scopes, in the same order."""
        # One query per scope, so that the index gives the newest without reading all rows.
        found = {
            (row.recorded_at_ms, row.run_id)
            for key in dict.fromkeys(scope_keys)
            for row in self._connection.execute(_IN_SCOPE, {"key": key, "limit": limit})
        }
        newest = [run_id for _, run_id in nlargest(limit, found)]
        pointers = {
            row.run_id: _read(row)
            for some in batches(newest)
            for row in self._connection.execute(_POINTERS, {"run_ids": some})
        }
        return tuple(pointers[run_id] for run_id in newest if run_id in pointers)

    def expired(
        self, *, before_ms: int, limit: int, session_id: str | None = None
    ) -> tuple[Pointer, ...]:
        """Pointers to records made before a time, of one session or of all, oldest first."""
        values = {"before_ms": before_ms, "limit": limit}
        if session_id is not None:
            rows = self._connection.execute(_EXPIRED_IN_SESSION, {**values, "of": session_id})
        else:
            rows = self._connection.execute(_EXPIRED, values)
        return tuple(map(_read, rows))

    def over_limits(
        self, session_id: str, *, before_ms: int, beyond: int, limit: int
    ) -> tuple[tuple[Pointer, ...], tuple[Pointer, ...]]:
        """Pointers of a session that expired, oldest first, and those over its limit."""
        values = {"of": session_id, "before_ms": before_ms, "skip": beyond, "limit": limit}
        rows = self._connection.execute(_OVER_LIMITS, values).all()
        expired = sorted((row for row in rows if row.is_expired), key=_age)
        past = sorted((row for row in rows if not row.is_expired), key=_age, reverse=True)
        return tuple(map(_read, expired)), tuple(map(_read, past))

    def all(self) -> Iterable[tuple[Pointer, str]]:
        """Every pointer with the stamp of its record; "" where the run contradicts the pointer."""
        for row in self._connection.execute(_ALL):
            yield _read(row), row.stamp if row.is_sound else ""

    def stamps(self) -> dict[str, str]:
        """The stamp of every record by run id; "" where the run contradicts the pointer."""
        return dict(self._connection.execute(_STAMPS).all())

    def is_any_over(self, *, before_ms: int, beyond: int) -> bool:
        """Whether there is a record made before a time, or a session with more than so many."""
        if self.expired(before_ms=before_ms, limit=1):
            return True
        return self._connection.execute(_FULL_SESSION, {"beyond": beyond}).first() is not None

    def settle(self, run_id: str, receipt: SemanticCapture, *, stamp: str | None = None) -> None:
        """Store the capture receipt of a run, and the stamp of its record if that changed."""
        changed = {"semantic_capture": str(receipt)} | ({"stamp": stamp} if stamp else {})
        self._connection.execute(_CHANGE, {"of": run_id, **changed})

    def waiting(self, *, limit: int) -> tuple[str, ...]:
        """Runs whose receipt is pending, oldest first."""
        query = (
            sa.select(run_memories.c.run_id)
            # A literal, to match the partial index.
            .where(sa.text("semantic_capture = 'pending'"))
            .order_by(run_memories.c.recorded_at_ms, run_memories.c.run_id)
            .limit(limit)
        )
        return tuple(self._connection.execute(query).scalars())

    def counts(self, *, before_ms: int | None = None) -> IndexCounts:
        """Counts of the index; records made before the given time are stale."""
        counts = self._connection.execute(_COUNTS).one()._asdict()
        # No record is older than the epoch.
        stale = self._connection.execute(_STALE, {"before_ms": before_ms or 0}).scalar_one()
        return IndexCounts(**counts, stale=stale)

    def keep_evidence(self, evidence: RunEvidence) -> None:
        """Store the evidence of a run."""
        values = {
            "run_id": evidence.run_id,
            "request": evidence.request,
            "outcome": evidence.outcome,
        }
        self._connection.execute(_KEEP_EVIDENCE[self._connection.dialect.name], values)

    def evidence(self, run_id: str) -> RunEvidence | None:
        """The evidence of a run."""
        row = self._connection.execute(_EVIDENCE, {"of": run_id}).first()
        return (
            None if row is None else read_record(row, _evidence, what=f"evidence of run {run_id}")
        )

    def keep_capture(self, run_id: str, capture: RunCapture, *, at_ms: int) -> None:
        """Store how the capture of a run ended."""
        values = {
            "run_id": run_id,
            "state": str(capture.state),
            "found": capture.found,
            "attempts": capture.attempts,
            "reason": capture.reason,
            "at_ms": at_ms,
        }
        self._connection.execute(_KEEP_CAPTURE[self._connection.dialect.name], values)

    def capture(self, run_id: str) -> RunCapture | None:
        """How the capture of a run ended; None while it has not, and where that was not stored."""
        query = sa.select(run_captures).where(run_captures.c.run_id == run_id)
        row = self._connection.execute(query).first()
        if row is None:
            return None
        return RunCapture(
            state=CaptureState(row.state),
            found=row.found,
            attempts=row.attempts,
            reason=row.reason,
        )

    def given_up(self, *, since_ms: int) -> tuple[int, str | None]:
        """How many captures were given up since a time, and the reason of the last one."""
        captures = run_captures.c
        # A literal, to match the partial index.
        ended = sa.text("state = 'given_up'"), captures.at_ms >= since_ms
        count = sa.select(sa.func.count()).select_from(run_captures).where(*ended)
        last = sa.select(captures.reason).where(*ended).order_by(captures.at_ms.desc()).limit(1)
        return (
            self._connection.execute(count).scalar_one(),
            self._connection.execute(last).scalar(),
        )

    def postpone(self, run_id: str, *, reason: str, at_ms: int) -> None:
        """Put a run into the backlog: its record is made later."""
        values = {"run_id": run_id, "reason": reason, "at_ms": at_ms}
        insert_new(self._connection, run_memory_backlog, values)

    def postponed(self, *, limit: int) -> tuple[str, ...]:
        """The backlog, oldest first."""
        backlog = run_memory_backlog.c
        query = sa.select(backlog.run_id).order_by(backlog.at_ms, backlog.run_id).limit(limit)
        return tuple(self._connection.execute(query).scalars())

    def clear_postponed(self, run_id: str) -> bool:
        """Remove a run from the backlog; answers whether it was there."""
        return self._connection.execute(_MADE_UP_FOR, {"of": run_id}).rowcount > 0

    def owners(self, run_ids: Sequence[str]) -> Mapping[str, tuple[str, RunStatus]]:
        """Session and status of the runs among `run_ids` that exist."""
        return {
            row.run_id: (row.session_id, RunStatus(row.status))
            for some in batches(run_ids)
            for row in self._connection.execute(_OWNERS, {"run_ids": some})
        }


def words_of(record: RunMemoryRecord) -> tuple[str, ...]:
    """The terms of a record."""
    memory = record.memory
    said = (
        memory.summary,
        memory.request_preview,
        memory.outcome_preview,
        *memory.failure_markers,
    )
    return terms_of("\n".join(dict.fromkeys(text for text in said if text)))


# Built once: they run whenever a run begins or ends.
_POINT: Final = upsert_of(run_memories)
_CHANGE: Final = sa.update(run_memories).where(run_memories.c.run_id == sa.bindparam("of"))
_EVIDENCE: Final = sa.select(run_memory_evidence).where(
    run_memory_evidence.c.run_id == sa.bindparam("of")
)
_KEEP_EVIDENCE: Final = upsert_of(run_memory_evidence)
_KEEP_CAPTURE: Final = upsert_of(run_captures)
_ADD_SCOPES: Final = sa.insert(run_memory_scopes)
_DROP_SCOPES: Final = sa.delete(run_memory_scopes).where(
    run_memory_scopes.c.run_id == sa.bindparam("of")
)
_FORGET: Final = sa.delete(run_memories).where(
    run_memories.c.run_id.in_(sa.bindparam("run_ids", expanding=True))
)
_MADE_UP_FOR: Final = sa.delete(run_memory_backlog).where(
    run_memory_backlog.c.run_id == sa.bindparam("of")
)
_COLUMNS: Final = (
    run_memories.c.run_id,
    run_memories.c.session_id,
    run_memories.c.recorded_at_ms,
    run_memories.c.semantic_capture,
)
_POINTER: Final = sa.select(*_COLUMNS).where(run_memories.c.run_id == sa.bindparam("of"))
_POINTERS: Final = sa.select(*_COLUMNS).where(
    run_memories.c.run_id.in_(sa.bindparam("run_ids", expanding=True))
)
_IN_SESSION: Final = (
    sa.select(*_COLUMNS)
    .where(run_memories.c.session_id == sa.bindparam("of"))
    .order_by(run_memories.c.recorded_at_ms.desc(), run_memories.c.run_id.desc())
    .limit(sa.bindparam("limit"))
    .offset(sa.bindparam("skip"))
)
_IN_SCOPE: Final = (
    sa.select(run_memory_scopes.c.recorded_at_ms, run_memory_scopes.c.run_id)
    .where(run_memory_scopes.c.scope_key == sa.bindparam("key"))
    .order_by(run_memory_scopes.c.recorded_at_ms.desc(), run_memory_scopes.c.run_id.desc())
    .limit(sa.bindparam("limit"))
)
_EXPIRED: Final = (
    sa.select(*_COLUMNS)
    .where(run_memories.c.recorded_at_ms < sa.bindparam("before_ms"))
    .order_by(run_memories.c.recorded_at_ms, run_memories.c.run_id)
    .limit(sa.bindparam("limit"))
)
_EXPIRED_IN_SESSION: Final = _EXPIRED.where(run_memories.c.session_id == sa.bindparam("of"))
_OVER_LIMITS: Final = sa.union_all(
    sa.select(_EXPIRED_IN_SESSION.subquery(), sa.true().label("is_expired")),
    sa.select(_IN_SESSION.subquery(), sa.false().label("is_expired")),
)
_IS_SOUND: Final = sa.and_(
    runs.c.session_id == run_memories.c.session_id,
    runs.c.finished_at_ms.is_not(None),
    sa.exists().where(run_memory_scopes.c.run_id == run_memories.c.run_id),
    sa.exists().where(
        term_entries.c.kind == TERM_KIND, term_entries.c.source_id == run_memories.c.run_id
    ),
)
_ALL: Final = sa.select(*_COLUMNS, run_memories.c.stamp, _IS_SOUND.label("is_sound")).select_from(
    run_memories.outerjoin(runs, runs.c.run_id == run_memories.c.run_id)
)
_STAMPS: Final = sa.select(
    run_memories.c.run_id, sa.case((_IS_SOUND, run_memories.c.stamp), else_="")
).select_from(run_memories.outerjoin(runs, runs.c.run_id == run_memories.c.run_id))
_FULL_SESSION: Final = (
    sa.select(run_memories.c.session_id)
    .group_by(run_memories.c.session_id)
    .having(sa.func.count() > sa.bindparam("beyond"))
    .limit(1)
)
_OWNERS: Final = sa.select(runs.c.run_id, runs.c.session_id, runs.c.status).where(
    runs.c.run_id.in_(sa.bindparam("run_ids", expanding=True))
)


def _count(rows: sa.FromClause, name: str) -> Any:
    return sa.select(sa.func.count()).select_from(rows).scalar_subquery().label(name)


def _distinct(column: sa.Column[Any], name: str) -> Any:
    """The number of distinct values of an indexed column, by a skip scan."""
    value = sa.select(sa.func.min(column).label("value")).cte(f"all_{name}", recursive=True)
    after = sa.select(sa.func.min(column)).where(column > value.c.value).scalar_subquery()
    values = value.union_all(sa.select(after).where(value.c.value.is_not(None)))
    return sa.select(sa.func.count(values.c.value)).scalar_subquery().label(name)


_COUNTS: Final = sa.select(
    _count(run_memories, "records"),
    _distinct(run_memories.c.session_id, "sessions"),
    _distinct(run_memory_scopes.c.scope_key, "scopes"),
    _count(run_memory_backlog, "postponed"),
)
_STALE: Final = sa.select(sa.func.count()).where(
    run_memories.c.recorded_at_ms < sa.bindparam("before_ms")
)


# A dict lookup is quicker than the enum call, and startup reads every pointer.
_RECEIPTS: Final = {str(receipt): receipt for receipt in SemanticCapture}


def _age(row: Any) -> tuple[int, str]:
    return row.recorded_at_ms, row.run_id


def _read(row: Any) -> Pointer:
    run_id, session_id, recorded_at_ms, receipt = row[: len(_COLUMNS)]
    return Pointer(
        run_id=run_id,
        session_id=session_id,
        recorded_at_ms=recorded_at_ms,
        semantic_capture=_RECEIPTS[receipt],
    )


def _evidence(row: Any) -> RunEvidence:
    if not isinstance(row.request, str) or not isinstance(row.outcome, str):
        raise TypeError("not a text")
    return RunEvidence(run_id=row.run_id, request=row.request, outcome=row.outcome)
