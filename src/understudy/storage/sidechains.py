"""The stores of sidechains, of signals between their runs, and of tasks."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from understudy.core.page import Page, PageRequest
from understudy.runs.requests import Audience, RequestState
from understudy.runs.sleep import Signal, SignalKind
from understudy.sessions.model import SessionStatus, Sidechain, Spawn
from understudy.sessions.tasks import Task
from understudy.storage.rows import select_page
from understudy.storage.schema import requests, runs, sessions, sidechains, signals, tasks
from understudy.storage.sessions import read_session
from understudy.storage.table import Table
from understudy.storage.visible_connection import VisibleConnection


class SidechainStore:
    """Parents and children of sessions, and their unfinished runs."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def add(self, spawn: Spawn) -> None:
        """Insert the record of a sidechain."""
        values = {
            "session_id": spawn.session_id,
            "run_id": spawn.run_id,
            "first_run_id": spawn.first_run_id,
            "label": spawn.label,
            "created_at_ms": spawn.created_at_ms,
        }
        self._connection.execute(sa.insert(sidechains).values(values))

    def spawn_of(self, session_id: str) -> Spawn | None:
        """The record of a sidechain, if a run spawned it."""
        query = sa.select(sidechains).where(sidechains.c.session_id == session_id)
        row = self._connection.execute(query).first()
        return None if row is None else _spawn(row)

    def page(self, parent_session_id: str, request: PageRequest) -> Page[Sidechain]:
        """The children of a session, oldest first."""
        page = select_page(
            self._connection,
            sa.select(sessions).where(sessions.c.parent_session_id == parent_session_id),
            request,
            by=(sessions.c.created_at_ms, sessions.c.session_id),
            read=read_session,
        )
        ids = [session.session_id for session in page.items]
        query = sa.select(sidechains).where(sidechains.c.session_id.in_(ids))
        spawns = {row.session_id: _spawn(row) for row in self._connection.execute(query)}
        return Page(
            items=tuple(
                Sidechain(session=session, spawn=spawns.get(session.session_id))
                for session in page.items
            ),
            next_cursor=page.next_cursor,
        )

    def depth(self, session_id: str) -> int:
        """The number of ancestors of a session."""
        return int(self._connection.execute(_DEPTH, {"below": session_id}).scalar_one())

    def parent_of(self, session_id: str) -> str | None:
        """The parent of a session."""
        return self._connection.execute(_PARENT, {"child": session_id}).scalar()

    def root_of(self, session_id: str) -> str:
        """The topmost ancestor of a session; itself without a parent."""
        found = self._connection.execute(_ROOT, {"below": session_id}).scalar()
        return session_id if found is None else str(found)

    def count_live(self, parent_session_id: str) -> int:
        """The number of children of a session with an unfinished run."""
        query = (
            sa.select(sa.func.count())
            .select_from(sessions)
            .where(sessions.c.parent_session_id == parent_session_id)
            .where(sa.exists().where(runs.c.session_id == sessions.c.session_id, _UNFINISHED))
        )
        return self._connection.execute(query).scalar_one()

    def live_among(self, session_ids: Sequence[str]) -> frozenset[str]:
        """The sessions among these with an unfinished run."""
        query = sa.select(runs.c.session_id).where(runs.c.session_id.in_(session_ids), _UNFINISHED)
        return frozenset(self._all(query))

    def spawned_by(self, *run_ids: str) -> tuple[str, ...]:
        """The sidechains that some runs spawned."""
        query = (
            sa.select(sidechains.c.session_id)
            .where(sidechains.c.run_id.in_(run_ids))
            .order_by(sidechains.c.created_at_ms, sidechains.c.session_id)
        )
        return self._all(query)

    def below(self, session_id: str) -> tuple[str, ...]:
        """Every descendant of a session that has not ended, by id."""
        found = (
            sa.select(sessions.c.session_id, sessions.c.status)
            .where(sessions.c.parent_session_id == session_id)
            .cte("found", recursive=True)
        )
        deeper = sa.select(sessions.c.session_id, sessions.c.status).where(
            sessions.c.parent_session_id == found.c.session_id
        )
        every = found.union(deeper)
        query = (
            sa.select(every.c.session_id)
            .where(every.c.status == SessionStatus.ACTIVE)
            .order_by(every.c.session_id)
        )
        return self._all(query)

    def unfinished_runs(self, session_ids: Sequence[str]) -> tuple[str, ...]:
        """The unfinished runs of some sessions, in queue order."""
        query = (
            sa.select(runs.c.run_id)
            .where(runs.c.session_id.in_(session_ids), _UNFINISHED)
            .order_by(runs.c.session_id, runs.c.accepted_offset)
        )
        return self._all(query)

    def latest_runs(self, session_ids: Sequence[str]) -> dict[str, str]:
        """The newest run of each of these sessions that has one."""
        newest = (
            sa.select(runs.c.session_id, sa.func.max(runs.c.accepted_offset).label("newest"))
            .where(runs.c.session_id.in_(session_ids))
            .group_by(runs.c.session_id)
            .subquery()
        )
        query = sa.select(runs.c.session_id, runs.c.run_id).join(
            newest,
            sa.and_(
                newest.c.session_id == runs.c.session_id, newest.c.newest == runs.c.accepted_offset
            ),
        )
        return {row.session_id: row.run_id for row in self._connection.execute(query)}

    def questions_for(self, parent_session_id: str) -> tuple[str, ...]:
        """The pending questions of a session's children to it, oldest first."""
        query = (
            sa.select(requests.c.request_id)
            .join(sessions, sessions.c.session_id == requests.c.session_id)
            .where(sessions.c.parent_session_id == parent_session_id)
            .where(requests.c.audience == Audience.PARENT)
            .where(requests.c.state == RequestState.PENDING)
            .order_by(requests.c.created_at_ms, requests.c.request_id)
        )
        return self._all(query)

    def _all(self, query: sa.Select[Any]) -> tuple[str, ...]:
        return tuple(self._connection.execute(query).scalars())


class SignalStore:
    """Signals in a table, deleted once they are handled."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def add(
        self, kind: SignalKind, target: str, *, at_ms: int, due_at_ms: int | None = None
    ) -> None:
        """Insert a signal; with `due_at_ms`, it is not due before."""
        values = {
            "kind": str(kind),
            "target": target,
            "created_at_ms": at_ms,
            "due_at_ms": due_at_ms,
        }
        self._connection.execute(sa.insert(signals).values(values))

    def waiting(self, *, now_ms: int, limit: int) -> tuple[Signal, ...]:
        """The oldest due signals."""
        is_due = sa.or_(signals.c.due_at_ms.is_(None), signals.c.due_at_ms <= now_ms)
        query = sa.select(signals).where(is_due).order_by(signals.c.number).limit(limit)
        return tuple(
            Signal(number=row.number, kind=SignalKind(row.kind), target=row.target)
            for row in self._connection.execute(query)
        )

    def next_due_ms(self) -> int | None:
        """When the next delayed signal is due."""
        return self._connection.execute(sa.select(sa.func.min(signals.c.due_at_ms))).scalar()

    def remove(self, number: int) -> None:
        """Delete a handled signal."""
        self._connection.execute(sa.delete(signals).where(signals.c.number == number))


_UNFINISHED = runs.c.finished_at_ms.is_(None)
# Built once: it runs at the end of every run.
_PARENT = sa.select(sessions.c.parent_session_id).where(
    sessions.c.session_id == sa.bindparam("child")
)


def _depth_query() -> sa.Select[Any]:
    above = (
        sa.select(sessions.c.parent_session_id)
        .where(sessions.c.session_id == sa.bindparam("below"))
        .cte("above", recursive=True)
    )
    higher = sa.select(sessions.c.parent_session_id).where(
        sessions.c.session_id == above.c.parent_session_id
    )
    every = above.union(higher)
    return (
        sa.select(sa.func.count()).select_from(every).where(every.c.parent_session_id.is_not(None))
    )


_DEPTH = _depth_query()


def _root_query() -> sa.Select[Any]:
    columns = (sessions.c.session_id, sessions.c.parent_session_id)
    above = (
        sa.select(*columns)
        .where(sessions.c.session_id == sa.bindparam("below"))
        .cte("family", recursive=True)
    )
    higher = sa.select(*columns).where(sessions.c.session_id == above.c.parent_session_id)
    every = above.union(higher)
    return sa.select(every.c.session_id).where(every.c.parent_session_id.is_(None))


_ROOT = _root_query()


def _spawn(row: Any) -> Spawn:
    return Spawn(
        session_id=row.session_id,
        run_id=row.run_id,
        first_run_id=row.first_run_id,
        label=row.label if isinstance(row.label, str) else None,
        created_at_ms=row.created_at_ms,
    )


class TaskStore(Table[Task]):
    """Tasks of sessions."""

    table = tasks
    kind = Task

    def all(self, session_id: str) -> tuple[Task, ...]:
        """The tasks of a session by number; damaged ones are left out."""
        return self._many(self._select(session_id=session_id).order_by(tasks.c.number))

    def count(self, session_id: str) -> int:
        """How many tasks a session has."""
        query = sa.select(sa.func.count()).where(tasks.c.session_id == session_id)
        return self._connection.execute(query).scalar_one()

    def of_call(self, call_digest: str) -> Task | None:
        """The task that a tool call created."""
        return self._one(self._select(call_digest=call_digest))

    def of_runs(self, run_ids: Sequence[str]) -> tuple[Task, ...]:
        """The tasks that some runs created, oldest first."""
        query = self._select(tasks.c.run_id.in_(run_ids))
        return self._many(query.order_by(tasks.c.created_at_ms, tasks.c.task_id))
