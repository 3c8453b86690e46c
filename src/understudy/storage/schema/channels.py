"""Channels: rosters, messages, leases, stimuli and bridges."""

from typing import Any

import sqlalchemy as sa

from understudy.channels.bridge_model import BridgeDeliveryStatus, Connector
from understudy.channels.model import EventName, ThreadStatus, TopicKind
from understudy.channels.stimulus_model import StimulusStatus
from understudy.sessions.model import MemberKind
from understudy.storage.rows import Json, Ms
from understudy.storage.schema.metadata import metadata, one_of, some_of


def _channel_id(**options: Any) -> sa.Column[str]:
    key = sa.ForeignKey("channels.channel_id", ondelete="CASCADE")
    return sa.Column("channel_id", sa.Text, key, nullable=False, **options)


channels = sa.Table(
    "channels",
    metadata,
    sa.Column("channel_id", sa.Text, primary_key=True),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("search", sa.Text, nullable=False),
    sa.Column("body", Json, nullable=False),
    # Updated with each message, without reading the rest of the row.
    sa.Column("message_count", sa.Integer, nullable=False),
    sa.Column("last_message_id", sa.Text),
    sa.Column("last_message_preview", Json),
    # The number of the last event.
    sa.Column("sequence", sa.Integer, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
)

channel_members = sa.Table(
    "channel_members",
    metadata,
    _channel_id(primary_key=True),
    sa.Column("member_id", sa.Text, primary_key=True),
    sa.Column("member_kind", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.session_id"), index=True),
    sa.Column("actor_id", sa.Text),
    sa.Column("display_name", Json, nullable=False),
    sa.Column("body", Json, nullable=False),
    sa.Column("joined_at_ms", Ms, nullable=False),
    one_of("member_kind", MemberKind),
    sa.UniqueConstraint("channel_id", "session_id"),
    sa.UniqueConstraint("channel_id", "actor_id"),
)

OF_AGENTS = sa.text("sender_session_id IS NOT NULL")

channel_messages = sa.Table(
    "channel_messages",
    metadata,
    sa.Column("message_id", sa.Text, primary_key=True),
    _channel_id(),
    sa.Column("position", sa.Integer, nullable=False),
    # The root of the thread; a root names itself.
    sa.Column("root_id", sa.Text, nullable=False),
    sa.Column("sender_session_id", sa.Text),
    # The run that published it; a run publishes a message once.
    sa.Column("source_run_id", sa.Text, unique=True),
    sa.Column("search", sa.Text, nullable=False),
    sa.Column("body", Json, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Index("ix_channel_messages_log", "channel_id", "position", unique=True),
    sa.Index("ix_channel_messages_thread", "root_id", "position"),
    some_of(
        "ix_channel_messages_spoken", "channel_id", "sender_session_id", "position", where=OF_AGENTS
    ),
)

channel_reactions = sa.Table(
    "channel_reactions",
    metadata,
    sa.Column(
        "message_id",
        sa.Text,
        sa.ForeignKey("channel_messages.message_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("actor_id", sa.Text, primary_key=True),
    sa.Column("emoji", sa.Text, primary_key=True),
    sa.Column("created_at_ms", Ms, nullable=False),
)

WAITING = sa.text("due_at_ms IS NOT NULL")

channel_threads = sa.Table(
    "channel_threads",
    metadata,
    sa.Column("thread_root_message_id", sa.Text, primary_key=True),
    _channel_id(index=True),
    sa.Column("topic_kind", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("dedupe_key", sa.Text),
    sa.Column("wish_message_id", sa.Text),
    sa.Column("due_at_ms", Ms),
    sa.Column("failures", sa.Integer, nullable=False),
    sa.Column("body", Json, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
    one_of("topic_kind", TopicKind),
    one_of("status", ThreadStatus),
    some_of("ix_channel_threads_due", "due_at_ms", where=WAITING),
)

channel_leases = sa.Table(
    "channel_leases",
    metadata,
    sa.Column("turn_id", sa.Text, primary_key=True),
    _channel_id(index=True),
    sa.Column("thread_root_message_id", sa.Text, nullable=False, index=True),
    sa.Column("holder_session_id", sa.Text, nullable=False),
    sa.Column("active_run_id", sa.Text, unique=True),
    sa.Column("expires_at_ms", Ms, nullable=False, index=True),
    sa.Column("body", Json, nullable=False),
    # The output that its run wants to publish, so far.
    sa.Column("output", Json),
    sa.Column("created_at_ms", Ms, nullable=False),
)

channel_stimuli = sa.Table(
    "channel_stimuli",
    metadata,
    sa.Column("stimulus_id", sa.Text, primary_key=True),
    _channel_id(),
    sa.Column("status", sa.Text, nullable=False),
    # When it is dispatched; null once that is decided.
    sa.Column("due_at_ms", Ms),
    sa.Column("dedupe_key", sa.Text),
    sa.Column("progress_key", sa.Text),
    # Digest of the tool call that requested it: a repeated call makes no second one.
    sa.Column("call_digest", sa.Text, unique=True),
    sa.Column("body", Json, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
    one_of("status", StimulusStatus),
    sa.Index("ix_channel_stimuli_newest", "channel_id", "created_at_ms", "stimulus_id"),
    some_of("ix_channel_stimuli_due", "due_at_ms", where=WAITING),
)

channel_events = sa.Table(
    "channel_events",
    metadata,
    _channel_id(primary_key=True),
    sa.Column("sequence", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("at_ms", Ms, nullable=False),
    sa.Column("data", Json, nullable=False),
    one_of("name", EventName),
)

channel_bridges = sa.Table(
    "channel_bridges",
    metadata,
    sa.Column("bridge_id", sa.Text, primary_key=True),
    _channel_id(index=True),
    sa.Column("connector", sa.Text, nullable=False),
    sa.Column("body", Json, nullable=False),
    # Never in an answer, and removed from what agents publish.
    sa.Column("credentials", Json, nullable=False),
    # When its mailbox is polled next; null without one.
    sa.Column("due_at_ms", Ms),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
    one_of("connector", Connector),
    some_of("ix_channel_bridges_due", "due_at_ms", where=WAITING),
)


def _bridge_id(**options: Any) -> sa.Column[str]:
    key = sa.ForeignKey("channel_bridges.bridge_id", ondelete="CASCADE")
    return sa.Column("bridge_id", sa.Text, key, nullable=False, **options)


bridge_links = sa.Table(
    "bridge_links",
    metadata,
    _bridge_id(primary_key=True),
    sa.Column("external_id", sa.Text, primary_key=True),
    sa.Column("message_id", sa.Text, nullable=False, index=True),
)

bridge_deliveries = sa.Table(
    "bridge_deliveries",
    metadata,
    sa.Column("delivery_id", sa.Text, primary_key=True),
    _bridge_id(),
    sa.Column("message_id", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("due_at_ms", Ms),
    sa.Column("last_error", sa.Text),
    sa.Column("created_at_ms", Ms, nullable=False),
    one_of("status", BridgeDeliveryStatus),
    sa.Index("ix_bridge_deliveries_newest", "bridge_id", "created_at_ms", "delivery_id"),
    some_of("ix_bridge_deliveries_due", "due_at_ms", where=WAITING),
)
