"""The tables of Understudy, the same on SQLite and PostgreSQL."""

from enum import StrEnum

import sqlalchemy as sa

from understudy.agents.model import AgentType
from understudy.core.audit import Outcome
from understudy.core.principal import Role
from understudy.runs.model import RunStatus
from understudy.sessions.model import SessionStatus
from understudy.storage.columns import Json, Ms, RowNumber

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def one_of(column: str, values: type[StrEnum]) -> sa.CheckConstraint:
    """The column holds a value of the enum."""
    listed = ", ".join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=column)


agents = sa.Table(
    "agents",
    metadata,
    sa.Column("agent_id", sa.Text, primary_key=True),
    sa.Column("display_name", sa.Text, nullable=False),
    sa.Column("agent_type", sa.Text, nullable=False),
    sa.Column("route", sa.Text),
    sa.Column("max_tool_iterations", sa.Integer, nullable=False),
    sa.Column("other_config", Json, nullable=False),
    sa.Column("permissions", Json, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
    one_of("agent_type", AgentType),
)

agent_files = sa.Table(
    "agent_files",
    metadata,
    sa.Column(
        "agent_id", sa.Text, sa.ForeignKey("agents.agent_id", ondelete="CASCADE"), primary_key=True
    ),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("content", Json, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text),
    sa.Column("created_at_ms", Ms, nullable=False),
)

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("session_id", sa.Text, primary_key=True),
    sa.Column("agent_id", sa.Text, sa.ForeignKey("agents.agent_id"), nullable=False, index=True),
    sa.Column("owner_id", sa.Text, nullable=False),
    sa.Column("thread_id", sa.Text),
    sa.Column("parent_session_id", sa.Text, sa.ForeignKey("sessions.session_id"), index=True),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("ended_reason", sa.Text),
    sa.Column("persona_id", sa.Text, index=True),
    sa.Column("persona", Json),
    sa.Column("capability_scope", Json),
    sa.Column("credential_scope", Json),
    sa.Column("route_policy", Json),
    sa.Column("reply_targets", Json, nullable=False),
    sa.Column("journal_length", sa.Integer, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
    one_of("status", SessionStatus),
    sa.Index("ix_sessions_newest", "created_at_ms", "session_id"),
)

journal = sa.Table(
    "journal",
    metadata,
    sa.Column("sequence", RowNumber, primary_key=True, autoincrement=True),
    sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.session_id"), nullable=False),
    sa.Column("offset", sa.Integer, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text),
    sa.Column("key", sa.Text),
    sa.Column("at_ms", Ms, nullable=False),
    sa.Column("data", Json, nullable=False),
    sa.UniqueConstraint("session_id", "offset"),
    sa.UniqueConstraint("session_id", "key"),
    sa.Index("ix_journal_run", "run_id", "offset"),
    sqlite_autoincrement=True,
)

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.session_id"), nullable=False),
    sa.Column("agent_id", sa.Text, nullable=False),
    sa.Column("user_id", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("stop_request", sa.Text),
    sa.Column("parked", sa.Boolean, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("accepted_offset", sa.Integer, nullable=False),
    sa.Column("submitted_at_ms", Ms, nullable=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
    sa.Column("started_at_ms", Ms),
    sa.Column("finished_at_ms", Ms),
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

personas = sa.Table(
    "personas",
    metadata,
    sa.Column("persona_id", sa.Text, primary_key=True),
    sa.Column("display_name", sa.Text, nullable=False),
    sa.Column("body", Json, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
)

projects = sa.Table(
    "projects",
    metadata,
    sa.Column("project_id", sa.Text, primary_key=True),
    sa.Column("body", Json, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
)

# Which session belongs to which project, beside the member lists, so that it can be looked up.
project_sessions = sa.Table(
    "project_sessions",
    metadata,
    sa.Column(
        "project_id",
        sa.Text,
        sa.ForeignKey("projects.project_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("session_id", sa.Text, primary_key=True, index=True),
)

tokens = sa.Table(
    "tokens",
    metadata,
    sa.Column("token_id", sa.Text, primary_key=True),
    sa.Column("token_hash", sa.Text, nullable=False, unique=True),
    sa.Column("user_id", sa.Text, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    one_of("role", Role),
)

audit = sa.Table(
    "audit",
    metadata,
    sa.Column("number", RowNumber, primary_key=True, autoincrement=True),
    sa.Column("at_ms", Ms, nullable=False),
    sa.Column("actor", sa.Text, nullable=False, index=True),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("resource", sa.Text, nullable=False, index=True),
    sa.Column("resource_id", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("version", sa.Integer),
    sa.Column("reason", sa.Text),
    sa.Column("request_id", sa.Text, nullable=False),
    one_of("outcome", Outcome),
    sqlite_autoincrement=True,
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

# Idempotency keys of all other requests, with the answer that was given; no status: under way.
responses = sa.Table(
    "responses",
    metadata,
    sa.Column("key_hash", sa.Text, primary_key=True),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("status", sa.Integer),
    sa.Column("body", Json),
    sa.Column("created_at_ms", Ms, nullable=False, index=True),
)

runtime_revisions = sa.Table(
    "runtime_revisions",
    metadata,
    sa.Column("revision", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("setting", sa.Text, nullable=False),
    sa.Column("document", Json, nullable=False),
    sa.Column("rollback_of_revision", sa.Integer),
)

tool_switches = sa.Table(
    "tool_switches",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("enabled", sa.Boolean, nullable=False),
)
