"""What runs wait for, and what their tools had to say in full."""

import sqlalchemy as sa

from understudy.runs.requests import Audience, RequestKind, RequestState
from understudy.storage.columns import Json, Ms
from understudy.storage.schema.metadata import metadata, one_of

requests = sa.Table(
    "requests",
    metadata,
    sa.Column("request_id", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text, sa.ForeignKey("runs.run_id"), nullable=False),
    sa.Column("session_id", sa.Text, nullable=False, index=True),
    sa.Column("call_key", sa.Text, nullable=False, unique=True),
    sa.Column("audience", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("body", Json, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("expires_at_ms", Ms),
    sa.Column("resolution", Json),
    sa.Column("resolved_by", sa.Text),
    sa.Column("resolved_at_ms", Ms),
    one_of("kind", RequestKind),
    one_of("audience", Audience),
    one_of("state", RequestState),
    sa.Index("ix_requests_run", "run_id", "state"),
    sa.Index("ix_requests_all", "kind", "created_at_ms", "request_id"),
    sa.Index("ix_requests_listed", "kind", "state", "created_at_ms", "request_id"),
    sa.Index(
        "ix_requests_due",
        "expires_at_ms",
        sqlite_where=sa.text("state = 'pending' AND expires_at_ms IS NOT NULL"),
        postgresql_where=sa.text("state = 'pending' AND expires_at_ms IS NOT NULL"),
    ),
)

artifacts = sa.Table(
    "artifacts",
    metadata,
    sa.Column("artifact_id", sa.Text, primary_key=True),
    sa.Column("run_id", sa.Text, sa.ForeignKey("runs.run_id"), nullable=False, index=True),
    sa.Column("call_key", sa.Text, nullable=False, unique=True),
    sa.Column("tool_name", sa.Text, nullable=False),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
