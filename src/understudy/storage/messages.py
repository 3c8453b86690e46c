"""The store of mailbox messages."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from understudy.core.page import Page, PageRequest
from understudy.mailboxes.model import Message, MessageStatus
from understudy.storage.rows import from_row, to_row
from understudy.storage.schema import messages, runs
from understudy.storage.schema.deliveries import DELIVERING, UNDELIVERED
from understudy.storage.table import Table


class MessageStore(Table[Message]):
    """The messages of all mailboxes in a table."""

    table = messages
    kind = Message
    order = ("created_at_ms", "message_id")
    newest_first = True
    fixed = frozenset({"body"})

    def bury_unread(self, message_id: str, *, reason: str, at_ms: int) -> None:
        """Mark a damaged message dead without reading it."""
        self._connection.execute(
            sa.update(messages)
            .where(messages.c.message_id == message_id)
            .values(
                status=str(MessageStatus.DEAD),
                due_at_ms=None,
                state={"run_ids": [], "reason": reason},
                updated_at_ms=at_ms,
            )
        )

    def of_call(self, call_digest: str) -> Message | None:
        """The message that a tool call sent."""
        return self._one(self._select(call_digest=call_digest))

    def of_run(self, run_id: str) -> Message | None:
        """The message that a run delivers."""
        return self._one(self._select(run_id=run_id))

    def page(
        self,
        request: PageRequest,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        statuses: Sequence[MessageStatus] = (),
    ) -> Page[Message]:
        """The messages of a mailbox, newest first."""
        query = self._select(session_id=session_id, to_agent_id=agent_id)
        if statuses:
            query = query.where(messages.c.status.in_(statuses))
        return self._page(request, query)

    def waiting_in(self, session_id: str) -> int:
        """The number of undelivered messages of a session."""
        return self._connection.execute(undelivered_in(session_id)).scalar_one()

    def is_delivering(self, session_id: str) -> bool:
        """Whether a run of the session is delivering a message."""
        query = _DELIVERING.where(messages.c.session_id == session_id)
        return self._connection.execute(query).first() is not None

    def claim_due(self, now_ms: int) -> str | None:
        """The oldest due message of a session without one in delivery.

        Skips rows that are locked, and locks this one until the unit ends.
        """
        claimed = self._dialect.locked_if_free(_DUE)
        return self._connection.execute(claimed, {"now_ms": now_ms}).scalar()

    def read_by_ended_runs(self, *, limit: int) -> tuple[str, ...]:
        """Messages in delivery whose runs have ended."""
        return tuple(self._connection.execute(_READ, {"at_once": limit}).scalars())

    def next_due_ms(self) -> int | None:
        """When the next message is due; messages behind one in delivery do not count."""
        return self._connection.execute(_NEXT_DUE).scalar()

    def any_delivering(self) -> bool:
        """Whether any message is in delivery."""
        return self._connection.execute(_DELIVERING).first() is not None

    def _row(self, message: Message) -> dict[str, Any]:
        row = to_row(message, messages, state=("run_ids", "reason"))
        return {**row, "run_id": message.run_id}

    def _read(self, row: Any) -> Message:
        # The record parses by its field names in answers.
        return from_row(row, Message, next_attempt_at_ms=row.due_at_ms)


def undelivered_in(session_id: str) -> sa.Select[int]:
    """SQL: counts the undelivered messages of a session."""
    return (
        sa.select(sa.func.count())
        .select_from(messages)
        .where(messages.c.session_id == session_id, UNDELIVERED)
    )


# Built once: they run often while there are messages.
_other = messages.alias("other")
_IS_NEXT = sa.and_(
    messages.c.due_at_ms.is_not(None),
    ~sa.exists().where(_other.c.session_id == messages.c.session_id, DELIVERING),
)
_NEXT_DUE = sa.select(messages.c.due_at_ms).where(_IS_NEXT).order_by(messages.c.due_at_ms).limit(1)
_DUE = (
    sa.select(messages.c.message_id)
    .where(_IS_NEXT, messages.c.due_at_ms <= sa.bindparam("now_ms"))
    .order_by(messages.c.created_at_ms, messages.c.message_id)
    .limit(1)
)
_DELIVERING = sa.select(messages.c.message_id).where(DELIVERING).limit(1)
# A message whose run was deleted will not be read either.
_GOES_ON = sa.exists().where(runs.c.run_id == messages.c.run_id, runs.c.finished_at_ms.is_(None))
_READ = (
    sa.select(messages.c.message_id)
    .where(DELIVERING, ~_GOES_ON)
    .order_by(messages.c.created_at_ms)
    .limit(sa.bindparam("at_once"))
)
