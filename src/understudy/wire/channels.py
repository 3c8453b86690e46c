"""Request bodies of channels."""

from typing import Literal

from pydantic import Field

from understudy.channels.model import DisplayNameMode, ParticipationMode
from understudy.channels.stimulus_model import StimulusKind
from understudy.sessions.model import MemberKind
from understudy.wire.base import Id, Int32, JsonObject, Lax, RequestBody, Update
from understudy.wire.runs import InputItem


class AutonomyPolicyBody(RequestBody):
    """The autonomy policy; an omitted field takes its default, or keeps its value."""

    max_parallel_public_speakers: Int32 | None = None
    max_agent_replies_per_human_message: Int32 | None = None
    member_cooldown_ms: Int32 | None = None
    lease_timeout_ms: Int32 | None = None
    max_pending_stimuli: Int32 | None = None
    max_autonomous_root_posts_per_hour: Int32 | None = None
    max_active_autonomous_roots: Int32 | None = None
    quiet_period_ms_after_root_post: Int32 | None = None


class PutChannelMember(RequestBody):
    """A person or a session of a channel; one without its own id is found by `member_id`."""

    member_id: Id
    member_kind: Lax[MemberKind] = MemberKind.SESSION
    display_name: str | None = Field(default=None, max_length=200)
    display_name_mode: Lax[DisplayNameMode] = DisplayNameMode.MANUAL
    session_id: Id | None = None
    actor_id: Id | None = None
    role: str | None = Field(default=None, max_length=200)
    expertise_tags: Lax[tuple[str, ...]] = Field(default=(), max_length=64)
    participation_mode: Lax[ParticipationMode] | None = None
    muted: bool = False


class ChannelFields(RequestBody):
    """The fields of a channel besides its title; an omitted one keeps its value."""

    description: str | None = Field(default=None, max_length=65_536)
    purpose: str | None = Field(default=None, max_length=4_096)
    pinned_asset_ids: Lax[tuple[str, ...]] | None = Field(default=None, max_length=64)
    autonomy_policy: AutonomyPolicyBody | None = None
    default_participation_mode: Lax[ParticipationMode] | None = None
    paused: bool | None = None
    metadata: JsonObject | None = None


class CreateChannel(ChannelFields):
    """A new channel."""

    channel_id: Id | None = None
    title: str = Field(max_length=200)
    members: list[PutChannelMember] = Field(default_factory=list, max_length=1000)


class UpdateChannel(ChannelFields, Update):
    """Changes to a channel; an id must be that of the path."""

    channel_id: Id | None = None
    title: str | None = Field(default=None, max_length=200)


class PostChannelMessage(RequestBody):
    """A message, by default of the caller. Either `content` or `input_items`."""

    content: str = ""
    input_items: list[InputItem] = Field(default_factory=list, max_length=256)
    sender_actor_id: Id | None = None
    sender_display_name: str | None = Field(default=None, max_length=200)
    sender_session_id: Id | None = None
    thread_root_message_id: Id | None = None
    reply_to_message_id: Id | None = None
    addressed_member_ids: Lax[tuple[str, ...]] = Field(default=(), max_length=256)
    metadata: JsonObject = Field(default_factory=dict)


class React(RequestBody):
    """An emoji, by default of the caller."""

    emoji: str = Field(max_length=256)
    actor_id: Id | None = None


class CreateStimulus(RequestBody):
    """A post for a channel, now or later."""

    scope: Literal["channel", "thread"] = "channel"
    kind: Lax[StimulusKind]
    content: str
    thread_root_message_id: Id | None = None
    sender_actor_id: Id | None = None
    sender_session_id: Id | None = None
    dedupe_key: str | None = Field(default=None, max_length=200)
    progress_key: str | None = Field(default=None, max_length=200)
    available_at_ms: int | None = Field(default=None, ge=0, le=2**62)
    expires_at_ms: int | None = Field(default=None, ge=0, le=2**62)
    bindings: dict[str, str] = Field(default_factory=dict, max_length=8)
