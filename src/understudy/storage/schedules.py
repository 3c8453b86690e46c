"""The store of schedules and their executions."""

from collections.abc import Sequence
from functools import partial

import sqlalchemy as sa

from understudy.core.page import Page, PageRequest
from understudy.runs.model import RunStatus
from understudy.schedules.model import (
    OPEN,
    Schedule,
    ScheduleExecution,
    ScheduleStatus,
)
from understudy.storage.rows import from_row, select_page, to_row
from understudy.storage.schema import runs, schedule_executions, schedules
from understudy.storage.table import Table

_FIRES = schedule_executions.c


class ScheduleStore(Table[Schedule]):
    """Schedules by id, and their executions."""

    table = schedules
    kind = Schedule
    order = ("created_at_ms", "schedule_id")
    newest_first = True
    fixed = frozenset({"cadence", "request"})

    def cancel_unread(self, schedule_id: str, *, reason: str, at_ms: int) -> None:
        """Cancel a damaged schedule without reading it."""
        self._connection.execute(
            sa.update(schedules)
            .where(schedules.c.schedule_id == schedule_id)
            .values(
                status=str(ScheduleStatus.CANCELED),
                ended_reason=reason,
                next_fire_at_ms=None,
                due_at_ms=None,
                updated_at_ms=at_ms,
            )
        )

    def page(
        self,
        request: PageRequest,
        *,
        session_id: str | None = None,
        statuses: Sequence[ScheduleStatus] = (),
    ) -> Page[Schedule]:
        """Schedules, newest first."""
        query = self._select(target_session_id=session_id)
        if statuses:
            query = query.where(schedules.c.status.in_(statuses))
        return self._page(request, query)

    def open_of(self, owner_id: str) -> int:
        """The number of open schedules of an owner; no other unit adds one until this one ends."""
        theirs = sa.and_(schedules.c.owner_id == owner_id, schedules.c.status.in_(OPEN))
        # Locks the oldest row, so that two concurrent counts cannot both find room below the limit.
        oldest = sa.select(schedules.c.schedule_id).where(theirs)
        oldest = oldest.order_by(schedules.c.created_at_ms, schedules.c.schedule_id).limit(1)
        self._connection.execute(self._dialect.locked(oldest)).all()
        counted = sa.select(sa.func.count()).select_from(schedules).where(theirs)
        return self._connection.execute(counted).scalar_one()

    def is_any_changed_after(self, at_ms: int) -> bool:
        """Whether an open schedule was planned or changed after a time, so by a clock ahead of it."""
        query = sa.select(schedules.c.schedule_id).where(
            schedules.c.status.in_(OPEN), schedules.c.updated_at_ms > at_ms
        )
        return self._connection.execute(query.limit(1)).first() is not None

    def next_due_ms(self) -> int | None:
        """When the next schedule is due."""
        return self._connection.execute(_NEXT_DUE).scalar()

    def claim_due(self, now_ms: int) -> str | None:
        """A due schedule whose row is free; the row is locked until the unit ends."""
        claimed = self._dialect.locked_if_free(_DUE)
        return self._connection.execute(claimed, {"now_ms": now_ms}).scalar()

    def of_runs(self, run_ids: Sequence[str]) -> tuple[str, ...]:
        """The schedules that some runs come from."""
        if not run_ids:
            return ()
        query = sa.select(_FIRES.schedule_id).where(_FIRES.run_id.in_(run_ids)).distinct()
        return tuple(self._connection.execute(query.order_by(_FIRES.schedule_id)).scalars())

    def unfinished(self, schedule_id: str) -> tuple[RunStatus, ...]:
        """The status of the unfinished runs of a schedule, oldest first."""
        query = (
            sa.select(runs.c.status)
            .join(schedule_executions, _FIRES.run_id == runs.c.run_id)
            .where(_FIRES.schedule_id == schedule_id, runs.c.finished_at_ms.is_(None))
            .order_by(_FIRES.number)
        )
        return tuple(RunStatus(status) for status in self._connection.execute(query).scalars())

    def record(self, execution: ScheduleExecution, *, keep: int) -> None:
        """Insert or update an execution, and prune ended ones beyond the newest `keep`."""
        values = to_row(execution, schedule_executions)
        replaced = self._connection.execute(
            sa.update(schedule_executions)
            .where(_FIRES.execution_id == execution.execution_id)
            .values(values)
        )
        if replaced.rowcount == 0:
            self._connection.execute(sa.insert(schedule_executions).values(values))
        self._forget(execution.schedule_id, keep)

    def has_execution_for(self, schedule_id: str, scheduled_for_ms: int) -> bool:
        """Whether a stored execution was scheduled for that time."""
        query = sa.select(_FIRES.number).where(
            _FIRES.schedule_id == schedule_id, _FIRES.scheduled_for_ms == scheduled_for_ms
        )
        return self._connection.execute(query.limit(1)).first() is not None

    def executions(self, schedule_id: str, request: PageRequest) -> Page[ScheduleExecution]:
        """The executions of a schedule, newest first."""
        return select_page(
            self._connection,
            sa.select(schedule_executions).where(_FIRES.schedule_id == schedule_id),
            request,
            by=(_FIRES.number,),
            read=partial(from_row, kind=ScheduleExecution),
            descending=True,
        )

    def _forget(self, schedule_id: str, keep: int) -> None:
        """Delete old executions; the overlap policy still needs those with unfinished runs."""
        newest_first = sa.select(_FIRES.number).where(_FIRES.schedule_id == schedule_id)
        newest_first = newest_first.order_by(_FIRES.number.desc()).offset(keep).limit(1)
        last = self._connection.execute(newest_first).scalar()
        if last is None:
            return
        goes_on = sa.exists().where(runs.c.run_id == _FIRES.run_id, runs.c.finished_at_ms.is_(None))
        self._connection.execute(
            sa.delete(schedule_executions).where(
                _FIRES.schedule_id == schedule_id, _FIRES.number <= last, ~goes_on
            )
        )


# Built once: they run every second.
_NEXT_DUE = sa.select(sa.func.min(schedules.c.due_at_ms)).where(schedules.c.due_at_ms.is_not(None))
_DUE = (
    sa.select(schedules.c.schedule_id)
    .where(schedules.c.due_at_ms.is_not(None), schedules.c.due_at_ms <= sa.bindparam("now_ms"))
    .order_by(schedules.c.due_at_ms)
    .limit(1)
)
