"""The events of clients whose turn goes on: kept until the turn is recorded."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from understudy.storage.schema import client_events, sessions
from understudy.storage.visible_connection import VisibleConnection


class ClientEvent(NamedTuple):
    """One event of a turn."""

    name: str
    body: Mapping[str, Any]
    at_ms: int


class ClientEventStore:
    """Events by session; the row of the session is locked by whoever writes."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def add(
        self, session_id: str, name: str, body: Mapping[str, Any], *, at_ms: int, most: int
    ) -> bool:
        """Keep one more event; False, and nothing, where there are as many as may be."""
        number = self._connection.execute(_NEXT, {"of": session_id}).scalar_one()
        if number > most:
            return False
        row = {
            "session_id": session_id,
            "number": number,
            "name": name,
            "body": dict(body),
            "at_ms": at_ms,
        }
        self._connection.execute(sa.insert(client_events), row)
        return True

    def of(self, session_id: str) -> tuple[ClientEvent, ...]:
        """The events of a session in order."""
        rows = self._connection.execute(_OF_SESSION, {"of": session_id}).all()
        return tuple(ClientEvent(row.name, row.body, row.at_ms) for row in rows)

    def is_open(self, agent_id: str, *, since_ms: int) -> bool:
        """Whether any conversation of an agent has a turn that went on since."""
        values = {"agent": agent_id, "since": since_ms}
        return self._connection.execute(_OPEN, values).first() is not None

    def seen(self, agent_ids: Sequence[str]) -> dict[str, dict[str, int]]:
        """How many conversations each of these agents has, and when the newest began."""
        rows = self._connection.execute(_SEEN, {"agents": list(agent_ids)}).all()
        return {
            row.agent_id: {"sessions": row.sessions, "newest_at_ms": row.newest_at_ms}
            for row in rows
        }

    def take(self, session_id: str) -> tuple[ClientEvent, ...]:
        """The events of a session in order; they are kept no longer."""
        kept = self.of(session_id)
        if kept:
            self._connection.execute(_DROP, {"of": session_id})
        return kept


_IS_OF: Final = client_events.c.session_id == sa.bindparam("of")
_NEXT: Final = sa.select(sa.func.coalesce(sa.func.max(client_events.c.number), 0) + 1).where(_IS_OF)
_OF_SESSION: Final = sa.select(client_events).where(_IS_OF).order_by(client_events.c.number)
_OPEN: Final = (
    sa.select(client_events.c.number)
    .join(sessions, sessions.c.session_id == client_events.c.session_id)
    .where(
        sessions.c.agent_id == sa.bindparam("agent"),
        client_events.c.at_ms >= sa.bindparam("since"),
    )
    .limit(1)
)
_SEEN: Final = (
    sa.select(
        sessions.c.agent_id,
        sa.func.count().label("sessions"),
        sa.func.max(sessions.c.created_at_ms).label("newest_at_ms"),
    )
    .where(sessions.c.agent_id.in_(sa.bindparam("agents", expanding=True)))
    .group_by(sessions.c.agent_id)
)
_DROP: Final = sa.delete(client_events).where(_IS_OF)
