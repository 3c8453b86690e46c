"""Runs, their records, and their requests to people."""

import sqlalchemy as sa

from understudy.runs.model import RunStatus
from understudy.runs.requests import Audience, RequestKind, RequestState
from understudy.storage.rows import Json, Ms, RowNumber
from understudy.storage.schema.metadata import metadata, one_of, some_of

# Literal SQL: a database uses a partial index only if the query repeats its condition.
BRINGS_OTHERS_IN = sa.text("brings_others_in")
EXECUTES_A_SKILL = sa.text("skill_fingerprint IS NOT NULL")

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.session_id"), nullable=False),
    sa.Column("agent_id", sa.Text, nullable=False),
    sa.Column("user_id", sa.Text, nullable=False, index=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("stop_request", sa.Text),
    sa.Column("parked", sa.Boolean, nullable=False),
    sa.Column("asleep", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("wakes", sa.Integer, nullable=False, server_default="0"),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("accepted_offset", sa.Integer, nullable=False),
    sa.Column("submitted_at_ms", Ms, nullable=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
    sa.Column("started_at_ms", Ms),
    sa.Column("finished_at_ms", Ms),
    # The taints of the text that the run has read, by source; and whether there are any.
    sa.Column("taints", Json),
    sa.Column("brings_others_in", sa.Boolean, nullable=False, server_default=sa.false()),
    # The definition of a promoted skill that the run executes, if any.
    sa.Column("skill_fingerprint", sa.Text),
    # The trial of its session, copied so that trial runs can be excluded without a join.
    sa.Column("trial_id", sa.Text),
    # The request; never changes.
    sa.Column("wanted", Json, nullable=False),
    # The inputs of the prompt; set once, when the run starts.
    sa.Column("snapshot", Json),
    # State beyond the columns above.
    sa.Column("state", Json, nullable=False),
    one_of("status", RunStatus),
    sa.Index("ix_runs_newest", "submitted_at_ms", "run_id"),
    sa.Index("ix_runs_session", "session_id", "submitted_at_ms", "run_id"),
    # Only unfinished runs: the queue of a session.
    sa.Index(
        "ix_runs_unfinished",
        "session_id",
        "accepted_offset",
        sqlite_where=sa.text("finished_at_ms IS NULL"),
        postgresql_where=sa.text("finished_at_ms IS NULL"),
    ),
    # The same by user: the queue of a user, and what is in flight.
    sa.Index(
        "ix_runs_unfinished_of_user",
        "user_id",
        "status",
        "submitted_at_ms",
        "run_id",
        sqlite_where=sa.text("finished_at_ms IS NULL"),
        postgresql_where=sa.text("finished_at_ms IS NULL"),
    ),
    sa.Index("ix_runs_status", "status", "submitted_at_ms", "run_id"),
    sa.Index("ix_runs_agent", "agent_id", "submitted_at_ms", "run_id"),
    sa.Index(
        "ix_runs_brings_others_in",
        "session_id",
        "accepted_offset",
        sqlite_where=BRINGS_OTHERS_IN,
        postgresql_where=BRINGS_OTHERS_IN,
    ),
    sa.Index(
        "ix_runs_skill_fingerprint",
        "skill_fingerprint",
        "submitted_at_ms",
        "run_id",
        sqlite_where=EXECUTES_A_SKILL,
        postgresql_where=EXECUTES_A_SKILL,
    ),
)

debug_requests = sa.Table(
    "debug_requests",
    metadata,
    sa.Column("number", RowNumber, primary_key=True, autoincrement=True),
    sa.Column("run_id", sa.Text, sa.ForeignKey("runs.run_id"), nullable=False, index=True),
    sa.Column("step", sa.Integer, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("at_ms", Ms, nullable=False, index=True),
    sa.Column("request", Json, nullable=False),
    sa.Column("response", Json),
)

# Idempotency keys of submissions; written in the transaction of the run they belong to.
receipts = sa.Table(
    "receipts",
    metadata,
    sa.Column("key_hash", sa.Text, primary_key=True),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("resource_id", sa.Text, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False, index=True),
)


# Literal SQL: a database uses a partial index only if the query repeats its condition.
OFFERS = sa.text("kind = 'offer'")
WAITING = sa.text("state = 'pending' AND audience = 'user'")

requests = sa.Table(
    "requests",
    metadata,
    sa.Column("request_id", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text, sa.ForeignKey("runs.run_id"), nullable=False),
    sa.Column("session_id", sa.Text, nullable=False),
    sa.Column("call_key", sa.Text, nullable=False, unique=True),
    sa.Column("audience", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("body", Json, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("expires_at_ms", Ms),
    sa.Column("resolution", Json),
    sa.Column("resolved_by", sa.Text),
    sa.Column("resolved_at_ms", Ms),
    # The only user who can answer; null for anybody.
    sa.Column("user_id", sa.Text),
    # The agent whose run made an offer.
    sa.Column("agent_id", sa.Text),
    one_of("kind", RequestKind),
    one_of("audience", Audience),
    one_of("state", RequestState),
    sa.Index("ix_requests_run", "run_id", "state", "created_at_ms", "request_id", "kind"),
    sa.Index("ix_requests_session", "session_id", "state", "created_at_ms", "request_id", "kind"),
    sa.Index("ix_requests_all", "kind", "created_at_ms", "request_id"),
    sa.Index("ix_requests_listed", "kind", "state", "created_at_ms", "request_id"),
    # A covering index, so that counting the inbox reads no row. SQLite reads the rows if a column of
    # the condition is missing.
    some_of(
        "ix_requests_waiting",
        "kind",
        "created_at_ms",
        "request_id",
        "user_id",
        "state",
        "audience",
        where=WAITING,
    ),
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
    sa.Column("created_at_ms", Ms, nullable=False, index=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
