"""The feed: the events of all sessions in the order of their commits, without a lock.

On PostgreSQL an event carries `tx`, the greater of its transaction's number and the last `tx` of its
session. The feed goes by (`tx`, `sequence`) and ends before the oldest unfinished transaction, so
what commits later stands after everything that was read. The number of the transaction alone could
swap two events of a session: a transaction may take its number before another one that reaches the
session's row first. SQLite has one writer, and its feed goes by `sequence`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from understudy.sessions.journal import EventKind, FeedPage, FeedPlace
from understudy.storage.journal import page_of
from understudy.storage.postgres import NEXT_TX, OLDEST_TX
from understudy.storage.schema import journal, sessions
from understudy.storage.visible_connection import VisibleConnection


@dataclass(frozen=True, slots=True)
class OldestWriter:
    """The transaction that has been writing for the longest, in any database of the server."""

    # Its process; None where it is only prepared.
    pid: int | None
    age_s: float


class FeedStore:
    """Events of all sessions, by place."""

    def __init__(self, connection: VisibleConnection) -> None:
        self._connection = connection
        self._is_shared = connection.dialect.name == "postgresql"
        self._columns = (journal.c.tx, journal.c.sequence) if self._is_shared else _SEQUENCE
        # Events of transactions that are all over.
        self._is_over = journal.c.tx < OLDEST_TX if self._is_shared else sa.true()

    def page(self, after: FeedPlace, *, kinds: Sequence[EventKind] = (), limit: int) -> FeedPage:
        """The next events; at most so much data as in a page of a session."""
        # Both before the page: what commits meanwhile is in the page, or rings after its commit.
        is_held = self.is_held()
        newest = self.last_place() if kinds else after
        conditions = [self._after(after), self._is_over]
        if kinds:
            conditions.append(journal.c.kind.in_(kinds))
        found = page_of(
            self._connection,
            lambda query: query.where(*conditions).order_by(*self._columns),
            limit,
        )
        sent = found.events[-1].place if found.events else after
        place = sent if found.more else max(newest, sent)
        return FeedPage(events=found.events, more=found.more, place=place, is_held=is_held)

    def is_held(self) -> bool:
        """Whether committed events wait for an older transaction."""
        return self._is_shared and bool(self._connection.execute(_IS_HELD).scalar())

    def holder(self) -> OldestWriter | None:
        """The transaction that holds events back; None also where the account may not see it."""
        row = self._connection.execute(_OLDEST_WRITER).first() if self.is_held() else None
        return None if row is None else OldestWriter(*row)

    def last_place(self, *, back: int = 0) -> FeedPlace:
        """The place of the newest event, or of the one so many events before it."""
        newest = sa.select(journal.c.tx, journal.c.sequence).where(self._is_over)
        newest = newest.order_by(*(it.desc() for it in self._columns)).offset(back).limit(1)
        found = self._connection.execute(newest).first()
        return FeedPlace() if found is None else FeedPlace(*found)

    def known_place(self, asked: FeedPlace) -> FeedPlace:
        """The place that a reader asks for, without a `tx` that this database has not reached.

        Such a place is of the time before the database moved to another server.
        """
        is_reached = asked.tx == 0 or (
            self._is_shared and asked.tx < self._connection.execute(_NEXT).scalar_one()
        )
        return asked if is_reached else FeedPlace(0, asked.sequence)

    def sessions_after(self, place: FeedPlace) -> frozenset[str]:
        """The sessions that have events after a place, also such as are held back."""
        newer = sa.select(journal.c.session_id).where(self._after(place)).distinct()
        return frozenset(self._connection.execute(newer).scalars())

    def _after(self, place: FeedPlace) -> sa.ColumnElement[bool]:
        if not self._is_shared:
            return journal.c.sequence > place.sequence
        return sa.tuple_(*self._columns) > sa.tuple_(place.tx, place.sequence)


def forget_other_server(connection: sa.Connection) -> None:
    """Begin the numbers of transactions anew if the database comes from a server that was ahead.

    Its events would stay hidden until this server's numbers reach theirs. No event has a greater `tx`
    than its session.
    """
    highest = sa.select(sa.func.max(sessions.c.journal_tx)).scalar_subquery()
    if connection.execute(sa.select(sa.func.coalesce(highest >= NEXT_TX, False))).scalar_one():
        connection.execute(sa.update(journal).where(journal.c.tx > 0).values(tx=0))
        connection.execute(
            sa.update(sessions).where(sessions.c.journal_tx > 0).values(journal_tx=0)
        )


_SEQUENCE: Final[tuple[sa.Column[Any], ...]] = (journal.c.sequence,)
_NEXT: Final = sa.select(NEXT_TX)
_IS_HELD: Final = sa.select(sa.exists().where(journal.c.tx >= OLDEST_TX))
_OLDEST_WRITER: Final = sa.text(
    """
    SELECT pid, extract(epoch FROM clock_timestamp() - xact_start)::float AS age_s
    FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND xact_start IS NOT NULL
    UNION ALL
    SELECT NULL, extract(epoch FROM clock_timestamp() - prepared)::float
    FROM pg_prepared_xacts
    ORDER BY age_s DESC LIMIT 1
    """
)
