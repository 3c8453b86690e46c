"""Runs, what is kept about each, and what they ask of people."""

import sqlalchemy as sa

from understudy.runs.model import RunStatus
from understudy.runs.requests import Audience, RequestKind, RequestState
from understudy.storage.rows import Json, Ms, RowNumber
from understudy.storage.schema.metadata import metadata, one_of

# Written out, as a database knows what an index is for only from the words of a query.
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
    # Whether what was asked holds more than its user's words.
    # Whose text it has read, by source.
    sa.Column("taints", Json),
    sa.Column("brings_others_in", sa.Boolean, nullable=False, server_default=sa.false()),
    # The definition of a promoted skill that the run executes, if it does.
    sa.Column("skill_fingerprint", sa.Text),
    # That of its session: what only tries something out is told from the rest without a look there.
    sa.Column("trial_id", sa.Text),
    # What was asked for; never changes.
    sa.Column("wanted", Json, nullable=False),
    # What the prompt is built from; set once, when the run starts.
    sa.Column("snapshot", Json),
    # Where it stands beyond the columns above.
    sa.Column("state", Json, nullable=False),
    one_of("status", RunStatus),
    sa.Index("ix_runs_newest", "submitted_at_ms", "run_id"),
    sa.Index("ix_runs_session", "session_id", "submitted_at_ms", "run_id"),
    # The line of a session, without all the runs that have ended.
    sa.Index(
        "ix_runs_unfinished",
        "session_id",
        "accepted_offset",
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
    sa.Column("at_ms", Ms, nullable=False),
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
    sa.Column("created_at_ms", Ms, nullable=False),
)


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
