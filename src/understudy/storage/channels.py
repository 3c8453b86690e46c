"""The channel store: channels, their rosters and their events."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from understudy.channels.model import (
    Channel,
    ChannelEvent,
    ChannelMember,
    DisplayNameMode,
    EventName,
)
from understudy.core.page import Page, PageRequest
from understudy.storage.rows import (
    folded,
    from_row,
    search_text,
    to_row,
    upsert_of,
)
from understudy.storage.schema import agents, channel_events, channel_members, channels, sessions
from understudy.storage.table import Table


class ChannelStore(Table[Channel]):
    """Channels without their members, and members and events in two more tables."""

    table = channels
    kind = Channel
    # Counted by the database as messages arrive, so never written from a record.
    fixed = frozenset({"message_count", "last_message_id", "last_message_preview", "sequence"})

    def page(self, request: PageRequest, *, query: str | None = None) -> Page[Channel]:
        """Channels by id, with their members."""
        select = self._select()
        if query:
            select = select.where(self._dialect.contains(channels.c.search, folded(query)))
        page = self._page(request, select)
        found = self._rosters([channel.channel_id for channel in page.items])
        items = (replace(each, members=found.get(each.channel_id, ())) for each in page.items)
        return replace(page, items=tuple(items))

    def with_members(self, channel: Channel) -> Channel:
        """A channel with its roster."""
        return replace(channel, members=self.members(channel.channel_id))

    def members(self, channel_id: str) -> tuple[ChannelMember, ...]:
        """The roster of a channel, in the order of joining."""
        return self._rosters([channel_id]).get(channel_id, ())

    def sessions(self, channel_id: str) -> tuple[ChannelMember, ...]:
        """The members that are sessions, in the order of joining; people may be many more."""
        found = self._connection.execute(_SESSIONS, {"ids": [channel_id]})
        return tuple(map(_read_member, found))

    def member(self, channel_id: str, member_id: str) -> ChannelMember | None:
        """One member."""
        return self._member(channel_id, channel_members.c.member_id == member_id)

    def member_of(
        self, channel_id: str, *, session_id: str | None = None, actor_id: str | None = None
    ) -> ChannelMember | None:
        """The member record of a session or a person."""
        if session_id is not None:
            return self._member(channel_id, channel_members.c.session_id == session_id)
        return self._member(channel_id, channel_members.c.actor_id == actor_id)

    def names(self, channel_id: str) -> Sequence[tuple[str, str]]:
        """The id and the name of each member."""
        found = self._connection.execute(_NAMES, {"of": channel_id})
        return [(row.member_id, _name_of(row)) for row in found]

    def count_members(self, channel_id: str) -> int:
        """The number of members."""
        query = sa.select(sa.func.count()).select_from(channel_members)
        found = self._connection.execute(query.where(channel_members.c.channel_id == channel_id))
        return found.scalar_one()

    def put_member(self, channel_id: str, member: ChannelMember) -> None:
        """Insert or update a member."""
        row = {**to_row(member, channel_members), "channel_id": channel_id}
        self._connection.execute(_PUT_MEMBER[self._connection.dialect.name], row)

    def remove_member(self, channel_id: str, member_id: str) -> None:
        """Delete a member from the roster."""
        self._connection.execute(
            sa.delete(channel_members).where(
                channel_members.c.channel_id == channel_id,
                channel_members.c.member_id == member_id,
            )
        )

    def of_session(self, session_id: str) -> tuple[str, ...]:
        """The channels that a session is a member of."""
        return tuple(self._connection.execute(_OF_SESSION, {"session": session_id}).scalars())

    def event(
        self, channel_id: str, name: EventName, data: Mapping[str, Any], *, at_ms: int
    ) -> int:
        """Append an event of a channel whose row this unit has locked; returns its number."""
        number: int = self._connection.execute(_NEXT, {"of": channel_id}).scalar_one()
        self._add_event(channel_id, number, name, data, at_ms)
        return number

    def message_event(self, channel_id: str, message_id: str, preview: str, *, at_ms: int) -> int:
        """Count a message and append its event; returns its position in the log."""
        values = {"of": channel_id, "newest": message_id, "shown": preview, "at": at_ms}
        number: int = self._connection.execute(_COUNT, values).scalar_one()
        data = {"message_id": message_id}
        self._add_event(channel_id, number, EventName.MESSAGE, data, at_ms)
        return number

    def events(self, channel_id: str, *, after: int, limit: int) -> tuple[ChannelEvent, ...]:
        """The next events after a number."""
        found = self._connection.execute(
            _EVENTS, {"of": channel_id, "after": after, "at_most": limit}
        )
        return tuple(from_row(row, ChannelEvent) for row in found)

    def _row(self, channel: Channel) -> dict[str, Any]:
        row = super()._row(replace(channel, members=()))
        found_by = (channel.channel_id, channel.title, channel.description, channel.purpose)
        return {**row, "search": search_text(*(part or "" for part in found_by))}

    def _add_event(
        self, channel_id: str, number: int, name: EventName, data: Mapping[str, Any], at_ms: int
    ) -> None:
        row = {"channel_id": channel_id, "sequence": number, "name": str(name)}
        values = {**row, "data": dict(data), "at_ms": at_ms}
        self._connection.execute(sa.insert(channel_events), values)

    def _member(self, channel_id: str, is_it: sa.ColumnElement[bool]) -> ChannelMember | None:
        query = _MEMBERS.where(channel_members.c.channel_id == channel_id, is_it)
        row = self._connection.execute(query).first()
        return None if row is None else _read_member(row)

    def _rosters(self, channel_ids: Sequence[str]) -> dict[str, tuple[ChannelMember, ...]]:
        rosters = defaultdict[str, list[ChannelMember]](list)
        for row in self._connection.execute(_ROSTERS, {"ids": list(channel_ids)}):
            rosters[row.channel_id].append(_read_member(row))
        return {channel_id: tuple(members) for channel_id, members in rosters.items()}


_NEXT = (
    sa.update(channels)
    .where(channels.c.channel_id == sa.bindparam("of"))
    .values(sequence=channels.c.sequence + 1)
    .returning(channels.c.sequence)
)
_COUNT = (
    sa.update(channels)
    .where(channels.c.channel_id == sa.bindparam("of"))
    .values(
        sequence=channels.c.sequence + 1,
        message_count=channels.c.message_count + 1,
        last_message_id=sa.bindparam("newest"),
        last_message_preview=sa.bindparam("shown"),
        updated_at_ms=sa.bindparam("at"),
    )
    .returning(channels.c.sequence)
)
_EVENTS = (
    sa.select(channel_events)
    .where(
        channel_events.c.channel_id == sa.bindparam("of"),
        channel_events.c.sequence > sa.bindparam("after"),
    )
    .order_by(channel_events.c.sequence)
    .limit(sa.bindparam("at_most"))
)
_AGENT_NAME = agents.c.display_name.label("agent_name")
_WITH_AGENTS = channel_members.outerjoin(
    sessions, sessions.c.session_id == channel_members.c.session_id
).outerjoin(agents, agents.c.agent_id == sessions.c.agent_id)
# A member that follows its agent shows the agent's current name.
_MEMBERS = sa.select(channel_members, _AGENT_NAME).select_from(_WITH_AGENTS)
_ROSTERS = _MEMBERS.where(
    channel_members.c.channel_id.in_(sa.bindparam("ids", expanding=True))
).order_by(channel_members.c.joined_at_ms, channel_members.c.member_id)
_SESSIONS = _ROSTERS.where(channel_members.c.session_id.is_not(None))
_NAMES = (
    sa.select(
        channel_members.c.member_id,
        channel_members.c.display_name,
        channel_members.c.body,
        _AGENT_NAME,
    )
    .select_from(_WITH_AGENTS)
    .where(channel_members.c.channel_id == sa.bindparam("of"))
)
_OF_SESSION = (
    sa.select(channel_members.c.channel_id)
    .where(channel_members.c.session_id == sa.bindparam("session"))
    .order_by(channel_members.c.channel_id)
)
_PUT_MEMBER = upsert_of(channel_members)


def _name_of(row: Any) -> str:
    follows = row.body.get("display_name_mode") == DisplayNameMode.FOLLOW_AGENT
    return str(row.agent_name if follows and row.agent_name else row.display_name)


def _read_member(row: Any) -> ChannelMember:
    return from_row(row, ChannelMember, display_name=_name_of(row))
