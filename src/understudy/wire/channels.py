"""Request bodies of channels."""

from typing import Literal

from pydantic import Field

from understudy.channels.model import DisplayNameMode, ParticipationMode
from understudy.channels.stimulus_model import StimulusKind
from understudy.sessions.model import MemberKind
from understudy.wire.base import Id, Int32, JsonObject, Lax, ReadOnly, RequestBody, Update
from understudy.wire.runs import InputItem


class AutonomyPolicyBody(RequestBody):
    """The autonomy policy; an omitted field takes its default, or keeps its value."""

    max_parallel_public_speakers: Int32 | None = None
    """The most members whose turns run at the same time."""
    max_agent_replies_per_human_message: Int32 | None = None
    """The most replies of agents to one message of a person."""
    member_cooldown_ms: Int32 | None = None
    """The pause of a member after its turn, in milliseconds."""
    lease_timeout_ms: Int32 | None = None
    """The longest time that a turn may take, in milliseconds."""
    max_pending_stimuli: Int32 | None = None
    """The most stimuli that may wait."""
    max_autonomous_root_posts_per_hour: Int32 | None = None
    """The most threads that agents may begin in an hour."""
    max_active_autonomous_roots: Int32 | None = None
    """The most threads begun by agents that may be active."""
    quiet_period_ms_after_root_post: Int32 | None = None
    """The pause after a thread begun by an agent, in milliseconds."""


class PutChannelMember(RequestBody):
    """A person or a session of a channel; one without its own id is found by `member_id`."""

    member_id: Id
    """The session or the user."""
    member_kind: Lax[MemberKind] = MemberKind.SESSION
    """`session`, or `human_actor` for a person."""
    display_name: str | None = Field(default=None, max_length=200)
    """The name that the others see."""
    display_name_mode: Lax[DisplayNameMode] = DisplayNameMode.MANUAL
    """`manual`, or `follow_agent`: the name of its agent."""
    session_id: Id | None = None
    """The session, if its id is not `member_id`."""
    actor_id: Id | None = None
    """The person's user id, if it is not `member_id`."""
    role: str | None = Field(default=None, max_length=200)
    """The role of the member in the channel."""
    expertise_tags: Lax[tuple[str, ...]] = Field(default=(), max_length=64)
    """Subjects that the member is chosen for."""
    participation_mode: Lax[ParticipationMode] | None = None
    """When the member speaks; by default the channel's."""
    muted: bool = False
    """Whether the member is kept from speaking."""


class ChannelFields(RequestBody):
    """The fields of a channel besides its title; an omitted one keeps its value."""

    description: str | None = Field(default=None, max_length=65_536)
    """The subject of the channel."""
    purpose: str | None = Field(default=None, max_length=4_096)
    """The purpose that its agents are told."""
    pinned_asset_ids: Lax[tuple[str, ...]] | None = Field(default=None, max_length=64)
    """Assets that every turn is given."""
    autonomy_policy: AutonomyPolicyBody | None = None
    """Fields of the autonomy policy; the others stay."""
    default_participation_mode: Lax[ParticipationMode] | None = None
    """When members speak that have no mode of their own."""
    paused: bool | None = None
    """Whether agents take no new turns."""
    metadata: JsonObject | None = None
    """Data of the caller, stored with the channel."""


class CreateChannel(ChannelFields):
    """A new channel."""

    channel_id: Id | None = None
    """The id; by default a new one."""
    title: str = Field(max_length=200)
    """The name that people see."""
    members: list[PutChannelMember] = Field(default_factory=list, max_length=1000)
    """The first members."""


class UpdateChannel(ChannelFields, Update):
    """Changes to a channel."""

    channel_id: ReadOnly[Id | None] = None
    """Has to be that of the path; it cannot be changed."""
    title: str | None = Field(default=None, max_length=200)
    """The name that people see."""


class PostChannelMessage(RequestBody):
    """A message, by default of the caller. Either `content` or `input_items`."""

    content: str = ""
    """The text of the message."""
    input_items: list[InputItem] = Field(default_factory=list, max_length=256)
    """Texts and assets, instead of `content`."""
    sender_actor_id: Id | None = None
    """The person who says it; by default the caller."""
    sender_display_name: str | None = Field(default=None, max_length=200)
    """The name that it is shown under."""
    sender_session_id: Id | None = None
    """The session that says it."""
    thread_root_message_id: Id | None = None
    """The first message of the thread to post to."""
    reply_to_message_id: Id | None = None
    """The message that it answers."""
    addressed_member_ids: Lax[tuple[str, ...]] = Field(default=(), max_length=256)
    """The members it is addressed to."""
    metadata: JsonObject = Field(default_factory=dict)
    """Data of the caller, stored with the message."""


class React(RequestBody):
    """An emoji, by default of the caller."""

    emoji: str = Field(max_length=256)
    """The emoji."""
    actor_id: Id | None = None
    """The person who reacts; by default the caller."""


class CreateStimulus(RequestBody):
    """A post for a channel, now or later."""

    scope: Literal["channel", "thread"] = "channel"
    """`channel` begins a thread, `thread` continues one."""
    kind: Lax[StimulusKind]
    """The reason of the post; the status of its thread follows from it."""
    content: str
    """The text of the post."""
    thread_root_message_id: Id | None = None
    """The first message of the thread; with scope `thread`."""
    sender_actor_id: Id | None = None
    """The person who posts it."""
    sender_session_id: Id | None = None
    """The session that posts it."""
    dedupe_key: str | None = Field(default=None, max_length=200)
    """One that waits under the same key coalesces with it."""
    progress_key: str | None = Field(default=None, max_length=200)
    """It replaces one that waits under the same key."""
    available_at_ms: int | None = Field(default=None, ge=0, le=2**62)
    """The time from which it may be posted; by default now."""
    expires_at_ms: int | None = Field(default=None, ge=0, le=2**62)
    """The time after which it is not posted any more."""
    bindings: dict[str, str] = Field(default_factory=dict, max_length=8)
    """The schedule, run, session or task that the thread is about."""
