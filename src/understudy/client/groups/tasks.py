"""Calls about the tasks of a session."""

from collections.abc import Iterator

from understudy.client.calls import at, get, given, patch, post
from understudy.client.groups.resource import Resource, body, every
from understudy.wire.base import Items
from understudy.wire.tasks import CreateTask, TaskView, UpdateTask

_view = TaskView.model_validate


class Tasks(Resource):
    """What is to be done in a session; a task is named by its id or its number."""

    def create(self, session_id: str, wanted: CreateTask, *, key: str | None = None) -> TaskView:
        """A new task at the end of the list."""
        path = at("sessions", session_id, "tasks")
        return self.transport.send(post(path, _view, body(wanted), key=key))

    def get(self, session_id: str, task: str) -> TaskView:
        """One task."""
        return self.transport.send(get(at("sessions", session_id, "tasks", task), _view))

    def page(
        self,
        session_id: str,
        *,
        status: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Items[TaskView]:
        """Some tasks, by number."""
        read = Items[TaskView].model_validate
        query = given(status=status, limit=limit, cursor=cursor)
        return self.transport.send(get(at("sessions", session_id, "tasks"), read, **query))

    def list(self, session_id: str, *, status: str | None = None) -> Iterator[TaskView]:
        """All tasks, by number."""
        return every(lambda cursor: self.page(session_id, status=status, cursor=cursor))

    def update(self, session_id: str, task: str, changes: UpdateTask) -> TaskView:
        """Change the given fields."""
        path = at("sessions", session_id, "tasks", task)
        return self.transport.send(patch(path, _view, body(changes)))

    def stop(self, session_id: str, task: str) -> TaskView:
        """Cancel a task."""
        path = at("sessions", session_id, "tasks", task, "stop")
        return self.transport.send(post(path, _view))
