"""The run store."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from understudy.core.page import Page, PageRequest
from understudy.core.records import parsed_strictly, plain
from understudy.learnings.taint import taints_of_input
from understudy.runs.lifecycle import ACTIVE
from understudy.runs.model import (
    Run,
    RunReports,
    RunSnapshot,
    RunStatus,
    StopRequest,
    work_id,
)
from understudy.runs.taint import Taints, TaintSource, merged
from understudy.storage.engine import Dialect
from understudy.storage.rows import (
    from_row,
    optional_object,
    read_record,
    readable,
    select_page,
    to_row,
)
from understudy.storage.schema import runs
from understudy.storage.schema.runs import BRINGS_OTHERS_IN
from understudy.storage.visible_connection import VisibleConnection

# As many rows as a database can be asked for.
MANY: Final = 2**63 - 1


class RunStore:
    """Runs in a table."""

    def __init__(self, connection: VisibleConnection, dialect: Dialect) -> None:
        self._connection = connection
        self._dialect = dialect
        # Read with the locked row, so they stay valid until the unit ends.
        self._taints: dict[str, Any] = {}

    def get(self, run_id: str, *, lock: bool = False) -> Run | None:
        """One run; `lock` locks its row until the unit ends."""
        query = self._dialect.locked(_RUN) if lock else _RUN
        row = self._connection.execute(query, {"wanted": run_id}).first()
        return None if row is None else _read(row)

    def get_in_line(self, run_id: str) -> tuple[Run | None, str | None]:
        """One run with its row locked, and the run of its session that is first in line.

        For an execution that begins: units of older ones have ended, or find that they are outdated.
        """
        # Before the row, for which units of an older execution may wait.
        self._dialect.lock_execution(self._connection, run_id, alone=True)
        query = self._dialect.locked(_RUN_IN_LINE)
        row = self._connection.execute(query, {"wanted": run_id}).first()
        return (None, None) if row is None else (_read(row), row.first_in_line)

    def take(self, run_id: str) -> Run | None:
        """The run with its row locked; None if it does not exist or another unit holds the lock."""
        query = self._dialect.locked_if_free(_RUNS.where(runs.c.run_id == run_id))
        row = self._connection.execute(query).first()
        return None if row is None else _read(row)

    def add(self, run: Run) -> None:
        """Store a new run."""
        read = taints_of_input(run)
        row = {**_row(run), "taints": read, "brings_others_in": bool(read)}
        self._connection.execute(_ADD, row)

    def taint(self, run_id: str, more: Taints) -> None:
        """Record whose text a run has read; its row is locked."""
        if not more:
            return
        known = self.taints(run_id)
        read = merged(known, more)
        if read != known:
            self._taints[run_id] = read
            values = {"of": run_id, "taints": read, "brings_others_in": True}
            self._connection.execute(_UPDATE, values)

    def taints(self, run_id: str) -> Taints:
        """Whose text a run has read, by source."""
        if run_id in self._taints:
            found = self._taints[run_id]
        else:
            found = self._connection.execute(_TAINTS, {"of": run_id}).scalar()
        if found is None:
            return {}
        # A damaged record proves that there was one.
        return found if isinstance(found, dict) else {TaintSource.TOOL_RESULT: []}

    def update(
        self, run: Run, *, snapshot: RunSnapshot | None = None, reports: RunReports | None = None
    ) -> None:
        """Write the changing columns of a run whose row this unit has locked.

        With `snapshot`, the prompt is stored as well; with `reports`, only they are kept of it.
        """
        row = _row(run)
        values = {name: row[name] for name in _CHANGING}
        if snapshot is not None:
            values["snapshot"] = _snapshot_json(snapshot)
        elif reports is not None:
            values["snapshot"] = _reports_json(reports)
        self._connection.execute(_UPDATE, {**values, "of": run.run_id})

    def snapshot(self, run_id: str) -> RunSnapshot:
        """The snapshot of the prompt of a run that has not ended."""
        row = self._connection.execute(_SNAPSHOT, {"of": run_id}).one()
        return read_record(row, _snapshot, what=f"snapshot of run {run_id}")

    def reports(self, run_id: str) -> RunReports:
        """The reports on how the prompt of a run was built."""
        row = self._connection.execute(_SNAPSHOT, {"of": run_id}).one()
        return read_record(row, _reports, what=f"snapshot of run {run_id}")

    def close(self, run_id: str, status: RunStatus, *, reason: str, at_ms: int) -> str | None:
        """End a run whose row is damaged; returns its session, or None when it had ended."""
        statement = (
            sa.update(runs)
            .where(runs.c.run_id == run_id, runs.c.finished_at_ms.is_(None))
            .values(
                status=str(status),
                attempt=runs.c.attempt + 1,
                updated_at_ms=at_ms,
                finished_at_ms=at_ms,
                state={"error": reason},
            )
            .returning(runs.c.session_id)
        )
        return self._connection.execute(statement).scalar()

    def owns(self, run_id: str, attempt: int) -> bool:
        """Whether `attempt` is the current execution; locks the row until the unit ends."""
        values = {"owned": run_id, "by": attempt}
        row = self._connection.execute(self._dialect.locked(_OWNED), values).first()
        if row is not None:
            self._taints[run_id] = row.taints
        return row is not None

    def is_current(self, run_id: str, attempt: int) -> bool:
        """Whether `attempt` is the current execution, which stays so until the unit ends.

        The row is not locked, so this may come before any other lock.
        """
        self._dialect.lock_execution(self._connection, run_id, alone=False)
        values = {"owned": run_id, "by": attempt}
        return self._connection.execute(_OWNED, values).first() is not None

    def page(
        self,
        request: PageRequest,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        statuses: Sequence[RunStatus] = (),
    ) -> Page[Run]:
        """Runs, newest first."""
        query = _narrowed(_RUNS, session_id=session_id, agent_id=agent_id)
        if statuses:
            query = query.where(runs.c.status.in_(statuses))
        return select_page(
            self._connection,
            query,
            request,
            by=(runs.c.submitted_at_ms, runs.c.run_id),
            read=_read,
            descending=True,
        )

    def queued_positions(self, session_ids: Sequence[str]) -> dict[str, int]:
        """Place in line of every queued run of some sessions, from 1."""
        positions: dict[str, int] = {}
        in_line: dict[str, int] = {}
        for run_id, session_id in self._connection.execute(_QUEUED, {"of": list(session_ids)}):
            in_line[session_id] = positions[run_id] = in_line.get(session_id, 0) + 1
        return positions

    def current(self, session_id: str) -> Run | None:
        """The run of a session that is running or waiting."""
        query = (
            _RUNS.where(runs.c.session_id == session_id, runs.c.finished_at_ms.is_(None))
            .where(runs.c.status.in_(ACTIVE))
            .order_by(runs.c.accepted_offset)
            .limit(1)
        )
        row = self._connection.execute(query).first()
        return None if row is None else _read(row)

    def submitted_in(
        self, session_ids: Sequence[str], *, from_ms: int, until_ms: int | None
    ) -> tuple[Run, ...]:
        """The runs of some sessions that were submitted between two times, oldest first."""
        query = _RUNS.where(runs.c.session_id.in_(session_ids), runs.c.submitted_at_ms >= from_ms)
        if until_ms is not None:
            query = query.where(runs.c.submitted_at_ms <= until_ms)
        found = self._connection.execute(query.order_by(runs.c.submitted_at_ms, runs.c.run_id))
        return tuple(readable(found.all(), _read))

    def newest_at_ms(self, session_id: str) -> int | None:
        """When the newest run of a session was submitted; None if it has no run."""
        query = sa.select(sa.func.max(runs.c.submitted_at_ms))
        newest: int | None = self._connection.execute(
            query.where(runs.c.session_id == session_id)
        ).scalar()
        return newest

    def first_in_line(self, session_id: str) -> str | None:
        """The oldest run of a session that has not ended."""
        return self._connection.execute(_FIRST_IN_LINE, {"of": session_id}).scalar()

    def unfinished_in(self, session_id: str) -> int:
        """How many runs of a session have not ended."""
        query = (
            sa.select(sa.func.count())
            .select_from(runs)
            .where(runs.c.session_id == session_id, runs.c.finished_at_ms.is_(None))
        )
        return self._connection.execute(query).scalar_one()

    def awake(self) -> dict[str, str]:
        """Runs that somebody should be working on, by work id, oldest first.

        They have not ended and are not asleep, and have begun or are the first of their session.
        """
        query = (
            sa.select(runs.c.run_id, runs.c.wakes)
            .where(runs.c.finished_at_ms.is_(None), runs.c.asleep.is_(False))
            .where((runs.c.status != RunStatus.QUEUED) | _IS_FIRST)
            .order_by(runs.c.submitted_at_ms, runs.c.run_id)
        )
        return {work_id(run_id, wakes): run_id for run_id, wakes in self._connection.execute(query)}

    def next_of_user(self, run_id: str, most: int | None) -> tuple[tuple[str, bool], ...]:
        """The queued runs of a run's user that may begin while at most `most` are in flight.

        Oldest first, each with whether it sleeps. All daemons find the same ones, so those that begin
        at the same time do not exceed the limit.
        """
        values = {"of": run_id, "most": MANY if most is None else most}
        found = self._connection.execute(_NEXT_OF_USER, values).all()
        if found and most is not None:
            found = found[: max(most - found[0].in_flight, 0)]
        return tuple((row.run_id, bool(row.asleep)) for row in found)

    def left_in_line(self) -> tuple[str, ...]:
        """Of each user one queued run that sleeps although it is the first of its session."""
        query = (
            sa.select(sa.func.min(runs.c.run_id))
            .where(runs.c.finished_at_ms.is_(None), runs.c.asleep.is_(True))
            .where(runs.c.status == RunStatus.QUEUED, _IS_FIRST)
            .group_by(runs.c.user_id)
        )
        return tuple(self._connection.execute(query).scalars())

    def stop_requests(self, run_ids: Sequence[str]) -> dict[str, StopRequest]:
        """The stop requests of these runs."""
        query = sa.select(runs.c.run_id, runs.c.stop_request).where(
            runs.c.run_id.in_(run_ids), runs.c.stop_request.is_not(None)
        )
        return {run_id: StopRequest(how) for run_id, how in self._connection.execute(query)}

    def park(self, run_ids: Sequence[str]) -> None:
        """Mark these runs as interrupted by an orderly shutdown, not by a crash."""
        self._connection.execute(
            sa.update(runs)
            .where(runs.c.run_id.in_(run_ids), runs.c.finished_at_ms.is_(None))
            .values(parked=True)
        )

    def counts(
        self, *, session_id: str | None = None, agent_id: str | None = None
    ) -> Mapping[RunStatus, int]:
        """How many runs have each status."""
        query = sa.select(runs.c.status, sa.func.count()).group_by(runs.c.status)
        query = _narrowed(query, session_id=session_id, agent_id=agent_id)
        return {RunStatus(status): count for status, count in self._connection.execute(query)}

    def has_other_users(self, agent_id: str, user_id: str) -> bool:
        """Whether an agent has worked for anybody but this user."""
        others = sa.exists().where(runs.c.agent_id == agent_id, runs.c.user_id != user_id)
        return bool(self._connection.execute(sa.select(others)).scalar())

    def follows_tainted(self, run: Run) -> bool:
        """Whether an earlier run of the session has read untrusted text, which this one may repeat."""
        values = {"session": run.session_id, "accepted": run.accepted_offset}
        return bool(self._connection.execute(_FOLLOWS_TAINTED, values).scalar())


def _narrowed(
    query: sa.Select[Any], *, session_id: str | None, agent_id: str | None
) -> sa.Select[Any]:
    if session_id is not None:
        query = query.where(runs.c.session_id == session_id)
    return query if agent_id is None else query.where(runs.c.agent_id == agent_id)


# Without the snapshot, which can be long and which only the executor needs.
_RUNS = sa.select(*(it for it in runs.c if it.name not in ("snapshot", "taints")))
# Built once: they run often.
_RUN = _RUNS.where(runs.c.run_id == sa.bindparam("wanted"))
_SNAPSHOT = sa.select(runs.c.run_id, runs.c.snapshot).where(runs.c.run_id == sa.bindparam("of"))
_TAINTS = sa.select(runs.c.taints).where(runs.c.run_id == sa.bindparam("of"))
_ADD = sa.insert(runs)
_UPDATE = sa.update(runs).where(runs.c.run_id == sa.bindparam("of"))
_QUEUED = (
    sa.select(runs.c.run_id, runs.c.session_id)
    .where(runs.c.session_id.in_(sa.bindparam("of", expanding=True)))
    .where(runs.c.status == RunStatus.QUEUED, runs.c.finished_at_ms.is_(None))
    .order_by(runs.c.accepted_offset)
)
_FIRST_IN_LINE = (
    sa.select(runs.c.run_id)
    .where(runs.c.session_id == sa.bindparam("of"), runs.c.finished_at_ms.is_(None))
    .order_by(runs.c.accepted_offset)
    .limit(1)
)
_ahead = runs.alias("ahead")
_IS_FIRST = ~sa.exists().where(
    _ahead.c.session_id == runs.c.session_id,
    _ahead.c.finished_at_ms.is_(None),
    _ahead.c.accepted_offset < runs.c.accepted_offset,
)
_whose, _busy = runs.alias("whose"), runs.alias("busy")
_USER = sa.select(_whose.c.user_id).where(_whose.c.run_id == sa.bindparam("of")).scalar_subquery()
# Runs that wait are asleep, for people as for a sidechain.
_IN_FLIGHT = (
    sa.select(sa.func.count())
    .where(_busy.c.user_id == _USER, _busy.c.finished_at_ms.is_(None))
    .where(_busy.c.status == RunStatus.RUNNING, _busy.c.asleep.is_(False))
    .scalar_subquery()
)
_NEXT_OF_USER = (
    sa.select(runs.c.run_id, runs.c.asleep, _IN_FLIGHT.label("in_flight"))
    .where(runs.c.user_id == _USER, runs.c.finished_at_ms.is_(None))
    .where(runs.c.status == RunStatus.QUEUED, _IS_FIRST)
    .order_by(runs.c.submitted_at_ms, runs.c.run_id)
    .limit(sa.bindparam("most", type_=sa.BigInteger))
)
_RUN_IN_LINE = _RUN.add_columns(
    sa.select(_ahead.c.run_id)
    .where(_ahead.c.session_id == runs.c.session_id, _ahead.c.finished_at_ms.is_(None))
    .order_by(_ahead.c.accepted_offset)
    .limit(1)
    .scalar_subquery()
    .label("first_in_line")
)
_OWNED = sa.select(runs.c.taints).where(
    runs.c.run_id == sa.bindparam("owned"),
    runs.c.attempt == sa.bindparam("by"),
    runs.c.finished_at_ms.is_(None),
)
_FOLLOWS_TAINTED = sa.select(
    sa.exists().where(
        BRINGS_OTHERS_IN,
        runs.c.session_id == sa.bindparam("session"),
        runs.c.accepted_offset < sa.bindparam("accepted"),
    )
)


# State beyond the columns.
_STATE: Final = ("error", "usage", "deliveries", "crashes", "progress", "nudged")
_CHANGING: Final = (
    "status",
    "stop_request",
    "parked",
    "asleep",
    "wakes",
    "attempt",
    "updated_at_ms",
    "started_at_ms",
    "finished_at_ms",
    "state",
)


def _row(run: Run) -> dict[str, Any]:
    return to_row(run, runs, state=_STATE)


def _read(row: Any) -> Run:
    return from_row(row, Run)


# The reports are stored beside the other fields of a snapshot.
_REPORTS: Final = ("memory", "skills", "evolution")


def _snapshot_json(snapshot: RunSnapshot) -> dict[str, Any]:
    fields = plain(snapshot)
    reports = fields.pop("reports")
    return {**fields, **_given(reports)}


def _snapshot(row: Any) -> RunSnapshot:
    stored = _stored_snapshot(row)
    reports = {name: stored[name] for name in _REPORTS if isinstance(stored.get(name), dict)}
    # A report decides nothing: a run continues without a damaged one.
    known = {**stored, "withheld": stored.get("withheld") or [], "reports": reports}
    return parsed_strictly(RunSnapshot, known)


def _reports_json(reports: RunReports) -> dict[str, Any]:
    return _given(plain(reports))


def _given(reports: Mapping[str, Any]) -> dict[str, Any]:
    return {name: report for name, report in reports.items() if report is not None}


def _reports(row: Any) -> RunReports:
    found = {name: _stored_snapshot(row).get(name) for name in _REPORTS}
    return RunReports(**{name: it for name, it in found.items() if isinstance(it, dict)})


def _stored_snapshot(row: Any) -> dict[str, Any]:
    snapshot = optional_object(row.snapshot)
    if snapshot is None:
        raise TypeError("missing")
    return snapshot
