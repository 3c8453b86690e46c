"""The task store."""

from typing import Any

import sqlalchemy as sa

from understudy.sessions.tasks import Task, TaskStatus
from understudy.storage.columns import read_record
from understudy.storage.paging import readable
from understudy.storage.rows import replace_version
from understudy.storage.schema import tasks


class TaskStore:
    """Tasks of sessions."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def all(self, session_id: str) -> tuple[Task, ...]:
        """The tasks of a session by number; one that cannot be read is left out."""
        query = sa.select(tasks).where(tasks.c.session_id == session_id).order_by(tasks.c.number)
        return tuple(readable(self._connection.execute(query).all(), _read))

    def count(self, session_id: str) -> int:
        """How many tasks a session has."""
        query = (
            sa.select(sa.func.count()).select_from(tasks).where(tasks.c.session_id == session_id)
        )
        return self._connection.execute(query).scalar_one()

    def of_call(self, call_digest: str) -> Task | None:
        """The task that a tool call has made."""
        query = sa.select(tasks).where(tasks.c.call_digest == call_digest)
        row = self._connection.execute(query).first()
        return None if row is None else _read(row)

    def add(self, task: Task) -> None:
        """Store a new task of a session whose row this unit holds locked."""
        self._connection.execute(sa.insert(tasks).values(_row(task)))

    def update(self, task: Task, *, expected_version: int) -> None:
        """Replace a task; raises `StaleVersion` when it changed meanwhile."""
        replace_version(
            self._connection,
            tasks,
            tasks.c.task_id == task.task_id,
            _row(task),
            expected_version=expected_version,
        )


def _row(task: Task) -> dict[str, Any]:
    return {
        "task_id": task.task_id,
        "session_id": task.session_id,
        "number": task.number,
        "status": str(task.status),
        "run_id": task.run_id,
        "call_digest": task.call_digest,
        "body": {
            "title": task.title,
            "description": task.description,
            "depends_on": list(task.depends_on),
            "created_by": task.created_by,
        },
        "version": task.version,
        "created_at_ms": task.created_at_ms,
        "updated_at_ms": task.updated_at_ms,
    }


def _read(row: Any) -> Task:
    return read_record(row, _task, what=f"task {row.task_id}")


def _task(row: Any) -> Task:
    body = row.body
    return Task(
        task_id=row.task_id,
        session_id=row.session_id,
        number=row.number,
        title=body["title"],
        description=body["description"],
        status=TaskStatus(row.status),
        depends_on=tuple(body["depends_on"]),
        created_by=body["created_by"],
        run_id=row.run_id,
        call_digest=row.call_digest,
        version=row.version,
        created_at_ms=row.created_at_ms,
        updated_at_ms=row.updated_at_ms,
    )
