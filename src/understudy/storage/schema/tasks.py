"""What is to be done in a session."""

import sqlalchemy as sa

from understudy.sessions.tasks import TaskStatus
from understudy.storage.columns import Json, Ms
from understudy.storage.schema.metadata import metadata, one_of

tasks = sa.Table(
    "tasks",
    metadata,
    sa.Column("task_id", sa.Text, primary_key=True),
    sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.session_id"), nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text),
    # A digest of the tool call that made it: a repeat of the call makes no second one.
    sa.Column("call_digest", sa.Text, unique=True),
    sa.Column("body", Json, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
    one_of("status", TaskStatus),
    sa.UniqueConstraint("session_id", "number"),
)
