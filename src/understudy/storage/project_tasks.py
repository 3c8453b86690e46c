"""The store of project tasks."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa

from understudy.project_tasks.model import ENDED, ProjectTask
from understudy.runs.model import RunStatus
from understudy.storage.engine import Dialect
from understudy.storage.rows import from_row, insert_new, readable, replace_version, to_row
from understudy.storage.schema import project_tasks, runs
from understudy.storage.visible_connection import VisibleConnection


class ProjectTaskStore:
    """Tasks of projects in a table."""

    def __init__(self, connection: VisibleConnection, dialect: Dialect) -> None:
        self._connection = connection
        self._dialect = dialect

    def get(self, project_id: str, task_id: str, *, lock: bool = False) -> ProjectTask | None:
        """One task; `lock` locks its row until the unit ends."""
        query = sa.select(project_tasks).where(_is(project_id, task_id))
        return self._one(self._dialect.locked(query) if lock else query)

    def of_call(self, call_digest: str) -> ProjectTask | None:
        """The task that a tool call created."""
        return self._one(sa.select(project_tasks).where(project_tasks.c.call_digest == call_digest))

    def all(self, project_id: str) -> tuple[ProjectTask, ...]:
        """The tasks of a project in order of creation; damaged ones are left out."""
        query = (
            sa.select(project_tasks)
            .where(project_tasks.c.project_id == project_id)
            .order_by(project_tasks.c.created_at_ms, project_tasks.c.project_task_id)
        )
        return self._many(query)

    def of_run(self, run_id: str) -> tuple[ProjectTask, ...]:
        """The tasks that a run carries out, their rows locked until the unit ends."""
        found = self._connection.execute(self._dialect.locked(_OF_RUN), {"by": run_id}).all()
        return tuple(readable(found, partial(from_row, kind=ProjectTask)))

    def live_runs(self, project_id: str) -> dict[str, RunStatus]:
        """The unfinished runs of a project's tasks, with their status."""
        query = (
            sa.select(runs.c.run_id, runs.c.status)
            .join(project_tasks, project_tasks.c.latest_run_id == runs.c.run_id)
            .where(project_tasks.c.project_id == project_id, runs.c.finished_at_ms.is_(None))
        )
        return {row.run_id: RunStatus(row.status) for row in self._connection.execute(query)}

    def counts(self, project_ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        """The number of tasks of some projects, and how many are open."""
        is_open = sa.case((project_tasks.c.status.in_(ENDED), 0), else_=1)
        query = (
            sa.select(project_tasks.c.project_id, sa.func.count(), sa.func.sum(is_open))
            .where(project_tasks.c.project_id.in_(project_ids))
            .group_by(project_tasks.c.project_id)
        )
        return {row[0]: (int(row[1]), int(row[2])) for row in self._connection.execute(query)}

    def open_of(self, project_id: str, member_id: str) -> tuple[str, ...]:
        """The open tasks of a member, by id."""
        query = (
            sa.select(project_tasks.c.project_task_id)
            .where(
                project_tasks.c.project_id == project_id,
                project_tasks.c.assignee_member_id == member_id,
                project_tasks.c.status.not_in(ENDED),
            )
            .order_by(project_tasks.c.project_task_id)
        )
        return tuple(self._connection.execute(query).scalars())

    def open_in(self, project_id: str, channel_id: str) -> tuple[str, ...]:
        """The open tasks that link a channel, by id."""
        return tuple(
            task.project_task_id
            for task in self.all(project_id)
            if task.status not in ENDED
            and task.discussion is not None
            and task.discussion.channel_id == channel_id
        )

    def orphans(self) -> tuple[ProjectTask, ...]:
        """Open tasks whose run was deleted."""
        is_there = sa.exists().where(runs.c.run_id == project_tasks.c.latest_run_id)
        query = sa.select(project_tasks).where(
            project_tasks.c.latest_run_id.is_not(None),
            project_tasks.c.status.not_in(ENDED),
            ~is_there,
        )
        return self._many(query)

    def add(self, task: ProjectTask) -> bool:
        """Store a new task; False when its id is taken."""
        return insert_new(self._connection, project_tasks, to_row(task, project_tasks))

    def update(self, task: ProjectTask, *, expected_version: int) -> None:
        """Replace a task; raises `StaleVersion` when it changed meanwhile."""
        replace_version(
            self._connection,
            project_tasks,
            _is(task.project_id, task.project_task_id),
            to_row(task, project_tasks),
            expected_version=expected_version,
        )

    def delete(self, project_id: str, task_id: str) -> None:
        """Remove a task."""
        self._connection.execute(sa.delete(project_tasks).where(_is(project_id, task_id)))

    def _one(self, query: sa.Select[Any]) -> ProjectTask | None:
        row = self._connection.execute(query).first()
        return None if row is None else from_row(row, ProjectTask)

    def _many(self, query: sa.Select[Any]) -> tuple[ProjectTask, ...]:
        found = self._connection.execute(query).all()
        return tuple(readable(found, partial(from_row, kind=ProjectTask)))


def _is(project_id: str, task_id: str) -> sa.ColumnElement[bool]:
    return sa.and_(
        project_tasks.c.project_id == project_id, project_tasks.c.project_task_id == task_id
    )


# Built once: it runs at the end of every run.
_OF_RUN = sa.select(project_tasks).where(
    project_tasks.c.latest_run_id == sa.bindparam("by"), sa.text("latest_run_id IS NOT NULL")
)
