"""The records of a channel: its roster, its log, the leases of its turns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import computed_field

from understudy.core.errors import coded_error
from understudy.core.records import HIDDEN, OMIT, OMIT_EMPTY, JsonObject, shown_if_set
from understudy.runs.model import InputItem
from understudy.sessions.model import MemberKind

if TYPE_CHECKING:
    from understudy.storage.unit import Unit

MAX_MEMBERS: Final = 1000
MAX_CONTENT_BYTES: Final = 64 * 1024
MAX_EMOJI_CHARS: Final = 64
MAX_REACTIONS: Final = 200
# The longest duration in a policy: a week.
MAX_POLICY_MS: Final = 7 * 24 * 3600 * 1000
MAX_POLICY_COUNT: Final = 1000


class ParticipationMode(StrEnum):
    """Whether and how readily arbitration chooses a member."""

    MANUAL_ONLY = "manual_only"
    SELECTED_ONLY = "selected_only"
    PREFER_SELECTED = "prefer_selected"
    ALWAYS_LISTEN = "always_listen"


class DisplayNameMode(StrEnum):
    """Where the name of a member comes from."""

    MANUAL = "manual"
    FOLLOW_AGENT = "follow_agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class AutonomyPolicy:
    """How much agents may say, and how soon after each other."""

    max_parallel_public_speakers: int = 1
    max_agent_replies_per_human_message: int = 3
    member_cooldown_ms: int = 15_000
    lease_timeout_ms: int = 60_000
    max_pending_stimuli: int = 32
    max_autonomous_root_posts_per_hour: int = 4
    max_active_autonomous_roots: int = 1
    quiet_period_ms_after_root_post: int = 300_000


# The minimum of each policy field where it is not 0.
LEAST: Final[Mapping[str, int]] = {
    "max_parallel_public_speakers": 1,
    "max_agent_replies_per_human_message": 1,
    "lease_timeout_ms": 1,
    "max_pending_stimuli": 1,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelMember:
    """A person or a session on the roster of a channel."""

    member_id: str
    member_kind: MemberKind
    display_name: str
    display_name_mode: DisplayNameMode = DisplayNameMode.MANUAL
    session_id: Annotated[str | None, OMIT] = None
    actor_id: Annotated[str | None, OMIT] = None
    role: Annotated[str | None, OMIT] = None
    expertise_tags: tuple[str, ...] = ()
    # None: the default of the channel.
    participation_mode: Annotated[ParticipationMode | None, OMIT] = None
    muted: bool = False
    joined_at_ms: int = 0

    @property
    def speaker_id(self) -> str:
        """The id by which messages and reactions name it: the session, or the person."""
        return self.session_id or self.actor_id or self.member_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A public room: who is in it, and how its agents take turns."""

    channel_id: str
    title: str
    created_by: str
    created_at_ms: int
    updated_at_ms: int
    description: Annotated[str | None, OMIT] = None
    purpose: Annotated[str | None, OMIT] = None
    pinned_asset_ids: tuple[str, ...] = ()
    members: tuple[ChannelMember, ...] = ()
    autonomy_policy: AutonomyPolicy = field(default_factory=AutonomyPolicy)
    default_participation_mode: ParticipationMode = ParticipationMode.SELECTED_ONLY
    paused: bool = False
    metadata: JsonObject = field(default_factory=dict)
    message_count: int = 0
    last_message_id: Annotated[str | None, OMIT] = None
    last_message_preview: Annotated[str | None, OMIT] = None
    version: int = 1
    # The number of its last event; streams resume after it.
    sequence: Annotated[int, HIDDEN] = 0

    def mode_of(self, member: ChannelMember) -> ParticipationMode:
        """The participation mode of a member: its own, or that of the channel."""
        return member.participation_mode or self.default_participation_mode


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSender:
    """The sender of a message, with the display name of that moment."""

    id: str
    display_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageReactions:
    """The actors who reacted to a message with one emoji."""

    emoji: str
    actor_ids: tuple[str, ...]

    @computed_field
    @property
    def count(self) -> int:
        """The number of actors."""
        return len(self.actor_ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelMessage:
    """One message in the log of a channel; it never changes."""

    message_id: str
    channel_id: str
    sender: MessageSender
    content: str
    created_at_ms: int
    # Absent on the root of a thread.
    thread_root_message_id: Annotated[str | None, OMIT] = None
    reply_to_message_id: Annotated[str | None, OMIT] = None
    sender_session_id: Annotated[str | None, OMIT] = None
    addressed_member_ids: tuple[str, ...] = ()
    # The text and the files, in order.
    parts: tuple[InputItem, ...] = ()
    reactions: tuple[MessageReactions, ...] = ()
    metadata: JsonObject = field(default_factory=dict)
    # Its place in the log.
    position: int = 0

    @property
    def root_id(self) -> str:
        """The root of its thread, which may be the message itself."""
        return self.thread_root_message_id or self.message_id

    @property
    def asset_ids(self) -> tuple[str, ...]:
        """The files in it."""
        return tuple(part.asset_id for part in self.parts if part.asset_id is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOutput:
    """The output that the run of a turn wants to publish; the last one counts."""

    content: str
    asset_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLease:
    """The lease of a session's turn in a thread, until its run ends or the lease expires."""

    turn_id: str
    channel_id: str
    thread_root_message_id: str
    # The message to answer: of a person, or of the agent before.
    origin_message_id: str
    holder_session_id: str
    expires_at_ms: int
    remaining_reply_budget: int
    # The person's message that started the exchange, and the newest one in the thread.
    current_human_origin_message_id: str
    last_human_message_id: str
    active_run_id: Annotated[str | None, OMIT] = None
    superseded_run_id: Annotated[str | None, OMIT] = None
    superseded_turn_id: Annotated[str | None, OMIT] = None
    queued_candidate_session_ids: tuple[str, ...] = ()
    last_human_priority_session_ids: tuple[str, ...] = ()
    agent_reply_count_since_last_human: int = 0
    created_at_ms: int = 0
    # Why the holder was chosen: the codes of `arbitration.RANKS` that put it first.
    reasons: tuple[str, ...] = ()
    output: Annotated[TurnOutput | None, HIDDEN] = None

    @property
    def has_newer_question(self) -> bool:
        """Whether a person said something in the thread since the turn began."""
        return self.last_human_message_id != self.current_human_origin_message_id


class TurnOutcome(StrEnum):
    """What became of a turn."""

    PUBLISHED = "published"
    NOTHING_TO_ADD = "nothing_to_add"
    # Its run failed or was stopped.
    FAILED = "failed"
    TOOK_TOO_LONG = "took_too_long"
    # The member was muted or gone by then, or what it said was refused.
    NOT_PUBLISHED = "not_published"


class TopicKind(StrEnum):
    """What a thread is about."""

    HUMAN = "human"
    AUTONOMOUS_ROOT = "autonomous_root"
    SUMMARY = "summary"


class ThreadStatus(StrEnum):
    """The status of a thread's work, in its only order."""

    PROPOSED = "proposed"
    ACTIVE = "active"
    REVIEWING = "reviewing"
    COMPLETED = "completed"
    SUPERSEDED = "superseded"

    def advanced(self, other: "ThreadStatus") -> "ThreadStatus":
        """The later of two; a thread never goes back."""
        order = list(ThreadStatus)
        return max(self, other, key=order.index)


OVER: Final = frozenset({ThreadStatus.COMPLETED, ThreadStatus.SUPERSEDED})


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadWork:
    """The state of one thread."""

    thread_root_message_id: str
    channel_id: str
    topic_kind: TopicKind
    created_at_ms: int
    updated_at_ms: int
    status: ThreadStatus = ThreadStatus.ACTIVE
    owner: Annotated[str | None, OMIT] = None
    dedupe_key: Annotated[str | None, OMIT] = None
    # The records that the thread belongs to: `schedule_id`, `run_id`, `session_id`, `task_id`.
    bindings: Annotated[Mapping[str, str], OMIT_EMPTY] = field(default_factory=dict)
    # The newest message of each progress key.
    progress: Annotated[Mapping[str, str], OMIT_EMPTY] = field(default_factory=dict)
    # A message that waits for arbitration, and when that is due.
    wish_message_id: Annotated[str | None, HIDDEN] = None
    due_at_ms: Annotated[int | None, HIDDEN] = None
    failures: Annotated[int, HIDDEN] = 0

    @shown_if_set
    @property
    def waiting_message_id(self) -> str | None:
        """The message that waits for arbitration."""
        return self.wish_message_id


class EventName(StrEnum):
    """The events in the stream of a channel."""

    MESSAGE = "message"
    REACTION = "reaction"
    MEMBER = "member"
    LEASE = "lease"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelEvent:
    """One event of a channel."""

    channel_id: str
    sequence: int
    name: EventName
    at_ms: int
    data: Mapping[str, Any]


def require_channel(unit: "Unit", channel_id: str, *, lock: bool = False) -> Channel:
    """The channel without its members, or `NotFound`; `lock` locks its row."""
    channel = unit.channels.get(channel_id, lock=lock)
    if channel is None:
        raise coded_error("channels/channel_not_found", channel_id=channel_id)
    return channel


def require_message(unit: "Unit", channel_id: str, message_id: str) -> ChannelMessage:
    """A message of a channel, or `NotFound`."""
    message = unit.channel_messages.get(message_id)
    if message is None or message.channel_id != channel_id:
        raise coded_error("channels/message_not_found", message_id=message_id)
    return message


def require_member(unit: "Unit", channel_id: str, member_id: str) -> ChannelMember:
    """A member of a channel, or `NotFound`."""
    member = unit.channels.member(channel_id, member_id)
    if member is None:
        raise coded_error("channels/member_not_found", member_id=member_id)
    return member
