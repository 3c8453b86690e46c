"""Deliveries to webhooks and mailboxes, and their attempts."""

import sqlalchemy as sa

from understudy.deliveries.model import TryOutcome
from understudy.mailboxes.model import MessageStatus
from understudy.runs.model import DeliveryStatus
from understudy.storage.rows import Json, Ms
from understudy.storage.schema.metadata import metadata, one_of

deliveries = sa.Table(
    "deliveries",
    metadata,
    sa.Column("delivery_id", sa.Text, primary_key=True),
    sa.Column("run_id", sa.Text, sa.ForeignKey("runs.run_id"), nullable=False),
    # Index of the reply target; positions of background tasks come after those of the run.
    sa.Column("position", sa.Integer, nullable=False),
    # The background task whose end it reports.
    sa.Column("task_id", sa.Text, index=True),
    sa.Column("plugin", sa.Text, nullable=False),
    sa.Column("address", Json, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    # Attempts before a person last made it due again.
    sa.Column("attempts_before", sa.Integer, nullable=False),
    # When the next attempt is due; during an attempt, when its lease expires.
    sa.Column("due_at_ms", Ms),
    sa.Column("delivered_at_ms", Ms, index=True),
    sa.Column("last_error", sa.Text),
    one_of("status", DeliveryStatus),
    sa.UniqueConstraint("run_id", "position"),
    # Only deliveries that are still to be sent.
    sa.Index(
        "ix_deliveries_due",
        "due_at_ms",
        sqlite_where=sa.text("due_at_ms IS NOT NULL"),
        postgresql_where=sa.text("due_at_ms IS NOT NULL"),
    ),
)

delivery_tries = sa.Table(
    "delivery_tries",
    metadata,
    sa.Column("delivery_id", sa.Text, sa.ForeignKey("deliveries.delivery_id"), primary_key=True),
    sa.Column("attempt", sa.Integer, primary_key=True),
    sa.Column("at_ms", Ms, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("status_code", sa.Integer),
    sa.Column("error", sa.Text),
    one_of("outcome", TryOutcome),
)

# At most one row: the secret that signs webhooks, where the settings have none.
webhook_secret = sa.Table(
    "webhook_secret",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("secret", sa.Text, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
)


# Literal SQL: a database uses a partial index only if the query repeats its condition.
UNDELIVERED = sa.text("status IN ('pending', 'delivering')")
DELIVERING = sa.text("status = 'delivering'")

messages = sa.Table(
    "messages",
    metadata,
    sa.Column("message_id", sa.Text, primary_key=True),
    # The session it is delivered to; for an agent, the session in which it reads its mailbox.
    sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.session_id"), nullable=False),
    sa.Column("to_agent_id", sa.Text),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("hops", sa.Integer, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    # The run that delivers it, or did last.
    sa.Column("run_id", sa.Text, index=True),
    # Null unless it is pending.
    sa.Column("due_at_ms", Ms),
    sa.Column("call_digest", sa.Text, unique=True),
    # The content and the sender; never changes.
    sa.Column("body", Json, nullable=False),
    # State beyond the columns above.
    sa.Column("state", Json, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("updated_at_ms", Ms, nullable=False, index=True),
    one_of("status", MessageStatus),
    sa.Index("ix_messages_session", "session_id", "created_at_ms", "message_id"),
    sa.Index("ix_messages_agent", "to_agent_id", "created_at_ms", "message_id"),
    sa.Index("ix_messages_status", "to_agent_id", "status", "created_at_ms", "message_id"),
    # Only undelivered messages.
    sa.Index(
        "ix_messages_undelivered",
        "session_id",
        sqlite_where=UNDELIVERED,
        postgresql_where=UNDELIVERED,
    ),
    sa.Index(
        "ix_messages_due",
        "due_at_ms",
        sqlite_where=sa.text("due_at_ms IS NOT NULL"),
        postgresql_where=sa.text("due_at_ms IS NOT NULL"),
    ),
    sa.Index(
        "ix_messages_delivering",
        "session_id",
        sqlite_where=DELIVERING,
        postgresql_where=DELIVERING,
    ),
)
