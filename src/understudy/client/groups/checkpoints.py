"""Calls about checkpoints."""

from collections.abc import Iterator

from understudy.client.calls import at, get, given
from understudy.client.groups.resource import Resource, every
from understudy.wire.base import Items
from understudy.wire.checkpoints import CheckpointView


class Checkpoints(Resource):
    """Summaries that stand for older parts of sessions."""

    def page(
        self, session_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[CheckpointView]:
        """Some checkpoints of a session, newest first."""
        read = Items[CheckpointView].model_validate
        query = given(limit=limit, cursor=cursor)
        return self.transport.send(get(at("sessions", session_id, "checkpoints"), read, **query))

    def list(self, session_id: str) -> Iterator[CheckpointView]:
        """All checkpoints of a session, newest first."""
        return every(lambda cursor: self.page(session_id, cursor=cursor))
