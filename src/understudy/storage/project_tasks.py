"""The store of project tasks."""

from collections.abc import Sequence

import sqlalchemy as sa

from understudy.project_tasks.model import ENDED, ProjectTask
from understudy.runs.model import RunStatus
from understudy.storage.schema import project_tasks, runs
from understudy.storage.table import Table


class ProjectTaskStore(Table[ProjectTask]):
    """Tasks of projects in a table, by project and task id."""

    table = project_tasks
    kind = ProjectTask

    def of_call(self, call_digest: str) -> ProjectTask | None:
        """The task that a tool call created."""
        return self._one(self._select(call_digest=call_digest))

    def all(self, project_id: str) -> tuple[ProjectTask, ...]:
        """The tasks of a project in order of creation; damaged ones are left out."""
        query = self._select(project_id=project_id)
        return self._many(
            query.order_by(project_tasks.c.created_at_ms, project_tasks.c.project_task_id)
        )

    def of_run(self, run_id: str) -> tuple[ProjectTask, ...]:
        """The tasks that a run carries out, their rows locked until the unit ends."""
        return self._many(_OF_RUN, {"by": run_id}, lock=True)

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
        return self._many(
            self._select(
                project_tasks.c.latest_run_id.is_not(None),
                project_tasks.c.status.not_in(ENDED),
                ~is_there,
            )
        )


# Built once: it runs at the end of every run.
_OF_RUN = sa.select(project_tasks).where(
    project_tasks.c.latest_run_id == sa.bindparam("by"), sa.text("latest_run_id IS NOT NULL")
)
