"""Calls about schedules."""

from collections.abc import Iterator

from understudy.client.calls import at, get, given, post
from understudy.client.groups.resource import Resource, body, every
from understudy.wire.base import Items
from understudy.wire.schedules import (
    CreateSchedule,
    ExecutionView,
    ScheduleAnswer,
    ScheduleView,
)

_view = ScheduleView.model_validate


class Schedules(Resource):
    """Runs that are submitted at their time, again and again."""

    def create(self, wanted: CreateSchedule, *, key: str | None = None) -> ScheduleView:
        """A new schedule."""
        return self.transport.send(post(at("schedules"), _view, body(wanted), key=key))

    def get(self, schedule_id: str) -> ScheduleView:
        """One schedule."""
        return self.transport.send(get(at("schedules", schedule_id), _view))

    def page(
        self,
        *,
        session_id: str | None = None,
        status: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Items[ScheduleView]:
        """Some schedules, newest first."""
        query = given(session_id=session_id, status=status, limit=limit, cursor=cursor)
        return self.transport.send(
            get(at("schedules"), Items[ScheduleView].model_validate, **query)
        )

    def list(self) -> Iterator[ScheduleView]:
        """All schedules, newest first."""
        return every(lambda cursor: self.page(cursor=cursor))

    def executions(
        self, schedule_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[ExecutionView]:
        """The last fires of a schedule, newest first."""
        path = at("schedules", schedule_id, "executions")
        read = Items[ExecutionView].model_validate
        return self.transport.send(get(path, read, **given(limit=limit, cursor=cursor)))

    def pause(self, schedule_id: str) -> ScheduleAnswer:
        """Fire no more until it is resumed."""
        return self._act(schedule_id, "pause")

    def resume(self, schedule_id: str) -> ScheduleAnswer:
        """Fire again, from the next time on."""
        return self._act(schedule_id, "resume")

    def trigger(self, schedule_id: str, *, key: str | None = None) -> ScheduleAnswer:
        """Fire now."""
        return self._act(schedule_id, "trigger", key=key)

    def cancel(self, schedule_id: str) -> ScheduleAnswer:
        """End a schedule for good."""
        return self._act(schedule_id, "cancel")

    def _act(self, schedule_id: str, verb: str, *, key: str | None = None) -> ScheduleAnswer:
        path = at("schedules", schedule_id, verb)
        return self.transport.send(post(path, ScheduleAnswer.model_validate, key=key))
