"""Posting to a channel, in the caller's transaction: sender, content, thread, addressing, counters."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from understudy.assets.contents import refer
from understudy.assets.model import AssetDraft, ReferenceKind
from understudy.channels.addressing import addressed_in
from understudy.channels.checks import check_metadata
from understudy.channels.model import (
    MAX_CONTENT_BYTES,
    Channel,
    ChannelMember,
    ChannelMessage,
    MessageSender,
    ThreadStatus,
    ThreadWork,
    TopicKind,
    require_message,
)
from understudy.core import audit
from understudy.core.clock import Clock
from understudy.core.errors import Invalid, coded_error
from understudy.core.ids import new_id
from understudy.core.principal import Principal, Role
from understudy.core.records import JsonObject
from understudy.core.text import preview
from understudy.runs.intake import take_input
from understudy.runs.model import InputItem
from understudy.runs.submission import Submission
from understudy.sessions.model import require_session

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

PREVIEW_CHARS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class NewChannelMessage:
    """The request to post a message."""

    content: str = ""
    input_items: tuple[InputItem | AssetDraft, ...] = ()
    thread_root_message_id: str | None = None
    reply_to_message_id: str | None = None
    addressed_member_ids: tuple[str, ...] = ()
    sender_actor_id: str | None = None
    sender_display_name: str | None = None
    sender_session_id: str | None = None
    metadata: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """The effect of a message on its thread; by default a person opens or continues one."""

    kind: TopicKind = TopicKind.HUMAN
    status: ThreadStatus = ThreadStatus.ACTIVE
    dedupe_key: str | None = None
    progress_key: str | None = None
    bindings: JsonObject = field(default_factory=dict)
    # Whether somebody is to answer; None: only if a person posted it.
    wants_answer: bool | None = None


def member_sending(
    unit: "Unit", principal: Principal, channel_id: str, wanted: NewChannelMessage
) -> ChannelMember:
    """The member that a caller speaks as: themselves or a session of theirs; an admin, anybody."""
    is_admin = principal.role.includes(Role.ADMIN)
    if wanted.sender_session_id is not None:
        if wanted.sender_actor_id is not None:
            raise coded_error("channels/sender_ambiguous", pointer="/sender_actor_id")
        session = require_session(unit, wanted.sender_session_id)
        if not is_admin and session.owner_id != principal.user_id:
            raise coded_error("channels/sender_not_yours", sender=wanted.sender_session_id)
    sender_id = wanted.sender_session_id or wanted.sender_actor_id or principal.user_id
    if wanted.sender_session_id is None and not is_admin and sender_id != principal.user_id:
        raise coded_error("channels/sender_not_yours", sender=sender_id)
    if wanted.sender_session_id is not None:
        member = unit.channels.member_of(channel_id, session_id=sender_id)
    else:
        member = unit.channels.member_of(channel_id, actor_id=sender_id)
    if member is None:
        raise coded_error("channels/sender_not_a_member", sender=sender_id)
    shown = wanted.sender_display_name
    if shown is not None and shown != member.display_name and not is_admin:
        raise coded_error("channels/sender_not_yours:name", sender=shown)
    return member


@dataclass(frozen=True, slots=True, kw_only=True)
class Posting:
    """Writes messages; the caller's unit has locked the channel's row."""

    clock: Clock
    # Called with the unit and each new message, to queue it for bridges.
    posted: Callable[["Unit", Channel, ChannelMessage], None] = lambda _, __, ___: None

    def post(
        self,
        unit: "Unit",
        principal: Principal,
        channel: Channel,
        member: ChannelMember,
        wanted: NewChannelMessage,
        *,
        topic: Topic | None = None,
        marks: JsonObject | None = None,
    ) -> ChannelMessage:
        """Add a message of a member; `marks` is metadata of the daemon's own."""
        check_metadata(wanted.metadata)
        now = self.clock.now_ms()
        parts = _parts(unit, principal, wanted, now_ms=now)
        content = "\n".join(part.text for part in parts if part.text is not None)
        parent, root = _thread(unit, channel.channel_id, wanted)
        message_id = new_id("msg")
        position = unit.channels.message_event(
            channel.channel_id, message_id, preview(content, PREVIEW_CHARS), at_ms=now
        )
        message = ChannelMessage(
            message_id=message_id,
            channel_id=channel.channel_id,
            thread_root_message_id=None if root is None else root.message_id,
            reply_to_message_id=None if parent is None else parent.message_id,
            sender=MessageSender(
                id=member.speaker_id,
                display_name=wanted.sender_display_name or member.display_name,
            ),
            sender_session_id=member.session_id,
            addressed_member_ids=_addressed(unit, channel, member, wanted, content),
            content=content,
            parts=parts,
            metadata={**wanted.metadata, **(marks or {})},
            created_at_ms=now,
            position=position,
        )
        unit.channel_messages.insert(message)
        for asset_id in dict.fromkeys(message.asset_ids):
            refer(unit, asset_id, ReferenceKind.CHANNEL, channel.channel_id)
        self._note_thread(unit, channel, message, topic or Topic())
        acted_as = None if member.speaker_id == principal.user_id else f"as {member.speaker_id}"
        unit.audit.add(
            audit.done(principal, "channels.post", message_id, at_ms=now, reason=acted_as)
        )
        self.posted(unit, channel, message)
        return message

    def _note_thread(
        self, unit: "Unit", channel: Channel, message: ChannelMessage, topic: Topic
    ) -> None:
        """Update the thread, with the request that somebody answers."""
        thread = unit.threads.get(message.root_id)
        now = message.created_at_ms
        if thread is None:
            is_session = message.sender_session_id is not None and topic.kind is TopicKind.HUMAN
            thread = ThreadWork(
                thread_root_message_id=message.root_id,
                channel_id=channel.channel_id,
                # An agent's own post is autonomous.
                topic_kind=TopicKind.AUTONOMOUS_ROOT if is_session else topic.kind,
                status=topic.status,
                owner=message.sender.id,
                dedupe_key=topic.dedupe_key,
                bindings=topic.bindings,
                created_at_ms=now,
                updated_at_ms=now,
            )
        wants_answer = topic.wants_answer
        if wants_answer is None:
            wants_answer = message.sender_session_id is None
        progress = dict(thread.progress)
        if topic.progress_key is not None:
            progress[topic.progress_key] = message.message_id
        thread = replace(
            thread,
            status=thread.status.advanced(topic.status),
            bindings={**thread.bindings, **topic.bindings},
            progress=progress,
            updated_at_ms=now,
        )
        if wants_answer and not channel.paused:
            thread = replace(thread, wish_message_id=message.message_id, due_at_ms=now, failures=0)
        unit.threads.put(thread)


def _parts(
    unit: "Unit", principal: Principal, wanted: NewChannelMessage, *, now_ms: int
) -> tuple[InputItem, ...]:
    submission = Submission(content=wanted.content, input_items=wanted.input_items)
    try:
        parts = take_input(unit, principal, submission, now_ms=now_ms).items
    except Invalid as problem:
        if problem.code != "input_empty":
            raise
        raise coded_error("channels/message_empty", pointer="/content") from None
    if sum(len((part.text or "").encode(errors="surrogatepass")) for part in parts) > (
        MAX_CONTENT_BYTES
    ):
        raise coded_error("channels/message_too_large", limit_bytes=MAX_CONTENT_BYTES)
    return parts


def _thread(
    unit: "Unit", channel_id: str, wanted: NewChannelMessage
) -> tuple[ChannelMessage | None, ChannelMessage | None]:
    """The message that is replied to, and the root of the thread; both None for a new thread."""
    given = wanted.thread_root_message_id
    if wanted.reply_to_message_id is None:
        if given is None:
            return None, None
        root = require_message(unit, channel_id, given)
        if root.thread_root_message_id is not None:
            raise coded_error(
                "channels/not_a_thread_root",
                pointer="/thread_root_message_id",
                message_id=given,
                root_id=root.thread_root_message_id,
            )
        return None, root
    parent = require_message(unit, channel_id, wanted.reply_to_message_id)
    if given is not None and given != parent.root_id:
        raise coded_error(
            "channels/reply_outside_thread",
            pointer="/thread_root_message_id",
            message_id=parent.message_id,
            root_id=parent.root_id,
        )
    root = parent
    if parent.thread_root_message_id is not None:
        root = require_message(unit, channel_id, parent.thread_root_message_id)
    return parent, root


def _addressed(
    unit: "Unit",
    channel: Channel,
    member: ChannelMember,
    wanted: NewChannelMessage,
    content: str,
) -> tuple[str, ...]:
    given = tuple(dict.fromkeys(wanted.addressed_member_ids))
    if given:
        for index, member_id in enumerate(given):
            if unit.channels.member(channel.channel_id, member_id) is None:
                raise coded_error(
                    "channels/addressed_member_unknown",
                    pointer=f"/addressed_member_ids/{index}",
                    member_id=member_id,
                )
        return given
    if member.session_id is not None:
        return ()
    return addressed_in(content, unit.channels.names(channel.channel_id))
