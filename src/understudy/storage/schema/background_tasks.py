"""Background tasks and their output."""

import sqlalchemy as sa

from understudy.background_tasks.model import BackgroundStatus
from understudy.storage.rows import Json, Ms
from understudy.storage.schema.metadata import metadata, one_of

# Literal SQL: a database uses a partial index only if the query repeats its condition.
RUNNING = sa.text("ended_at_ms IS NULL")
UNTOLD = sa.text("needs_notice")

background_tasks = sa.Table(
    "background_tasks",
    metadata,
    sa.Column("task_id", sa.Text, primary_key=True),
    sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.session_id"), nullable=False),
    sa.Column("run_id", sa.Text, sa.ForeignKey("runs.run_id"), nullable=False, index=True),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("needs_notice", sa.Boolean, nullable=False),
    sa.Column("holder", sa.Text, nullable=False),
    sa.Column("lease_until_ms", Ms, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("ended_at_ms", Ms, index=True),
    sa.Column("body", Json, nullable=False),
    one_of("status", BackgroundStatus),
    sa.Index("ix_background_tasks_newest", "created_at_ms", "task_id"),
    sa.Index("ix_background_tasks_session", "session_id", "created_at_ms", "task_id"),
    sa.Index(
        "ix_background_tasks_running",
        "session_id",
        sqlite_where=RUNNING,
        postgresql_where=RUNNING,
    ),
    sa.Index(
        "ix_background_tasks_untold",
        "session_id",
        sqlite_where=UNTOLD,
        postgresql_where=UNTOLD,
    ),
)

background_output = sa.Table(
    "background_output",
    metadata,
    sa.Column(
        "task_id",
        sa.Text,
        sa.ForeignKey("background_tasks.task_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    # Offset of the text in the output, in characters.
    sa.Column("start", sa.Integer, primary_key=True),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
)
