"""Sessions, their journal, tasks, sidechains and MCP servers, and what they belong to."""

import sqlalchemy as sa

from understudy.runs.sleep import SignalKind
from understudy.sessions.model import ProjectStatus, SessionStatus
from understudy.sessions.tasks import TaskStatus
from understudy.storage.rows import Json, Ms, RowNumber, Sorted
from understudy.storage.schema.metadata import metadata, one_of

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("session_id", sa.Text, primary_key=True),
    sa.Column("agent_id", sa.Text, sa.ForeignKey("agents.agent_id"), nullable=False, index=True),
    sa.Column("owner_id", sa.Text, nullable=False, index=True),
    sa.Column("thread_id", sa.Text),
    sa.Column("parent_session_id", sa.Text, sa.ForeignKey("sessions.session_id"), index=True),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("ended_reason", sa.Text),
    sa.Column("persona_id", sa.Text, index=True),
    sa.Column("persona", Json),
    sa.Column("capability_scope", Json),
    sa.Column("credential_scope", Json),
    sa.Column("permissions", Json),
    sa.Column("route_policy", Json),
    sa.Column("reply_targets", Json, nullable=False),
    # The active skills of the session.
    sa.Column("active_skills", Json, nullable=False, server_default="[]"),
    # Working directory of its tools, relative to the workspace; null for the workspace itself.
    sa.Column("workdir", sa.Text),
    # The trial that it belongs to, itself or through a parent session.
    sa.Column("trial_id", sa.Text),
    sa.Column("journal_length", sa.Integer, nullable=False),
    # The greatest `tx` of its events; 0 on SQLite.
    sa.Column("journal_tx", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
    one_of("status", SessionStatus),
    sa.Index("ix_sessions_newest", "created_at_ms", "session_id"),
)

# Literal SQL: a database uses a partial index only if the query repeats its condition.
CHECKPOINTS = sa.text("kind = 'checkpoint'")
TOOL_RESULTS = sa.text("kind = 'tool_result'")
NUDGES = sa.text("kind = 'nudge'")

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
    # The agent of the run, for events of its evolution record.
    sa.Column("agent_id", sa.Text),
    # The unlearning that withdrew it from later prompts.
    sa.Column("withdrawn_by", sa.Text),
    # Where it stands in the feed on PostgreSQL, with its sequence; 0 on SQLite.
    sa.Column("tx", sa.BigInteger, nullable=False, server_default="0"),
    sa.UniqueConstraint("session_id", "offset"),
    sa.UniqueConstraint("session_id", "key"),
    sa.Index("ix_journal_run", "run_id", "offset"),
    sa.Index(
        "ix_journal_checkpoints",
        "session_id",
        "offset",
        sqlite_where=CHECKPOINTS,
        postgresql_where=CHECKPOINTS,
    ),
    sa.Index(
        "ix_journal_tool_results",
        "session_id",
        "offset",
        sqlite_where=TOOL_RESULTS,
        postgresql_where=TOOL_RESULTS,
    ),
    sa.Index(
        "ix_journal_nudges",
        "agent_id",
        "at_ms",
        "sequence",
        sqlite_where=NUDGES,
        postgresql_where=NUDGES,
    ),
    # Empty on SQLite, whose feed goes by `sequence`.
    sa.Index("ix_journal_feed", "tx", "sequence", sqlite_where=sa.text("tx > 0")),
    sqlite_autoincrement=True,
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
    sa.Column("status", sa.Text, nullable=False, server_default=str(ProjectStatus.ACTIVE)),
    # The folded text that queries search.
    sa.Column("search", sa.Text),
    sa.Column("body", Json, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
    sa.Index("ix_projects_status", "status", "project_id"),
)

# Sessions of projects, copied from the member lists for lookups.
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


sidechains = sa.Table(
    "sidechains",
    metadata,
    sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.session_id"), primary_key=True),
    # No foreign key: it would lock the parent's run behind its session, against the usual order.
    sa.Column("run_id", sa.Text, nullable=False, index=True),
    sa.Column("first_run_id", sa.Text, nullable=False),
    sa.Column("label", Json),
    sa.Column("created_at_ms", Ms, nullable=False),
)

signals = sa.Table(
    "signals",
    metadata,
    sa.Column("number", RowNumber, primary_key=True, autoincrement=True),
    sa.Column("kind", sa.Text, nullable=False),
    # The id of a session or a run, by kind.
    sa.Column("target", sa.Text, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    # Due time; null means at once.
    sa.Column("due_at_ms", Ms),
    one_of("kind", SignalKind),
    sqlite_autoincrement=True,
)


session_bindings = sa.Table(
    "session_bindings",
    metadata,
    sa.Column("binding_key", Sorted, primary_key=True),
    sa.Column(
        "session_id", sa.Text, sa.ForeignKey("sessions.session_id"), nullable=False, index=True
    ),
    sa.Column("bound_by", sa.Text, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
)

accepted_mcp_tools = sa.Table(
    "accepted_mcp_tools",
    metadata,
    sa.Column("digest", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("accepted_by", sa.Text, nullable=False),
    sa.Column("accepted_at_ms", Ms, nullable=False),
)

session_mcp_servers = sa.Table(
    "session_mcp_servers",
    metadata,
    sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.session_id"), primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("body", Json, nullable=False),
)

# Events of clients whose turn goes on.
client_events = sa.Table(
    "client_events",
    metadata,
    sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.session_id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("body", Json, nullable=False),
    sa.Column("at_ms", Ms, nullable=False),
)

# What telemetry told of traces that are no turns yet; the row without an id says how far one is read.
otlp_signals = sa.Table(
    "otlp_signals",
    metadata,
    sa.Column("user_id", sa.Text, primary_key=True),
    sa.Column("trace", sa.Text, primary_key=True),
    sa.Column("told_id", sa.Text, primary_key=True),
    sa.Column("ended_ns", sa.BigInteger, nullable=False),
    sa.Column("closes", sa.Boolean, nullable=False),
    sa.Column("at_ms", Ms, nullable=False),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("body", Json, nullable=False),
)
