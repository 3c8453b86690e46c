"""The store of background tasks and their output."""

from collections.abc import Collection

import sqlalchemy as sa

from understudy.background_tasks.model import (
    HEAD_CHARS,
    TAIL_CHARS,
    BackgroundStatus,
    BackgroundTask,
    OutputPiece,
)
from understudy.core.page import Page, PageRequest
from understudy.sessions.model import SessionStatus
from understudy.storage.rows import insert_into
from understudy.storage.schema import background_output, background_tasks, runs, sessions
from understudy.storage.table import Table

_RUNNING = background_tasks.c.ended_at_ms.is_(None)


class BackgroundTaskStore(Table[BackgroundTask]):
    """Background tasks in a table, and their output in another, in pieces."""

    table = background_tasks
    kind = BackgroundTask
    order = ("created_at_ms", "task_id")
    newest_first = True

    def page(
        self,
        request: PageRequest,
        *,
        session_id: str | None = None,
        run_id: str | None = None,
        status: BackgroundStatus | None = None,
    ) -> Page[BackgroundTask]:
        """Tasks, newest first."""
        return self._page(
            request, self._select(session_id=session_id, run_id=run_id, status=status)
        )

    def running(self, session_id: str | None = None) -> int:
        """How many tasks run now, in a session or in all."""
        query = sa.select(sa.func.count()).select_from(background_tasks).where(_RUNNING)
        if session_id is not None:
            query = query.where(background_tasks.c.session_id == session_id)
        return int(self._connection.execute(query).scalar() or 0)

    def of_holder(self, holder: str) -> tuple[BackgroundTask, ...]:
        """The running tasks whose lease a daemon holds."""
        return self._many(self._select(_RUNNING, _is_held_by(holder)))

    def given_up(self, holder: str, *, now_ms: int) -> tuple[str, ...]:
        """The running tasks of other daemons whose lease has expired, by id."""
        query = sa.select(background_tasks.c.task_id).where(
            _RUNNING, sa.not_(_is_held_by(holder)), background_tasks.c.lease_until_ms < now_ms
        )
        return tuple(self._connection.execute(query).scalars())

    def renew(self, holder: str, *, until_ms: int) -> None:
        """Extend the leases of a daemon's tasks."""
        self._connection.execute(
            sa.update(background_tasks)
            .where(_RUNNING, _is_held_by(holder))
            .values(lease_until_ms=until_ms)
        )

    def of_ended_sessions(self) -> tuple[str, ...]:
        """Tasks that still run although their session has ended, by id."""
        query = (
            sa.select(background_tasks.c.task_id)
            .join(sessions, sessions.c.session_id == background_tasks.c.session_id)
            .where(_RUNNING, sessions.c.status == str(SessionStatus.ENDED))
        )
        return tuple(self._connection.execute(query).scalars())

    def untold(self) -> tuple[str, ...]:
        """Ended tasks whose agent is not yet notified and idle, by id."""
        c = background_tasks.c
        is_busy = sa.exists().where(
            runs.c.session_id == c.session_id, runs.c.finished_at_ms.is_(None)
        )
        query = sa.select(c.task_id).where(sa.text("needs_notice"), ~is_busy)
        return tuple(self._connection.execute(query.order_by(c.ended_at_ms)).scalars())

    def mark_heard(self, task_ids: Collection[str]) -> None:
        """Note that the agent was notified of the end of these tasks."""
        self._connection.execute(
            sa.update(background_tasks)
            .where(background_tasks.c.task_id.in_(task_ids), sa.text("needs_notice"))
            .values(needs_notice=False)
        )

    def append(self, task_id: str, piece: OutputPiece) -> None:
        """Append output, and drop the middle beyond the limits of head and tail."""
        row = {
            "task_id": task_id,
            "start": piece.start,
            "size": len(piece.text),
            "text": piece.text,
        }
        insert = insert_into(self._connection, background_output).values(row)
        self._connection.execute(insert.on_conflict_do_nothing())
        output = background_output.c
        self._connection.execute(
            sa.delete(background_output).where(
                output.task_id == task_id,
                output.start >= HEAD_CHARS,
                output.start + output.size <= piece.end - TAIL_CHARS,
            )
        )

    def output(self, task_id: str, *, offset: int = 0) -> tuple[OutputPiece, ...]:
        """The stored output from an offset on, in order."""
        output = background_output.c
        query = (
            sa.select(output.start, output.text)
            .where(output.task_id == task_id, output.start + output.size > offset)
            .order_by(output.start)
        )
        return tuple(
            OutputPiece(start=row.start, text=row.text) for row in self._connection.execute(query)
        )

    def replace_output(self, task_id: str, pieces: Collection[OutputPiece]) -> None:
        """Replace the stored output."""
        gone = sa.delete(background_output).where(background_output.c.task_id == task_id)
        self._connection.execute(gone)
        for piece in pieces:
            self.append(task_id, piece)


def _is_held_by(holder: str) -> sa.ColumnElement[bool]:
    return background_tasks.c.holder == holder
