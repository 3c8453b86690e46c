"""Schedules and their executions."""

import sqlalchemy as sa

from understudy.schedules.model import (
    ExecutionStatus,
    MisfirePolicy,
    OverlapPolicy,
    ScheduleStatus,
)
from understudy.storage.rows import Json, Ms, RowNumber
from understudy.storage.schema.metadata import metadata, one_of

schedules = sa.Table(
    "schedules",
    metadata,
    sa.Column("schedule_id", sa.Text, primary_key=True),
    sa.Column("owner_id", sa.Text, nullable=False),
    sa.Column("acting_admin", sa.Text),
    sa.Column(
        "target_session_id",
        sa.Text,
        sa.ForeignKey("sessions.session_id"),
        nullable=False,
        index=True,
    ),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("ended_reason", sa.Text),
    # The cadence and the request; never change.
    sa.Column("cadence", Json, nullable=False),
    sa.Column("request", Json, nullable=False),
    sa.Column("overlap_policy", sa.Text, nullable=False),
    sa.Column("misfire_policy", sa.Text, nullable=False),
    sa.Column("max_executions", sa.Integer),
    sa.Column("executions", sa.Integer, nullable=False),
    sa.Column("next_fire_at_ms", Ms),
    # When it is due; null unless it is active.
    sa.Column("due_at_ms", Ms),
    sa.Column("last_fired_at_ms", Ms),
    sa.Column("retrying_id", sa.Text),
    sa.Column("retries", sa.Integer, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
    one_of("status", ScheduleStatus),
    one_of("overlap_policy", OverlapPolicy),
    one_of("misfire_policy", MisfirePolicy),
    sa.Index("ix_schedules_newest", "created_at_ms", "schedule_id"),
    sa.Index("ix_schedules_status", "status", "created_at_ms", "schedule_id"),
    sa.Index("ix_schedules_session", "target_session_id", "created_at_ms", "schedule_id"),
    sa.Index("ix_schedules_owner", "owner_id", "status"),
    sa.Index(
        "ix_schedules_due",
        "due_at_ms",
        sqlite_where=sa.text("due_at_ms IS NOT NULL"),
        postgresql_where=sa.text("due_at_ms IS NOT NULL"),
    ),
)

schedule_executions = sa.Table(
    "schedule_executions",
    metadata,
    # Ids are ordered by the clock, which may be set back; this number never goes back.
    sa.Column("number", RowNumber, primary_key=True, autoincrement=True),
    sa.Column("execution_id", sa.Text, nullable=False, unique=True),
    sa.Column(
        "schedule_id",
        sa.Text,
        sa.ForeignKey("schedules.schedule_id", ondelete="CASCADE"),
        nullable=False,
    ),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("at_ms", Ms, nullable=False),
    sa.Column("scheduled_for_ms", Ms),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("run_id", sa.Text),
    sa.Column("reason", sa.Text),
    sa.Column("triggered_by", sa.Text),
    one_of("status", ExecutionStatus),
    sa.Index("ix_schedule_executions_newest", "schedule_id", "number"),
)
