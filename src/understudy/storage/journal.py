"""The journal store: append events in order, read those of a session or run by offset."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, takewhile
from typing import Any, Final

import sqlalchemy as sa

from understudy.core.batches import batches
from understudy.core.errors import coded_error
from understudy.sessions.journal import EventKind, JournalEvent, JournalPage, NewEvent
from understudy.storage.postgres import OWN_TX
from understudy.storage.schema import journal, sessions
from understudy.storage.schema.sessions import CHECKPOINTS
from understudy.storage.visible_connection import VisibleConnection

# Maximum characters of data in a page of events.
PAGE_CHARS: Final = 4 * 1024 * 1024
# Most events of one insert.
MAX_ROWS: Final = 16
# Conditions and order of a read, for any selected columns.
Wanted = Callable[["sa.Select[Any]"], "sa.Select[Any]"]


class JournalStore:
    """Events of all sessions in one table."""

    def __init__(self, connection: VisibleConnection, touched: set[str]) -> None:
        self._connection = connection
        self._touched = touched
        self._grow = _GROWN[connection.dialect.name]
        # The events that this unit has appended.
        self.appended: list[JournalEvent] = []

    def append(
        self, session_id: str, events: Sequence[NewEvent], *, at_ms: int
    ) -> tuple[JournalEvent, ...]:
        """Append events; returns them with their offsets, which come from the session's row."""
        if not events:
            return ()
        values = {"grown": session_id, "by": len(events)}
        grown = self._connection.execute(self._grow, values).first()
        if grown is None:
            raise coded_error("sessions/session_not_found", session_id=session_id)
        length, tx = grown
        first = length - len(events) + 1
        rows = [
            {**_row(session_id, offset, it, at_ms), "tx": tx}
            for offset, it in enumerate(events, first)
        ]
        sequences: dict[int, int] = {}
        for some in batches(rows, MAX_ROWS):
            values = {f"{name}_{at}": it for at, row in enumerate(some) for name, it in row.items()}
            found = self._connection.execute(_insert(len(some)), values)
            sequences |= {row.offset: row.sequence for row in found}
        self._touched.add(session_id)
        written = tuple(
            JournalEvent(
                sequence=sequences[offset],
                offset=offset,
                session_id=session_id,
                kind=event.kind,
                at_ms=at_ms,
                run_id=event.run_id,
                key=event.key,
                tx=tx,
                data=event.data,
            )
            for offset, event in enumerate(events, first)
        )
        self.appended += written
        return written

    def read(
        self,
        *,
        session_id: str | None = None,
        run_id: str | None = None,
        after_offset: int = 0,
        kinds: Sequence[EventKind] = (),
        limit: int = 200,
    ) -> tuple[JournalEvent, ...]:
        """Events of a session or run by offset."""
        wanted = _wanted(session_id, run_id, after_offset, kinds)
        found = self._connection.execute(wanted(sa.select(journal)).limit(limit))
        return tuple(event_of(row) for row in found)

    def page(
        self,
        *,
        session_id: str | None = None,
        run_id: str | None = None,
        after_offset: int = 0,
        kinds: Sequence[EventKind] = (),
        limit: int,
    ) -> JournalPage:
        """Like `read`, but at most `PAGE_CHARS` characters of data beyond the first event."""
        return page_of(self._connection, _wanted(session_id, run_id, after_offset, kinds), limit)

    def read_back(
        self, session_id: str, *, before_offset: int, kinds: Sequence[EventKind], limit: int
    ) -> tuple[JournalEvent, ...]:
        """The newest events before an offset, newest first."""
        values = {"of": session_id, "before": before_offset, "most": limit, "kinds": list(kinds)}
        return tuple(event_of(row) for row in self._connection.execute(_BACK_OF_KINDS, values))

    def checkpoints(
        self, session_id: str, *, before_offset: int, limit: int
    ) -> tuple[JournalEvent, ...]:
        """The newest checkpoints before an offset, newest first."""
        values = {"of": session_id, "before": before_offset, "most": limit}
        return tuple(event_of(row) for row in self._connection.execute(_CHECKPOINTS_BACK, values))

    def each(self, session_id: str, kind: EventKind) -> Iterator[JournalEvent]:
        """The events of one kind in a session, oldest first, streamed."""
        query = (
            sa.select(journal)
            .where(journal.c.session_id == session_id, journal.c.kind == kind)
            .order_by(journal.c.offset)
        )
        for row in self._connection.execute(query):
            yield event_of(row)

    def runs_heard(
        self, session_id: str, *, from_offset: int, before_offset: int
    ) -> frozenset[str]:
        """The runs of a session whose input event lies between two offsets."""
        query = sa.select(journal.c.run_id).where(
            journal.c.session_id == session_id,
            journal.c.offset >= from_offset,
            journal.c.offset < before_offset,
            journal.c.kind == EventKind.INPUT,
            journal.c.run_id.is_not(None),
        )
        return frozenset(self._connection.execute(query).scalars())

    def by_keys(self, session_id: str, keys: Sequence[str]) -> tuple[JournalEvent, ...]:
        """The events of a session that carry one of these keys, in order."""
        query = (
            sa.select(journal)
            .where(journal.c.session_id == session_id, journal.c.key.in_(keys))
            .order_by(journal.c.offset)
        )
        return tuple(event_of(row) for row in self._connection.execute(query))

    def outputs(
        self, run_ids: Sequence[str], *, kinds: Sequence[EventKind] = (EventKind.OUTPUT,)
    ) -> dict[str, tuple[JournalEvent, ...]]:
        """The output events of some runs, in order; or those of other kinds."""
        found: dict[str, tuple[JournalEvent, ...]] = {}
        values = {"run_ids": list(run_ids), "kinds": list(kinds)}
        for row in self._connection.execute(_OUTPUTS, values):
            found[row.run_id] = (*found.get(row.run_id, ()), event_of(row))
        return found

    def tool_calls(self, run_ids: Sequence[str]) -> tuple[JournalEvent, ...]:
        """The tool calls that some runs started, in order; without refused ones."""
        kinds = (EventKind.TOOL_CALL, EventKind.TOOL_RESULT)
        query = (
            sa.select(journal)
            .where(journal.c.run_id.in_(run_ids), journal.c.kind.in_(kinds))
            .order_by(journal.c.sequence)
        )
        found = [event_of(row) for row in self._connection.execute(query)]
        refused = {_call_of(event) for event in found if event.data.get("executed") is False}
        calls = (event for event in found if event.kind is EventKind.TOOL_CALL)
        return tuple(event for event in calls if _call_of(event) not in refused)

    def last_sequence(self) -> int:
        """The sequence of the newest event of all sessions."""
        return self._connection.execute(_LAST).scalar() or 0


# Built once: they run whenever a run begins, goes on or ends.
_LAST = sa.select(sa.func.max(journal.c.sequence))
_GROW = (
    sa.update(sessions)
    .where(sessions.c.session_id == sa.bindparam("grown"))
    .values(journal_length=sessions.c.journal_length + sa.bindparam("by", type_=sa.Integer))
    .returning(sessions.c.journal_length, sessions.c.journal_tx)
)
# On PostgreSQL it also numbers the events for the feed.
_GROWN: Final = {
    "sqlite": _GROW,
    "postgresql": _GROW.values(journal_tx=sa.func.greatest(sessions.c.journal_tx, OWN_TX)),
}
_BACK = (
    sa.select(journal)
    .where(journal.c.session_id == sa.bindparam("of"), journal.c.offset < sa.bindparam("before"))
    .order_by(journal.c.offset.desc())
    .limit(sa.bindparam("most"))
)
_BACK_OF_KINDS = _BACK.where(journal.c.kind.in_(sa.bindparam("kinds", expanding=True)))
_CHECKPOINTS_BACK = _BACK.where(CHECKPOINTS, journal.c.withdrawn_by.is_(None))
_OUTPUTS = (
    sa.select(journal)
    .where(
        journal.c.run_id.in_(sa.bindparam("run_ids", expanding=True)),
        journal.c.kind.in_(sa.bindparam("kinds", expanding=True)),
    )
    .order_by(journal.c.run_id, journal.c.offset)
)


@lru_cache
def _insert(count: int) -> Any:
    """Insert some events, with one parameter for each column and event."""
    columns = [it for it in journal.c if it.name not in ("sequence", "withdrawn_by")]
    rows = [
        {it.name: sa.bindparam(f"{it.name}_{at}", type_=it.type) for it in columns}
        for at in range(count)
    ]
    insert = sa.insert(journal).values(rows)
    return insert.returning(journal.c.offset, journal.c.sequence)


def _row(session_id: str, offset: int, event: NewEvent, at_ms: int) -> dict[str, Any]:
    return {
        "session_id": session_id,
        "offset": offset,
        "kind": str(event.kind),
        "run_id": event.run_id,
        "key": event.key,
        "at_ms": at_ms,
        "data": event.data,
        "agent_id": event.data.get("agent_id") if event.kind is EventKind.NUDGE else None,
    }


def _wanted(
    session_id: str | None, run_id: str | None, after_offset: int, kinds: Sequence[EventKind]
) -> Wanted:
    """The conditions and the order of a read, for any selected columns."""
    conditions = [journal.c.offset > after_offset]
    if session_id is not None:
        conditions.append(journal.c.session_id == session_id)
    if run_id is not None:
        conditions.append(journal.c.run_id == run_id)
    if kinds:
        conditions.append(journal.c.kind.in_(kinds))
    return lambda query: query.where(*conditions).order_by(journal.c.offset)


def page_of(connection: VisibleConnection, wanted: Wanted, limit: int) -> JournalPage:
    """The next wanted events: at most `PAGE_CHARS` characters of data beyond the first event."""
    chars = sa.func.length(sa.cast(journal.c.data, sa.Text)).label("chars")
    sizes = wanted(sa.select(journal.c.sequence, chars)).limit(limit + 1)
    found = connection.execute(sizes).all()
    kept = takewhile(lambda upto: upto <= PAGE_CHARS, accumulate(row.chars for row in found))
    number = min(max(sum(1 for _ in kept), 1), limit)
    numbers = [row.sequence for row in found[:number]]
    rows = wanted(sa.select(journal)).where(journal.c.sequence.in_(numbers))
    events = tuple(event_of(row) for row in connection.execute(rows))
    return JournalPage(events=events, more=len(found) > number)


def _call_of(event: JournalEvent) -> tuple[str | None, object, object]:
    return event.run_id, event.data.get("step"), event.data.get("call_id")


def event_of(row: Any) -> JournalEvent:
    """The event in a row."""
    # An unreadable event must not hide the events around it.
    known = row.kind in EventKind.__members__.values() and isinstance(row.data, dict)
    return JournalEvent(
        sequence=row.sequence,
        offset=row.offset,
        session_id=row.session_id,
        kind=EventKind(row.kind) if known else EventKind.DAMAGED,
        at_ms=row.at_ms,
        run_id=row.run_id,
        key=row.key,
        tx=row.tx,
        withdrawn_by=row.withdrawn_by,
        data=row.data if known else {},
    )
