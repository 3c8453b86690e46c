"""sessions, runs, agents and what they need."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "agents",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("display_name", sa.Text(), nullable=False),
        sa.Column("agent_type", sa.Text(), nullable=False),
        sa.Column("route", sa.Text(), nullable=True),
        sa.Column("max_tool_iterations", sa.Integer(), nullable=False),
        sa.Column("other_config", sa.Text(), nullable=False),
        sa.Column("permissions", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "agent_type IN ('predefined', 'open')", name=op.f("ck_agents_agent_type")
        ),
        sa.PrimaryKeyConstraint("agent_id", name=op.f("pk_agents")),
    )
    op.create_table(
        "audit",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("resource", sa.Text(), nullable=False),
        sa.Column("resource_id", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.CheckConstraint("outcome IN ('done', 'refused')", name=op.f("ck_audit_outcome")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_audit")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("audit", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_audit_actor"), ["actor"], unique=False)
        batch_op.create_index(batch_op.f("ix_audit_resource"), ["resource"], unique=False)

    op.create_table(
        "personas",
        sa.Column("persona_id", sa.Text(), nullable=False),
        sa.Column("display_name", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("persona_id", name=op.f("pk_personas")),
    )
    op.create_table(
        "projects",
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_projects")),
    )
    op.create_table(
        "receipts",
        sa.Column("key_hash", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("resource_id", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key_hash", name=op.f("pk_receipts")),
    )
    op.create_table(
        "responses",
        sa.Column("key_hash", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("body", sa.Text(), nullable=True),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key_hash", name=op.f("pk_responses")),
    )
    with op.batch_alter_table("responses", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_responses_created_at_ms"), ["created_at_ms"], unique=False
        )

    op.create_table(
        "runtime_revisions",
        sa.Column("revision", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("setting", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("rollback_of_revision", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("revision", name=op.f("pk_runtime_revisions")),
    )
    op.create_table(
        "tokens",
        sa.Column("token_id", sa.Text(), nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("role IN ('viewer', 'operator', 'admin')", name=op.f("ck_tokens_role")),
        sa.PrimaryKeyConstraint("token_id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_tokens_token_hash")),
    )
    op.create_table(
        "tool_switches",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_tool_switches")),
    )
    op.create_table(
        "agent_files",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"],
            ["agents.agent_id"],
            name=op.f("fk_agent_files_agent_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("agent_id", "name", "version", name=op.f("pk_agent_files")),
    )
    op.create_table(
        "project_sessions",
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["projects.project_id"],
            name=op.f("fk_project_sessions_project_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("project_id", "session_id", name=op.f("pk_project_sessions")),
    )
    with op.batch_alter_table("project_sessions", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_project_sessions_session_id"), ["session_id"], unique=False
        )

    op.create_table(
        "sessions",
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("thread_id", sa.Text(), nullable=True),
        sa.Column("parent_session_id", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("ended_reason", sa.Text(), nullable=True),
        sa.Column("persona_id", sa.Text(), nullable=True),
        sa.Column("persona", sa.Text(), nullable=True),
        sa.Column("capability_scope", sa.Text(), nullable=True),
        sa.Column("credential_scope", sa.Text(), nullable=True),
        sa.Column("route_policy", sa.Text(), nullable=True),
        sa.Column("reply_targets", sa.Text(), nullable=False),
        sa.Column("journal_length", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("status IN ('active', 'ended')", name=op.f("ck_sessions_status")),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.agent_id"], name=op.f("fk_sessions_agent_id")
        ),
        sa.ForeignKeyConstraint(
            ["parent_session_id"],
            ["sessions.session_id"],
            name=op.f("fk_sessions_parent_session_id"),
        ),
        sa.PrimaryKeyConstraint("session_id", name=op.f("pk_sessions")),
    )
    with op.batch_alter_table("sessions", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_sessions_agent_id"), ["agent_id"], unique=False)
        batch_op.create_index("ix_sessions_newest", ["created_at_ms", "session_id"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_sessions_parent_session_id"), ["parent_session_id"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_sessions_persona_id"), ["persona_id"], unique=False)

    op.create_table(
        "journal",
        sa.Column(
            "sequence",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("offset", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("key", sa.Text(), nullable=True),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.session_id"], name=op.f("fk_journal_session_id")
        ),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_journal")),
        sa.UniqueConstraint("session_id", "key", name=op.f("uq_journal_session_id_key")),
        sa.UniqueConstraint("session_id", "offset", name=op.f("uq_journal_session_id_offset")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("journal", schema=None) as batch_op:
        batch_op.create_index("ix_journal_run", ["run_id", "offset"], unique=False)

    op.create_table(
        "runs",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("stop_request", sa.Text(), nullable=True),
        sa.Column("parked", sa.Boolean(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("accepted_offset", sa.Integer(), nullable=False),
        sa.Column("submitted_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("started_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("finished_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("wanted", sa.Text(), nullable=False),
        sa.Column("snapshot", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "status IN ('queued', 'running', 'waiting_for_approval', 'waiting_for_user_question', 'completed', 'failed', 'interrupted', 'cancelled')",
            name=op.f("ck_runs_status"),
        ),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.session_id"], name=op.f("fk_runs_session_id")
        ),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_runs")),
    )
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.create_index("ix_runs_newest", ["submitted_at_ms", "run_id"], unique=False)
        batch_op.create_index(
            "ix_runs_session", ["session_id", "submitted_at_ms", "run_id"], unique=False
        )
        batch_op.create_index(
            "ix_runs_status", ["status", "submitted_at_ms", "run_id"], unique=False
        )
        batch_op.create_index(
            "ix_runs_unfinished",
            ["session_id", "accepted_offset"],
            unique=False,
            sqlite_where=sa.text("finished_at_ms IS NULL"),
            postgresql_where=sa.text("finished_at_ms IS NULL"),
        )

    op.create_table(
        "debug_requests",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("response", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name=op.f("fk_debug_requests_run_id")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_debug_requests")),
    )
    with op.batch_alter_table("debug_requests", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_debug_requests_run_id"), ["run_id"], unique=False)
