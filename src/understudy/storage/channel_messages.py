"""The store of channel messages, reactions and threads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from understudy.channels.model import OVER, ChannelMessage, MessageReactions, ThreadWork, TopicKind
from understudy.core.page import Page, PageRequest
from understudy.storage.rows import (
    folded,
    from_row,
    insert_new,
    search_text,
    upsert_of,
)
from understudy.storage.schema import (
    channel_messages,
    channel_reactions,
    channel_threads,
)
from understudy.storage.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class LastWord:
    """When a session spoke last, and the position of that message in the log."""

    position: int
    at_ms: int


class ChannelMessageStore(Table[ChannelMessage]):
    """Messages and reactions in two tables; a message is read with its reactions."""

    table = channel_messages
    kind = ChannelMessage
    order = ("position",)
    newest_first = True

    def of_run(self, run_id: str) -> ChannelMessage | None:
        """The message that a run published."""
        return self._one(self._select(source_run_id=run_id))

    def latest(
        self,
        channel_id: str,
        request: PageRequest,
        *,
        root_id: str | None = None,
        query: str | None = None,
    ) -> Page[ChannelMessage]:
        """The latest messages in order; the cursor leads to earlier ones."""
        select = self._select(channel_id=channel_id, root_id=root_id)
        if query:
            select = select.where(self._dialect.contains(channel_messages.c.search, folded(query)))
        page = self._page(request, select)
        return replace(page, items=self.with_reactions(tuple(reversed(page.items))))

    def by_ids(self, message_ids: Sequence[str]) -> dict[str, ChannelMessage]:
        """The messages among these ids that exist, with their reactions."""
        query = self._select(channel_messages.c.message_id.in_(message_ids))
        found = tuple(map(self._read, self._connection.execute(query)))
        return {message.message_id: message for message in self.with_reactions(found)}

    def with_reactions(self, messages: Sequence[ChannelMessage]) -> tuple[ChannelMessage, ...]:
        """The messages with their reactions."""
        of = [message.message_id for message in messages]
        reacted: dict[str, dict[str, list[str]]] = {}
        for row in self._connection.execute(_REACTIONS, {"ids": of}):
            by_emoji = reacted.setdefault(row.message_id, {})
            by_emoji.setdefault(row.emoji, []).append(row.actor_id)
        return tuple(
            replace(message, reactions=_grouped(reacted.get(message.message_id, {})))
            for message in messages
        )

    def react(self, message_id: str, actor_id: str, emoji: str, *, at_ms: int) -> bool:
        """Add a reaction; False when it exists."""
        row = {"message_id": message_id, "actor_id": actor_id, "emoji": emoji}
        return insert_new(self._connection, channel_reactions, {**row, "created_at_ms": at_ms})

    def unreact(self, message_id: str, actor_id: str, emoji: str) -> bool:
        """Delete a reaction; False when there is none."""
        statement = sa.delete(channel_reactions).where(
            channel_reactions.c.message_id == message_id,
            channel_reactions.c.actor_id == actor_id,
            channel_reactions.c.emoji == emoji,
        )
        return self._connection.execute(statement).rowcount > 0

    def count_reactions(self, message_id: str) -> int:
        """How many reactions a message has."""
        query = sa.select(sa.func.count()).select_from(channel_reactions)
        found = self._connection.execute(query.where(channel_reactions.c.message_id == message_id))
        return found.scalar_one()

    def last_words(self, channel_id: str, root_id: str | None = None) -> Mapping[str, LastWord]:
        """When each session spoke last in the channel, or in one thread of it."""
        query = _SPOKEN.where(channel_messages.c.channel_id == channel_id)
        if root_id is not None:
            query = query.where(channel_messages.c.root_id == root_id)
        return {
            row.sender_session_id: LastWord(position=row.position, at_ms=row.at_ms)
            for row in self._connection.execute(query)
        }

    def last_of_people(self, channel_id: str, root_id: str | None) -> ChannelMessage | None:
        """The last message of a person, in the channel or in one thread of it."""
        is_of_person = channel_messages.c.sender_session_id.is_(None)
        query = self._select(is_of_person, channel_id=channel_id, root_id=root_id)
        return self._one(query.order_by(channel_messages.c.position.desc()).limit(1))

    def replies_to(self, message: ChannelMessage) -> int:
        """How many agent messages came after a message, without late replies to earlier ones."""
        query = (
            sa.select(channel_messages)
            .where(channel_messages.c.root_id == message.root_id)
            .where(channel_messages.c.position > message.position)
            .where(channel_messages.c.sender_session_id.is_not(None))
            .order_by(channel_messages.c.position)
        )
        answers = {message.message_id}
        for row in self._connection.execute(query):
            is_of_turn = row.source_run_id is not None
            if not is_of_turn or self._read(row).reply_to_message_id in answers:
                answers.add(row.message_id)
        return len(answers) - 1

    def _one(
        self, query: sa.Select[Any], values: Mapping[str, Any] | None = None, *, lock: bool = False
    ) -> ChannelMessage | None:
        found = super()._one(query, values, lock=lock)
        return None if found is None else self.with_reactions((found,))[0]

    def _row(self, message: ChannelMessage) -> dict[str, Any]:
        names = (part.file_name for part in message.parts if part.file_name)
        searched = (message.sender.id, message.sender.display_name, message.content, *names)
        return {
            **super()._row(message),
            "root_id": message.root_id,
            "source_run_id": message.metadata.get("source_run_id"),
            "search": search_text(*searched),
        }

    def _read(self, row: Any) -> ChannelMessage:
        return from_row(row, ChannelMessage, reactions=[])


_REACTIONS = (
    sa.select(channel_reactions)
    .where(channel_reactions.c.message_id.in_(sa.bindparam("ids", expanding=True)))
    .order_by(channel_reactions.c.created_at_ms, channel_reactions.c.actor_id)
)
_SPOKEN = (
    sa.select(
        channel_messages.c.sender_session_id,
        sa.func.max(channel_messages.c.position).label("position"),
        sa.func.max(channel_messages.c.created_at_ms).label("at_ms"),
    )
    .where(channel_messages.c.sender_session_id.is_not(None))
    .group_by(channel_messages.c.sender_session_id)
)


def _grouped(by_emoji: Mapping[str, Sequence[str]]) -> tuple[MessageReactions, ...]:
    return tuple(
        MessageReactions(emoji=emoji, actor_ids=tuple(actors)) for emoji, actors in by_emoji.items()
    )


class ThreadStore(Table[ThreadWork]):
    """Threads by their first message."""

    table = channel_threads
    kind = ThreadWork
    order = ("created_at_ms", "thread_root_message_id")
    newest_first = True

    def open(self, channel_id: str, dedupe_key: str) -> ThreadWork | None:
        """The newest open thread with a dedupe key."""
        is_open = channel_threads.c.status.not_in(OVER)
        query = self._select(is_open, channel_id=channel_id, dedupe_key=dedupe_key)
        return self._one(query.order_by(channel_threads.c.created_at_ms.desc()).limit(1))

    def put(self, thread: ThreadWork) -> None:
        """Insert or update a thread."""
        row = self._row(thread)
        self._connection.execute(_PUT_THREAD[self._connection.dialect.name], row)

    def page(self, channel_id: str, request: PageRequest) -> Page[ThreadWork]:
        """The threads of a channel, newest first."""
        return self._page(request, self._select(channel_id=channel_id))

    def autonomous_roots(self, channel_id: str, *, since_ms: int) -> tuple[ThreadWork, ...]:
        """The threads that no person opened and that had a message since a time."""
        query = self._select(
            channel_threads.c.topic_kind != TopicKind.HUMAN,
            channel_threads.c.updated_at_ms > since_ms,
            channel_id=channel_id,
        )
        found = self._connection.execute(query.order_by(channel_threads.c.created_at_ms))
        return tuple(map(self._read, found))

    def due(self, now_ms: int, *, limit: int) -> tuple[tuple[str, str], ...]:
        """The threads with a due turn request, as channel and root."""
        found = self._connection.execute(_DUE, {"now": now_ms, "at_most": limit})
        return tuple((row.channel_id, row.thread_root_message_id) for row in found)

    def next_due_ms(self) -> int | None:
        """When the next turn request is due."""
        return self._connection.execute(_NEXT_DUE).scalar()


_IS_DUE = channel_threads.c.due_at_ms.is_not(None)
_DUE = (
    sa.select(channel_threads.c.channel_id, channel_threads.c.thread_root_message_id)
    .where(_IS_DUE, channel_threads.c.due_at_ms <= sa.bindparam("now"))
    .order_by(channel_threads.c.due_at_ms)
    .limit(sa.bindparam("at_most"))
)
_NEXT_DUE = (
    sa.select(channel_threads.c.due_at_ms)
    .where(_IS_DUE)
    .order_by(channel_threads.c.due_at_ms)
    .limit(1)
)
_PUT_THREAD = upsert_of(channel_threads)
