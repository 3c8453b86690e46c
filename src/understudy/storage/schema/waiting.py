"""What runs wait for, and what their tools had to say in full."""

import sqlalchemy as sa

from understudy.runs.requests import Audience, RequestKind, RequestState
from understudy.storage.columns import Json, Ms
from understudy.storage.schema.metadata import metadata, one_of

# Written out, as a database knows what an index is for only from the words of a query.
OFFERS = sa.text("kind = 'offer'")

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
    # Who is asked, where only one person can answer.
    sa.Column("user_id", sa.Text),
    # Whose run made an offer.
    sa.Column("agent_id", sa.Text),
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
    # A user has at most one open offer in a session.
    sa.Index(
        "ix_requests_open_offer",
        "session_id",
        "user_id",
        unique=True,
        sqlite_where=sa.text("kind = 'offer' AND state = 'pending'"),
        postgresql_where=sa.text("kind = 'offer' AND state = 'pending'"),
    ),
    sa.Index(
        "ix_requests_offers",
        "session_id",
        "user_id",
        "created_at_ms",
        "request_id",
        sqlite_where=OFFERS,
        postgresql_where=OFFERS,
    ),
    sa.Index(
        "ix_requests_offered_by",
        "agent_id",
        "created_at_ms",
        "request_id",
        sqlite_where=OFFERS,
        postgresql_where=OFFERS,
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
