"""Tasks as the wire shows them."""

from understudy.sessions.task_service import TaskDetail
from understudy.wire.tasks import TaskView


def task_view(detail: TaskDetail) -> TaskView:
    """A task with what it waits for."""
    task = detail.task
    return TaskView(
        task_id=task.task_id,
        session_id=task.session_id,
        number=task.number,
        title=task.title,
        description=task.description,
        status=task.status.value,
        depends_on=list(task.depends_on),
        waits_for=list(detail.waits_for),
        created_by=task.created_by,
        run_id=task.run_id,
        version=task.version,
        created_at_ms=task.created_at_ms,
        updated_at_ms=task.updated_at_ms,
        actions=list(detail.next_statuses),
    )
