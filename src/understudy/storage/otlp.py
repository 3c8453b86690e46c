"""What telemetry told of traces that are no turns yet, and how far those that are were read."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from understudy.storage.rows import INSERTS
from understudy.storage.schema import otlp_signals
from understudy.storage.visible_connection import VisibleConnection

# The id of the row that says how far a trace was read.
READ: Final = ""


class WaitingTrace(NamedTuple):
    """A trace of which something is kept."""

    user_id: str
    trace: str
    last_at_ms: int
    # Whether nothing is expected after what came.
    is_closed: bool


class OtlpStore:
    """Signals by user, trace and id; one that comes again stays as it is."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection

    def size(self, user_id: str) -> int:
        """How many characters wait for a user's traces to end."""
        size: int = self._connection.execute(_SIZE, {"user": user_id}).scalar_one()
        return size

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Keep signals until their trace is a turn."""
        insert = INSERTS[self._connection.dialect.name](otlp_signals).on_conflict_do_nothing()
        if rows:
            self._connection.execute(insert, rows)

    def waiting(self) -> tuple[WaitingTrace, ...]:
        """The traces of which something is kept."""
        rows = self._connection.execute(_WAITING)
        return tuple(
            WaitingTrace(it.user_id, it.trace, it.last_at_ms, (it.closed_ns or -1) >= it.ended_ns)
            for it in rows
        )

    def take(self, user_id: str, trace: str) -> dict[str, dict[str, Any]]:
        """What is kept of a trace, by id; it is kept no longer, and no other daemon gets it."""
        found = self._connection.execute(_TAKE, {"user": user_id, "of": trace}).all()
        return {it.told_id: it.body for it in found if isinstance(it.body, dict)}

    def read(self, user_id: str, trace: str) -> dict[str, Any] | None:
        """How far a trace was read; None for one that was no turn yet."""
        values = {"user": user_id, "of": trace}
        found = self._connection.execute(_READ, values).scalar()
        return found if isinstance(found, dict) else None

    def set_read(self, user_id: str, trace: str, body: Mapping[str, Any], *, at_ms: int) -> None:
        """Note how far a trace was read."""
        row = {"user_id": user_id, "trace": trace, "told_id": READ, "ended_ns": 0}
        more = {"closes": False, "at_ms": at_ms, "size": 0, "body": dict(body)}
        insert = INSERTS[self._connection.dialect.name](otlp_signals)
        changed = {name: insert.excluded[name] for name in ("at_ms", "body")}
        anew = insert.on_conflict_do_update(index_elements=[*_KEY], set_=changed)
        self._connection.execute(anew, row | more)

    def sweep(self, *, before_ms: int) -> None:
        """Forget how far traces were read that nobody will send again."""
        self._connection.execute(_SWEEP, {"before": before_ms})


_c: Final = otlp_signals.c
_KEY: Final = ("user_id", "trace", "told_id")
_OF_TRACE: Final = sa.and_(_c.user_id == sa.bindparam("user"), _c.trace == sa.bindparam("of"))
_SIZE: Final = sa.select(sa.func.coalesce(sa.func.sum(_c.size), 0)).where(
    _c.user_id == sa.bindparam("user")
)
_WAITING: Final = (
    sa.select(
        _c.user_id,
        _c.trace,
        sa.func.max(_c.at_ms).label("last_at_ms"),
        sa.func.max(_c.ended_ns).label("ended_ns"),
        sa.func.max(sa.case((_c.closes, _c.ended_ns))).label("closed_ns"),
    )
    .where(_c.told_id != READ)
    .group_by(_c.user_id, _c.trace)
)
_TAKE: Final = (
    sa.delete(otlp_signals).where(_OF_TRACE, _c.told_id != READ).returning(_c.told_id, _c.body)
)
_READ: Final = sa.select(_c.body).where(_OF_TRACE, _c.told_id == READ)
_SWEEP: Final = sa.delete(otlp_signals).where(_c.told_id == READ, _c.at_ms < sa.bindparam("before"))
