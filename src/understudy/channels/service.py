"""Use cases of channels: create and change them, members, messages and reactions."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from understudy.assets.contents import refer
from understudy.assets.model import ReferenceKind
from understudy.channels.arbitration import Arbitration, SilentTurn
from understudy.channels.bridge_model import require_own_bridge
from understudy.channels.checks import (
    check_emoji,
    check_metadata,
    check_policy,
    checked_member,
    named,
    namesake,
)
from understudy.channels.model import (
    MAX_MEMBERS,
    MAX_REACTIONS,
    Channel,
    ChannelEvent,
    ChannelMember,
    ChannelMessage,
    EventName,
    ThreadWork,
    TurnLease,
    TurnOutcome,
    require_channel,
    require_member,
    require_message,
)
from understudy.channels.posting import NewChannelMessage, Posting, member_sending
from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import coded_error
from understudy.core.ids import check_caller_id, new_id
from understudy.core.page import Page, PageRequest
from understudy.core.principal import Principal, Role
from understudy.sessions.model import (
    MemberKind,
    Project,
    ProjectMember,
    SessionStatus,
    require_session,
)

if TYPE_CHECKING:
    from understudy.storage.unit import Unit, Units

# The most events in which turns without a message are looked for.
MAX_EVENTS_READ: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelService:
    """Everything that callers do with channels, each in one transaction."""

    units: "Units"
    clock: Clock
    posting: Posting
    # Wakes the readers of a channel, and the channel worker.
    changed: Callable[[str], None] = lambda _: None
    # Arbitration for a message.
    arbitration: Callable[["Unit", Channel, ChannelMessage], Arbitration]
    # Cancels the run of a turn that is no longer needed.
    cancel_run: Callable[[str], None] = lambda _: None

    def create(
        self, principal: Principal, channel_id: str | None, title: str, **fields: Any
    ) -> Channel:
        """Create a channel, with members if given."""
        if channel_id is not None:
            check_caller_id(channel_id, field="channel_id", domain="channels")
        now = self.clock.now_ms()
        members: tuple[ChannelMember, ...] = fields.pop("members", ())
        channel = Channel(
            channel_id=channel_id or new_id("chn"),
            title=named(title, field="title"),
            created_by=principal.user_id,
            created_at_ms=now,
            updated_at_ms=now,
            **fields,
        )
        with self.units.write() as unit:
            _check(unit, channel)
            if not unit.channels.add(channel):
                raise coded_error("channels/channel_exists", channel_id=channel.channel_id)
            _pin(unit, channel)
            for member in members:
                self._join(unit, principal, channel, member)
            self._audit(unit, principal, "channels.create", channel)
            return unit.channels.with_members(require_channel(unit, channel.channel_id))

    def get(self, channel_id: str) -> Channel:
        """One channel with its members, or `NotFound`."""
        with self.units.read() as unit:
            return unit.channels.with_members(require_channel(unit, channel_id))

    def page(self, request: PageRequest, *, query: str | None = None) -> Page[Channel]:
        """Channels by id; `query` is searched in id, title, description and purpose."""
        with self.units.read() as unit:
            return unit.channels.page(request, query=query)

    def update(self, principal: Principal, channel_id: str, **fields: Any) -> Channel:
        """Change the given fields; an update without a difference changes nothing."""
        if "title" in fields:
            fields["title"] = named(fields["title"], field="title")
        with self.units.write() as unit:
            stored = require_channel(unit, channel_id, lock=True)
            changed = replace(stored, **fields)
            if changed != stored:
                _check(unit, changed)
                changed = replace(
                    changed, version=stored.version + 1, updated_at_ms=self.clock.now_ms()
                )
                unit.channels.update(changed, expected_version=stored.version)
                _pin(unit, changed)
                self._audit(unit, principal, "channels.update", changed)
            answer = unit.channels.with_members(changed)
        self.changed(channel_id)
        return answer

    def delete(self, principal: Principal, channel_id: str) -> None:
        """Delete a channel with its log; the runs of its turns are cancelled."""
        with self.units.write() as unit:
            stored = require_channel(unit, channel_id, lock=True)
            projects = unit.projects.ids_linking(channel_id)
            if projects:
                raise coded_error("channels/channel_linked_to_project", project_id=projects[0])
            for bridge in unit.bridges.of_channel(channel_id):
                require_own_bridge(principal, bridge)
            leases = unit.channel_turns.of_channel(channel_id)
            unit.assets.unrefer(ReferenceKind.CHANNEL, channel_id)
            unit.channels.delete(channel_id)
            self._audit(unit, principal, "channels.delete", stored)
        self.changed(channel_id)
        for lease in leases:
            if lease.active_run_id is not None:
                self.cancel_run(lease.active_run_id)

    def put_member(self, principal: Principal, channel_id: str, member: ChannelMember) -> Channel:
        """Add a person or a session as a member, or change their participation."""
        with self.units.write() as unit:
            channel = require_channel(unit, channel_id, lock=True)
            self._join(unit, principal, channel, member)
            self._audit(unit, principal, "channels.put_member", channel, reason=member.member_id)
            answer = unit.channels.with_members(channel)
        self.changed(channel_id)
        return answer

    def remove_member(self, principal: Principal, channel_id: str, member_id: str) -> Channel:
        """Remove a member; its run continues, but publishes nothing."""
        with self.units.write() as unit:
            channel = require_channel(unit, channel_id, lock=True)
            require_member(unit, channel_id, member_id)
            unit.channels.remove_member(channel_id, member_id)
            self._tell(unit, channel_id, EventName.MEMBER, member_id=member_id, change="left")
            self._audit(unit, principal, "channels.remove_member", channel, reason=member_id)
            answer = unit.channels.with_members(channel)
        self.changed(channel_id)
        return answer

    def post(
        self, principal: Principal, channel_id: str, wanted: NewChannelMessage
    ) -> ChannelMessage:
        """Post a message; one of a person triggers arbitration."""
        with self.units.write() as unit:
            channel = require_channel(unit, channel_id, lock=True)
            member = member_sending(unit, principal, channel_id, wanted)
            message = self.posting.post(unit, principal, channel, member, wanted)
        self.changed(channel_id)
        return message

    def messages(
        self,
        channel_id: str,
        request: PageRequest,
        *,
        root_id: str | None = None,
        query: str | None = None,
    ) -> Page[ChannelMessage]:
        """The latest messages in order, of the channel or of one thread."""
        with self.units.read() as unit:
            require_channel(unit, channel_id)
            if root_id is not None:
                require_message(unit, channel_id, root_id)
            return unit.channel_messages.latest(channel_id, request, root_id=root_id, query=query)

    def message(self, channel_id: str, message_id: str) -> ChannelMessage:
        """One message with its reactions."""
        with self.units.read() as unit:
            require_channel(unit, channel_id)
            return require_message(unit, channel_id, message_id)

    def react(
        self,
        principal: Principal,
        channel_id: str,
        message_id: str,
        emoji: str,
        *,
        actor_id: str | None = None,
        is_set: bool = True,
    ) -> ChannelMessage:
        """Set or remove a reaction of a person; idempotent."""
        wanted = NewChannelMessage(sender_actor_id=actor_id)
        with self.units.write() as unit:
            require_channel(unit, channel_id, lock=True)
            member = member_sending(unit, principal, channel_id, wanted)
            message = react_as(
                unit,
                member,
                channel_id,
                message_id,
                emoji,
                is_set=is_set,
                at_ms=self.clock.now_ms(),
            )
            action = "channels.react" if is_set else "channels.unreact"
            now = self.clock.now_ms()
            unit.audit.add(audit.done(principal, action, message_id, at_ms=now))
        self.changed(channel_id)
        return message

    def leases(self, channel_id: str) -> tuple[TurnLease, ...]:
        """The leases in the threads of a channel."""
        with self.units.read() as unit:
            require_channel(unit, channel_id)
            return unit.channel_turns.of_channel(channel_id)

    def next_speakers(self, channel_id: str, root_id: str | None = None) -> Arbitration:
        """Who would answer the last message of a person, in a thread or in the channel, and why."""
        with self.units.read() as unit:
            channel = require_channel(unit, channel_id)
            if root_id is not None:
                require_message(unit, channel_id, root_id)
            message = unit.channel_messages.last_of_people(channel_id, root_id)
            if message is None:
                return Arbitration(speakers=(), passed_over=())
            silent = _silent(unit, channel, message)
            return replace(self.arbitration(unit, channel, message), silent=silent)

    def threads(self, channel_id: str, request: PageRequest) -> Page[ThreadWork]:
        """The threads of a channel, newest first."""
        with self.units.read() as unit:
            require_channel(unit, channel_id)
            return unit.threads.page(channel_id, request)

    def events(
        self, channel_id: str, *, after: int, limit: int
    ) -> tuple[tuple[ChannelEvent, ChannelMessage | None], ...]:
        """The next events of a channel, each with its message."""
        with self.units.read() as unit:
            events = unit.channels.events(channel_id, after=after, limit=limit)
            about = [str(event.data.get("message_id", "")) for event in events]
            messages = unit.channel_messages.by_ids(about)
        return tuple((event, messages.get(key)) for event, key in zip(events, about, strict=True))

    def mirror(
        self, unit: "Unit", principal: Principal, old: Project | None, new: Project | None
    ) -> None:
        """Keep the members of a project on the roster of the channels that mirror them.

        Who was added by hand stays as they are, also when the project has them as well.
        """
        before = frozenset(old.mirrored_channels) if old else frozenset()
        after = frozenset(new.mirrored_channels) if new else frozenset()
        is_same = old is not None and new is not None and old.members == new.members
        for channel_id in sorted(before ^ after if is_same else before | after):
            channel = unit.channels.get(channel_id, lock=True)
            if channel is not None:
                mirrored = new if channel_id in after else None
                self._mirror(unit, principal, channel, old, mirrored)
                unit.after_commit(partial(self.changed, channel_id))

    def _mirror(
        self,
        unit: "Unit",
        principal: Principal,
        channel: Channel,
        old: Project | None,
        new: Project | None,
    ) -> None:
        had, wanted = _mirrors(old), _mirrors(new)
        taken = dict[str, str]()
        for each in unit.channels.members(channel.channel_id):
            if each.member_id not in had or each.member_id in wanted:
                taken[each.speaker_id] = each.member_id
                continue
            unit.channels.remove_member(channel.channel_id, each.member_id)
            self._tell(
                unit, channel.channel_id, EventName.MEMBER, member_id=each.member_id, change="left"
            )
        for member_id, member in wanted.items():
            if taken.setdefault(member.speaker_id, member_id) == member_id:
                self._join(unit, principal, channel, member)

    def _join(
        self, unit: "Unit", principal: Principal, channel: Channel, member: ChannelMember
    ) -> None:
        channel_id = channel.channel_id
        member = replace(member, **checked_member(member))
        known = unit.channels.member(channel_id, member.member_id)
        if known is None and unit.channels.count_members(channel_id) >= MAX_MEMBERS:
            raise coded_error("channels/channel_full", limit=MAX_MEMBERS)
        same = unit.channels.member_of(
            channel_id, session_id=member.session_id, actor_id=member.actor_id
        )
        if same is not None and same.member_id != member.member_id:
            raise coded_error("channels/member_exists", member_id=same.member_id)
        if member.session_id is not None and (
            known is None or known.session_id != member.session_id
        ):
            _check_session(unit, principal, member.session_id)
        if known is None or member.display_name != known.display_name:
            other = namesake(unit, channel_id, member.display_name, of=member.member_id)
            if other is not None:
                raise coded_error(
                    "channels/name_taken",
                    pointer="/display_name",
                    name=member.display_name,
                    member_id=other,
                )
        now = self.clock.now_ms()
        joined = now if known is None else known.joined_at_ms
        member = replace(member, joined_at_ms=joined)
        if member == known:
            return
        unit.channels.put_member(channel_id, member)
        change = "joined" if known is None else "changed"
        self._tell(unit, channel_id, EventName.MEMBER, member_id=member.member_id, change=change)

    def _tell(self, unit: "Unit", channel_id: str, name: EventName, **data: Any) -> None:
        unit.channels.event(channel_id, name, data, at_ms=self.clock.now_ms())

    def _audit(
        self,
        unit: "Unit",
        principal: Principal,
        action: str,
        channel: Channel,
        *,
        reason: str | None = None,
    ) -> None:
        entry = audit.done(
            principal,
            action,
            channel.channel_id,
            at_ms=self.clock.now_ms(),
            version=channel.version,
            reason=reason,
        )
        unit.audit.add(entry)


def react_as(
    unit: "Unit",
    member: ChannelMember,
    channel_id: str,
    message_id: str,
    emoji: str,
    *,
    is_set: bool,
    at_ms: int,
) -> ChannelMessage:
    """Set or remove a reaction of a member of a channel whose row this unit has locked."""
    check_emoji(emoji)
    require_message(unit, channel_id, message_id)
    store, actor_id = unit.channel_messages, member.speaker_id
    if is_set:
        if store.count_reactions(message_id) >= MAX_REACTIONS:
            raise coded_error("channels/too_many_reactions", limit=MAX_REACTIONS)
        has_changed = store.react(message_id, actor_id, emoji, at_ms=at_ms)
    else:
        has_changed = store.unreact(message_id, actor_id, emoji)
    if has_changed:
        data = {"message_id": message_id, "actor_id": actor_id, "emoji": emoji, "is_set": is_set}
        unit.channels.event(channel_id, EventName.REACTION, data, at_ms=at_ms)
    return require_message(unit, channel_id, message_id)


def _check(unit: "Unit", channel: Channel) -> None:
    check_policy(channel.autonomy_policy)
    check_metadata(channel.metadata)
    if channel.pinned_asset_ids:
        unit.assets.hold()
    for index, asset_id in enumerate(channel.pinned_asset_ids):
        if unit.assets.get(asset_id) is None:
            raise coded_error(
                "assets/asset_not_found:in_input",
                pointer=f"/pinned_asset_ids/{index}",
                asset_id=asset_id,
            )


def _pin(unit: "Unit", channel: Channel) -> None:
    # A formerly pinned asset keeps its reference: a message may show it as well.
    for asset_id in channel.pinned_asset_ids:
        refer(unit, asset_id, ReferenceKind.CHANNEL, channel.channel_id)


def _check_session(unit: "Unit", principal: Principal, session_id: str) -> None:
    """Refuse a session that has ended, or that the caller may not speak for.

    Its runs act for its owner, so nobody else may have it answer to a room.
    """
    session = require_session(unit, session_id)
    if session.status is SessionStatus.ENDED:
        raise coded_error("sessions/session_ended")
    if session.owner_id != principal.user_id and not principal.role.includes(Role.ADMIN):
        raise coded_error("channels/session_not_yours", session_id=session_id)


def _mirrors(project: Project | None) -> dict[str, ChannelMember]:
    """What the members of a project are on the roster of a channel, by their ids there."""
    members = () if project is None else project.members
    ids = ((f"project:{project.project_id}:{it.member_id}", it) for it in members if project)
    return {member_id: _mirror_of(member, member_id) for member_id, member in ids}


def _mirror_of(member: ProjectMember, member_id: str) -> ChannelMember:
    is_session = member.member_kind is MemberKind.SESSION
    return ChannelMember(
        member_id=member_id,
        member_kind=member.member_kind,
        display_name=member.display_name,
        session_id=member.session_id if is_session else None,
        actor_id=None if is_session else member.actor_id or member.member_id,
        role=member.role,
        expertise_tags=member.expertise_tags,
    )


def _silent(unit: "Unit", channel: Channel, message: ChannelMessage) -> tuple[SilentTurn, ...]:
    """The last turn of each session for a message, where it ended without one."""
    after = max(0, channel.sequence - MAX_EVENTS_READ)
    turns = {
        event.data["holder_session_id"]: SilentTurn(
            session_id=event.data["holder_session_id"],
            run_id=event.data["run_id"],
            outcome=TurnOutcome(event.data["outcome"]),
        )
        for event in unit.channels.events(channel.channel_id, after=after, limit=MAX_EVENTS_READ)
        if event.data.get("human_message_id") == message.message_id and "outcome" in event.data
    }
    return tuple(it for it in turns.values() if it.outcome is not TurnOutcome.PUBLISHED)
