"""the tables of Understudy as commit 41f7bf00 left them, frozen.

The number is that of the last of the steps that made them until then, so that a database of that
commit is up to date with this one.
"""

import sqlalchemy as sa
from alembic import op

revision = "0048"
down_revision = None
branch_labels = None
depends_on = None

# Text that PostgreSQL compares bytewise, as SQLite does.
SORTED = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
# SQLite numbers only a column of type INTEGER.
ROW_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# The inverted index of terms; see `storage/term_postings`.
POSTINGS = {
    "sqlite": """
        CREATE VIRTUAL TABLE term_tokens
            USING fts5(tokens, content='', columnsize=0, detail=none, tokenize='ascii');
        CREATE VIRTUAL TABLE term_vocabulary USING fts5vocab(term_tokens, row);
    """,
    # Every query reads the pending list of a GIN index, so the list is kept short.
    "postgresql": """
        CREATE TABLE term_tokens (
            number bigint PRIMARY KEY REFERENCES term_entries (number) ON DELETE CASCADE,
            tokens bigint[] NOT NULL
        );
        CREATE INDEX ix_term_tokens_tokens
            ON term_tokens USING gin (tokens) WITH (gin_pending_list_limit = 512);
    """,
}
TABLES = sa.MetaData(
    naming_convention={
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def upgrade() -> None:
    connection = op.get_bind()
    TABLES.create_all(connection, checkfirst=False)
    for statement in (INDEXES + POSTINGS[connection.dialect.name]).split(";\n")[:-1]:
        connection.exec_driver_sql(statement)
    if connection.dialect.name == "sqlite":
        # Everything ever deleted from this file will have been overwritten; see `storage/engine`.
        op.execute("PRAGMA user_version = 1")
    start = {"place": 0, "link": "0" * 64, "base_place": 0, "base_link": "0" * 64, "unchained": 0}
    chained = [{"name": name, **start} for name in ("audit", "skill_versions")]
    op.bulk_insert(TABLES.tables["chains"], chained)


def _one_of(column: str, *values: str) -> sa.CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=column)


sa.Table(
    "agents",
    TABLES,
    sa.Column("agent_id", sa.Text, primary_key=True),
    sa.Column("display_name", sa.Text, nullable=False),
    sa.Column("agent_type", sa.Text, nullable=False),
    sa.Column("route", sa.Text),
    sa.Column("max_tool_iterations", sa.Integer, nullable=False),
    sa.Column("other_config", sa.Text, nullable=False),
    sa.Column("permissions", sa.Text, nullable=False),
    sa.Column("owner_id", sa.Text),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
    _one_of("agent_type", "predefined", "open"),
)
sa.Table(
    "asset_blobs",
    TABLES,
    sa.Column("sha256", sa.Text, primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
sa.Table(
    "assets",
    TABLES,
    sa.Column("asset_id", sa.Text, primary_key=True),
    sa.Column("file_name", sa.Text, nullable=False),
    sa.Column("media_type", sa.Text, nullable=False),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("sha256", sa.Text, nullable=False),
    sa.Column("owner_id", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.UniqueConstraint("media_type", "sha256"),
)
sa.Table(
    "audit",
    TABLES,
    sa.Column("number", ROW_NUMBER, primary_key=True),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("resource", sa.Text, nullable=False),
    sa.Column("resource_id", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("version", sa.Integer),
    sa.Column("reason", sa.Text),
    sa.Column("request_id", sa.Text, nullable=False),
    sa.Column("place", sa.BigInteger),
    sa.Column("content_digest", sa.Text),
    sa.Column("link", sa.Text),
    sa.Column("erased_at_ms", sa.BigInteger),
    _one_of("outcome", "done", "refused"),
    sqlite_autoincrement=True,
)
sa.Table(
    "canary_secret",
    TABLES,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("secret", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
)
sa.Table(
    "capture_jobs",
    TABLES,
    sa.Column("job_id", sa.Text, primary_key=True),
    sa.Column("due_at_ms", sa.BigInteger, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("claim", sa.Text),
    sa.Column("again_at_ms", sa.BigInteger),
    sa.Column("needs_model", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("error", sa.Text),
)
sa.Table(
    "learning_candidates",
    TABLES,
    sa.Column("candidate_id", sa.Text, primary_key=True),
    sa.Column("origin", sa.Text, nullable=False),
    sa.Column("scope_key", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("sensitivity", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("is_open", sa.Boolean, nullable=False),
    sa.Column("capture_path", sa.Text, nullable=False),
    sa.Column("source_run_id", sa.Text),
    sa.Column("key_digest", sa.Text, nullable=False),
    sa.Column("rule_name", sa.Text),
    sa.Column("rule_folded", sa.Text),
    sa.Column("is_automatic", sa.Boolean, nullable=False),
    sa.Column("is_expired", sa.Boolean, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("expires_at_ms", sa.BigInteger),
    sa.Column("decided_at_ms", sa.BigInteger),
    sa.Column("search", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("applies", sa.Text, nullable=False, server_default="when_relevant"),
    sa.Column("snoozed_until_ms", sa.BigInteger),
    sa.Column("review_rank", sa.Integer, nullable=False, server_default="0"),
    sa.Column("key_rules", sa.Integer, nullable=False, server_default="0"),
    _one_of("applies", "when_relevant", "always"),
    _one_of("capture_path", "api", "run_summary", "labels", "model", "usage", "rollout"),
    _one_of("kind", "run_summary", "fact", "preference", "decision", "procedure"),
    _one_of("origin", "api", "daemon"),
    _one_of("sensitivity", "scoped", "sensitive"),
    _one_of("state", "pending", "escalated", "published", "rejected"),
)
sa.Table(
    "learning_reviews",
    TABLES,
    sa.Column("candidate_id", sa.Text, primary_key=True),
    sa.Column("policy_digest", sa.Text, primary_key=True),
    sa.Column("reviewed_at_ms", sa.BigInteger, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
)
sa.Table(
    "learning_uses",
    TABLES,
    sa.Column("learning_id", sa.Text, primary_key=True),
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("learning_version", sa.Integer, primary_key=True),
    sa.Column("session_id", sa.Text, nullable=False),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
)
sa.Table(
    "learnings",
    TABLES,
    sa.Column("learning_id", sa.Text, primary_key=True),
    sa.Column("scope_key", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("sensitivity", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("is_live", sa.Boolean, nullable=False),
    sa.Column("is_active", sa.Boolean, nullable=False),
    sa.Column("is_taken_back", sa.Boolean, nullable=False),
    sa.Column("publish_tier", sa.Text, nullable=False),
    sa.Column("verification_status", sa.Text, nullable=False),
    sa.Column("policy_decision", sa.Text),
    sa.Column("actor_folded", sa.Text),
    sa.Column("key_digest", sa.Text, nullable=False),
    sa.Column("subject_digest", sa.Text),
    sa.Column("source_candidate_id", sa.Text, unique=True),
    sa.Column("supersedes", sa.Text),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("published_at_ms", sa.BigInteger, nullable=False),
    sa.Column("expires_at_ms", sa.BigInteger),
    sa.Column("search", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("applies", sa.Text, nullable=False, server_default="when_relevant"),
    sa.Column("key_rules", sa.Integer, nullable=False, server_default="0"),
    _one_of("applies", "when_relevant", "always"),
    _one_of("kind", "run_summary", "fact", "preference", "decision", "procedure"),
    _one_of("policy_decision", "manual", "automatic", "escalated"),
    _one_of("publish_tier", "provisional", "active"),
    _one_of("sensitivity", "scoped", "sensitive"),
    _one_of("status", "provisional", "active", "superseded", "revoked"),
    _one_of("verification_status", "unverified", "pending", "verified", "failed"),
)
sa.Table(
    "personas",
    TABLES,
    sa.Column("persona_id", sa.Text, primary_key=True),
    sa.Column("display_name", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
)
sa.Table(
    "projects",
    TABLES,
    sa.Column("project_id", sa.Text, primary_key=True),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
    sa.Column("status", sa.Text, nullable=False, server_default="active"),
    sa.Column("search", sa.Text),
)
sa.Table(
    "receipts",
    TABLES,
    sa.Column("key_hash", sa.Text, primary_key=True),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("resource_id", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
)
sa.Table(
    "responses",
    TABLES,
    sa.Column("key_hash", sa.Text, primary_key=True),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("status", sa.Integer),
    sa.Column("body", sa.Text),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("holder", sa.Text),
)
sa.Table(
    "review_jobs",
    TABLES,
    sa.Column("job_id", sa.Text, primary_key=True),
    sa.Column("due_at_ms", sa.BigInteger, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("claim", sa.Text),
    sa.Column("again_at_ms", sa.BigInteger),
    sa.Column("needs_model", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("error", sa.Text),
)
sa.Table(
    "rollouts",
    TABLES,
    sa.Column("skill_name", SORTED, primary_key=True),
    sa.Column("folded_name", sa.Text, nullable=False),
    sa.Column("source_learning_id", sa.Text, nullable=False),
    sa.Column("source_scope_key", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("promoted_at_ms", sa.BigInteger, nullable=False),
    sa.Column("promoted_by", sa.Text, nullable=False),
    sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
    sa.Column("is_flagged", sa.Boolean, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    _one_of("status", "draft", "verified", "canary", "active", "revoked"),
)
sa.Table(
    "run_memory_bodies",
    TABLES,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("stamp", sa.Text, nullable=False),
)
sa.Table(
    "runtime_revisions",
    TABLES,
    sa.Column("revision", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("setting", sa.Text, nullable=False),
    sa.Column("document", sa.Text, nullable=False),
    sa.Column("rollback_of_revision", sa.Integer),
)
sa.Table(
    "signals",
    TABLES,
    sa.Column("number", ROW_NUMBER, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("target", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("due_at_ms", sa.BigInteger),
    _one_of("kind", "look", "stop"),
    sqlite_autoincrement=True,
)
sa.Table(
    "skill_blobs",
    TABLES,
    sa.Column("sha256", sa.Text, primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
sa.Table(
    "skill_bundles",
    TABLES,
    sa.Column("slug", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("digest", sa.Text, nullable=False),
)
sa.Table(
    "skill_listing_days",
    TABLES,
    sa.Column("ref", sa.Text, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("day", sa.Integer, primary_key=True),
    sa.Column("runs", sa.BigInteger, nullable=False),
)
sa.Table(
    "skill_listings",
    TABLES,
    sa.Column("ref", sa.Text, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
)
sa.Table(
    "skill_trash",
    TABLES,
    sa.Column("trash_name", sa.Text, primary_key=True),
    sa.Column("owner_id", sa.Text, nullable=False),
    sa.Column("deleted_by", sa.Text, nullable=False),
    sa.Column("deleted_at_ms", sa.BigInteger, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
)
sa.Table(
    "skills",
    TABLES,
    sa.Column("skill_id", sa.Text, primary_key=True),
    sa.Column("slug", SORTED, unique=True, nullable=False),
    sa.Column("origin", sa.Text, nullable=False),
    sa.Column("owner_id", sa.Text, nullable=False),
    sa.Column("visibility", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("enabled", sa.Boolean, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("trash_name", sa.Text),
    sa.Column("sort_name", SORTED, nullable=False),
    sa.Column("search", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
    sa.Column("is_draft", sa.Boolean, nullable=False, server_default=sa.false()),
    _one_of("origin", "system", "managed", "promoted", "local"),
    _one_of("status", "active", "archived", "deleted"),
    _one_of("visibility", "private", "internal", "public"),
)
sa.Table(
    "suggestion_looks",
    TABLES,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
)
sa.Table(
    "suggestions",
    TABLES,
    sa.Column("rule", sa.Text, primary_key=True),
    sa.Column("subject", sa.Text, primary_key=True),
    sa.Column("candidate_id", sa.Text, nullable=False),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
)
sa.Table(
    "term_entries",
    TABLES,
    sa.Column("number", ROW_NUMBER, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("source_id", sa.Text, nullable=False),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
    sa.Column("length", sa.Integer, nullable=False),
    sa.Column("scopes", sa.Text, nullable=False),
    sa.Column("tokens", sa.LargeBinary, nullable=False),
    sa.UniqueConstraint("kind", "source_id"),
    sqlite_autoincrement=True,
)
sa.Table(
    "tokens",
    TABLES,
    sa.Column("token_id", sa.Text, primary_key=True),
    sa.Column("token_hash", sa.Text, unique=True, nullable=False),
    sa.Column("user_id", sa.Text, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("locale", sa.Text),
    _one_of("role", "viewer", "operator", "admin"),
)
sa.Table(
    "tool_switches",
    TABLES,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("enabled", sa.Boolean, nullable=False),
)
sa.Table(
    "webhook_secret",
    TABLES,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("secret", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
)
sa.Table(
    "agent_files",
    TABLES,
    sa.Column(
        "agent_id", sa.Text, sa.ForeignKey("agents.agent_id", ondelete="CASCADE"), primary_key=True
    ),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("reviewed_by", sa.Text),
    sa.Column("untrusted_sources", sa.Text, nullable=False, server_default="[]"),
    sa.Column("reason", sa.Text),
)
sa.Table(
    "file_proposals",
    TABLES,
    sa.Column("proposal_id", sa.Text, primary_key=True),
    sa.Column(
        "agent_id", sa.Text, sa.ForeignKey("agents.agent_id", ondelete="CASCADE"), nullable=False
    ),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("base_version", sa.Integer, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("decided_by", sa.Text),
    sa.Column("decided_at_ms", sa.BigInteger),
    sa.Column("reason", sa.Text),
    sa.Column("file_version", sa.Integer),
    sa.Column("untrusted_sources", sa.Text, nullable=False, server_default="[]"),
    sa.Column("user_id", sa.Text),
    _one_of("state", "pending", "approved", "rejected", "superseded"),
)
sa.Table(
    "project_sessions",
    TABLES,
    sa.Column(
        "project_id",
        sa.Text,
        sa.ForeignKey("projects.project_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("session_id", sa.Text, primary_key=True),
)
sa.Table(
    "rollout_definitions",
    TABLES,
    sa.Column("skill_name", sa.Text, sa.ForeignKey("rollouts.skill_name"), primary_key=True),
    sa.Column("fingerprint", sa.Text, primary_key=True),
    sa.Column("body", sa.Text, nullable=False),
)
sa.Table(
    "rollout_events",
    TABLES,
    sa.Column("number", ROW_NUMBER, primary_key=True),
    sa.Column("skill_name", sa.Text, sa.ForeignKey("rollouts.skill_name"), nullable=False),
    sa.Column("event", sa.Text, nullable=False),
    sa.Column("recorded_at_ms", sa.BigInteger, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    _one_of(
        "event", "promote", "rollout_result", "revoke", "rollback", "hold", "release", "demote"
    ),
    sqlite_autoincrement=True,
)
sa.Table(
    "rollout_evidence",
    TABLES,
    sa.Column("evidence_id", sa.Text, primary_key=True),
    sa.Column("skill_name", sa.Text, sa.ForeignKey("rollouts.skill_name"), nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("proof", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text, nullable=False),
    sa.Column("root_session_id", sa.Text, nullable=False),
    sa.Column("success", sa.Boolean, nullable=False),
    sa.Column("note", sa.Text, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("recorded_at_ms", sa.BigInteger, nullable=False),
    sa.Column("trial_id", sa.Text),
    sa.Column("workspace_digest", sa.Text),
    _one_of("kind", "verification", "canary"),
    _one_of("proof", "attested", "executed"),
    sa.UniqueConstraint("skill_name", "attempt", "run_id"),
)
sa.Table(
    "rollout_outcomes",
    TABLES,
    sa.Column("skill_name", sa.Text, sa.ForeignKey("rollouts.skill_name"), primary_key=True),
    sa.Column("fingerprint", sa.Text, primary_key=True),
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("session_id", sa.Text, nullable=False),
    sa.Column("root_session_id", sa.Text, nullable=False),
    sa.Column("stage", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("used_at_ms", sa.BigInteger, nullable=False),
    sa.Column("ended_at_ms", sa.BigInteger, nullable=False),
    sa.Column("carrying_run_id", sa.Text),
    _one_of("outcome", "succeeded", "failed", "abandoned"),
    _one_of("stage", "draft", "verified", "canary", "active", "revoked"),
)
sa.Table(
    "rollout_trials",
    TABLES,
    sa.Column("trial_id", sa.Text, primary_key=True),
    sa.Column("skill_name", sa.Text, sa.ForeignKey("rollouts.skill_name"), nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("marker", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text),
    sa.Column("session_id", sa.Text),
    sa.Column("cases", sa.Text, nullable=False),
    sa.Column("report", sa.Text),
    sa.Column("reason", sa.Text),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("ended_at_ms", sa.BigInteger),
    sa.Column("workspace_digest", sa.Text),
    _one_of("kind", "verification", "canary"),
    _one_of("state", "pending", "passed", "failed"),
)
sa.Table(
    "sessions",
    TABLES,
    sa.Column("session_id", sa.Text, primary_key=True),
    sa.Column("agent_id", sa.Text, sa.ForeignKey("agents.agent_id"), nullable=False),
    sa.Column("owner_id", sa.Text, nullable=False),
    sa.Column("thread_id", sa.Text),
    sa.Column("parent_session_id", sa.Text, sa.ForeignKey("sessions.session_id")),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("ended_reason", sa.Text),
    sa.Column("persona_id", sa.Text),
    sa.Column("persona", sa.Text),
    sa.Column("capability_scope", sa.Text),
    sa.Column("credential_scope", sa.Text),
    sa.Column("permissions", sa.Text),
    sa.Column("route_policy", sa.Text),
    sa.Column("reply_targets", sa.Text, nullable=False),
    sa.Column("workdir", sa.Text),
    sa.Column("trial_id", sa.Text),
    sa.Column("journal_length", sa.Integer, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
    sa.Column("active_skills", sa.Text, nullable=False, server_default="[]"),
    _one_of("status", "active", "ended"),
)
sa.Table(
    "skill_agent_grants",
    TABLES,
    sa.Column("skill_id", sa.Text, sa.ForeignKey("skills.skill_id"), primary_key=True),
    sa.Column("agent_id", sa.Text, primary_key=True),
    sa.Column("pinned_version", sa.Integer),
    sa.Column("granted_by", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
)
sa.Table(
    "skill_bundle_files",
    TABLES,
    sa.Column("slug", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("path", sa.Text, primary_key=True),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("sha256", sa.Text, sa.ForeignKey("skill_blobs.sha256"), nullable=False),
    sa.ForeignKeyConstraint(["slug", "number"], ["skill_bundles.slug", "skill_bundles.number"]),
)
sa.Table(
    "skill_user_grants",
    TABLES,
    sa.Column("skill_id", sa.Text, sa.ForeignKey("skills.skill_id"), primary_key=True),
    sa.Column("user_id", sa.Text, primary_key=True),
    sa.Column("granted_by", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
)
sa.Table(
    "skill_uses",
    TABLES,
    sa.Column("use_id", sa.Text, primary_key=True),
    sa.Column("skill_id", sa.Text, sa.ForeignKey("skills.skill_id")),
    sa.Column("slug", sa.Text, nullable=False),
    sa.Column("version", sa.Integer),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("agent_id", sa.Text, nullable=False),
    sa.Column("user_id", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
    sa.Column("fingerprint", sa.Text),
    sa.Column("version_label", sa.Text),
    sa.Column("allowed_tools", sa.Text, nullable=False, server_default="[]"),
    sa.Column("blocked_tools", sa.Text, nullable=False, server_default="[]"),
)
sa.Table(
    "skill_versions",
    TABLES,
    sa.Column("skill_id", sa.Text, sa.ForeignKey("skills.skill_id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("run_id", sa.Text),
    sa.Column("restored_from", sa.Integer),
    sa.Column("trash_name", sa.Text),
    sa.Column("agent_id", sa.Text),
    sa.Column("place", sa.BigInteger),
    sa.Column("content_digest", sa.Text),
    sa.Column("link", sa.Text),
    sa.Column("state", sa.Text, nullable=False, server_default="served"),
    sa.Column("derived_from_untrusted", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("untrusted_path", sa.Text, nullable=False, server_default="[]"),
    sa.Column("decided_by", sa.Text),
    sa.Column("decided_at_ms", sa.BigInteger),
    sa.Column("erased_at_ms", sa.BigInteger),
    sa.Column("signature", sa.Text),
    _one_of("state", "served", "draft", "rejected"),
)
sa.Table(
    "user_context_files",
    TABLES,
    sa.Column(
        "agent_id", sa.Text, sa.ForeignKey("agents.agent_id", ondelete="CASCADE"), primary_key=True
    ),
    sa.Column("user_id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("reviewed_by", sa.Text),
    sa.Column("untrusted_sources", sa.Text, nullable=False, server_default="[]"),
    sa.Column("reason", sa.Text),
)
sa.Table(
    "journal",
    TABLES,
    sa.Column("sequence", ROW_NUMBER, primary_key=True),
    sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.session_id"), nullable=False),
    sa.Column("offset", sa.Integer, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text),
    sa.Column("key", sa.Text),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
    sa.Column("data", sa.Text, nullable=False),
    sa.Column("agent_id", sa.Text),
    sa.Column("withdrawn_by", sa.Text),
    sa.UniqueConstraint("session_id", "key"),
    sa.UniqueConstraint("session_id", "offset"),
    sqlite_autoincrement=True,
)
sa.Table(
    "messages",
    TABLES,
    sa.Column("message_id", sa.Text, primary_key=True),
    sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.session_id"), nullable=False),
    sa.Column("to_agent_id", sa.Text),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("hops", sa.Integer, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("run_id", sa.Text),
    sa.Column("due_at_ms", sa.BigInteger),
    sa.Column("call_digest", sa.Text, unique=True),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
    _one_of("status", "pending", "delivering", "acked", "dead"),
)
sa.Table(
    "rollout_replay_cases",
    TABLES,
    sa.Column("trial_id", sa.Text, sa.ForeignKey("rollout_trials.trial_id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("recorded_run_id", sa.Text, nullable=False),
    sa.Column("owner_id", sa.Text, nullable=False),
    sa.Column("marker", sa.Text),
    sa.Column("without_run_id", sa.Text),
    sa.Column("with_run_id", sa.Text),
    sa.Column("report", sa.Text),
    sa.Column("judged_at_ms", sa.BigInteger),
    sa.Column("yardstick", sa.Text),
    sa.Column("is_regression", sa.Boolean),
    sa.Column("is_success", sa.Boolean),
    _one_of("yardstick", "marker", "judge", "status"),
)
sa.Table(
    "rollout_snapshots",
    TABLES,
    sa.Column("skill_name", sa.Text, sa.ForeignKey("rollouts.skill_name"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("recorded_at_ms", sa.BigInteger, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    _one_of("status", "draft", "verified", "canary", "active", "revoked"),
    sa.ForeignKeyConstraint(
        ["skill_name", "fingerprint"],
        ["rollout_definitions.skill_name", "rollout_definitions.fingerprint"],
    ),
)
sa.Table(
    "runs",
    TABLES,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.session_id"), nullable=False),
    sa.Column("agent_id", sa.Text, nullable=False),
    sa.Column("user_id", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("stop_request", sa.Text),
    sa.Column("parked", sa.Boolean, nullable=False),
    sa.Column("asleep", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("wakes", sa.Integer, nullable=False, server_default="0"),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("accepted_offset", sa.Integer, nullable=False),
    sa.Column("submitted_at_ms", sa.BigInteger, nullable=False),
    sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
    sa.Column("started_at_ms", sa.BigInteger),
    sa.Column("finished_at_ms", sa.BigInteger),
    sa.Column("brings_others_in", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("skill_fingerprint", sa.Text),
    sa.Column("trial_id", sa.Text),
    sa.Column("wanted", sa.Text, nullable=False),
    sa.Column("snapshot", sa.Text),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("taints", sa.Text),
    _one_of(
        "status",
        "queued",
        "running",
        "waiting_for_approval",
        "waiting_for_user_question",
        "completed",
        "failed",
        "interrupted",
        "cancelled",
    ),
)
sa.Table(
    "schedules",
    TABLES,
    sa.Column("schedule_id", sa.Text, primary_key=True),
    sa.Column("owner_id", sa.Text, nullable=False),
    sa.Column("acting_admin", sa.Text),
    sa.Column("target_session_id", sa.Text, sa.ForeignKey("sessions.session_id"), nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("ended_reason", sa.Text),
    sa.Column("cadence", sa.Text, nullable=False),
    sa.Column("request", sa.Text, nullable=False),
    sa.Column("overlap_policy", sa.Text, nullable=False),
    sa.Column("misfire_policy", sa.Text, nullable=False),
    sa.Column("max_executions", sa.Integer),
    sa.Column("executions", sa.Integer, nullable=False),
    sa.Column("next_fire_at_ms", sa.BigInteger),
    sa.Column("due_at_ms", sa.BigInteger),
    sa.Column("last_fired_at_ms", sa.BigInteger),
    sa.Column("retrying_id", sa.Text),
    sa.Column("retries", sa.Integer, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
    _one_of("misfire_policy", "coalesce_once", "skip_missed"),
    _one_of("overlap_policy", "skip", "queue_one", "parallel"),
    _one_of("status", "active", "paused", "completed", "canceled"),
)
sa.Table(
    "session_mcp_servers",
    TABLES,
    sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.session_id"), primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("body", sa.Text, nullable=False),
)
sa.Table(
    "sidechains",
    TABLES,
    sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.session_id"), primary_key=True),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("first_run_id", sa.Text, nullable=False),
    sa.Column("label", sa.Text),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
)
sa.Table(
    "tasks",
    TABLES,
    sa.Column("task_id", sa.Text, primary_key=True),
    sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.session_id"), nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text),
    sa.Column("call_digest", sa.Text, unique=True),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
    _one_of("status", "pending", "in_progress", "blocked", "completed", "failed", "cancelled"),
    sa.UniqueConstraint("session_id", "number"),
)
sa.Table(
    "artifacts",
    TABLES,
    sa.Column("artifact_id", sa.Text, primary_key=True),
    sa.Column("run_id", sa.Text, sa.ForeignKey("runs.run_id"), nullable=False),
    sa.Column("call_key", sa.Text, unique=True, nullable=False),
    sa.Column("tool_name", sa.Text, nullable=False),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
sa.Table(
    "debug_requests",
    TABLES,
    sa.Column("number", ROW_NUMBER, primary_key=True),
    sa.Column("run_id", sa.Text, sa.ForeignKey("runs.run_id"), nullable=False),
    sa.Column("step", sa.Integer, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
    sa.Column("request", sa.Text, nullable=False),
    sa.Column("response", sa.Text),
)
sa.Table(
    "deliveries",
    TABLES,
    sa.Column("delivery_id", sa.Text, primary_key=True),
    sa.Column("run_id", sa.Text, sa.ForeignKey("runs.run_id"), nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("plugin", sa.Text, nullable=False),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("attempts_before", sa.Integer, nullable=False),
    sa.Column("due_at_ms", sa.BigInteger),
    sa.Column("delivered_at_ms", sa.BigInteger),
    sa.Column("last_error", sa.Text),
    sa.Column("task_id", sa.Text),
    _one_of("status", "pending", "delivered", "dead", "skipped"),
    sa.UniqueConstraint("run_id", "position"),
)
sa.Table(
    "requests",
    TABLES,
    sa.Column("request_id", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text, sa.ForeignKey("runs.run_id"), nullable=False),
    sa.Column("session_id", sa.Text, nullable=False),
    sa.Column("call_key", sa.Text, unique=True, nullable=False),
    sa.Column("audience", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("expires_at_ms", sa.BigInteger),
    sa.Column("resolution", sa.Text),
    sa.Column("resolved_by", sa.Text),
    sa.Column("resolved_at_ms", sa.BigInteger),
    sa.Column("user_id", sa.Text),
    sa.Column("agent_id", sa.Text),
    _one_of("audience", "user", "parent"),
    _one_of("kind", "approval", "question", "offer"),
    _one_of(
        "state", "pending", "allowed", "denied", "answered", "declined", "expired", "cancelled"
    ),
)
sa.Table(
    "run_memories",
    TABLES,
    sa.Column("run_id", sa.Text, sa.ForeignKey("runs.run_id"), primary_key=True),
    sa.Column("session_id", sa.Text, nullable=False),
    sa.Column("recorded_at_ms", sa.BigInteger, nullable=False),
    sa.Column("semantic_capture", sa.Text, nullable=False),
    sa.Column("stamp", sa.Text, nullable=False),
    _one_of("semantic_capture", "pending", "completed", "skipped"),
)
sa.Table(
    "run_memory_backlog",
    TABLES,
    sa.Column("run_id", sa.Text, sa.ForeignKey("runs.run_id"), primary_key=True),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
)
sa.Table(
    "schedule_executions",
    TABLES,
    sa.Column("number", ROW_NUMBER, primary_key=True),
    sa.Column("execution_id", sa.Text, unique=True, nullable=False),
    sa.Column(
        "schedule_id",
        sa.Text,
        sa.ForeignKey("schedules.schedule_id", ondelete="CASCADE"),
        nullable=False,
    ),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
    sa.Column("scheduled_for_ms", sa.BigInteger),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("run_id", sa.Text),
    sa.Column("reason", sa.Text),
    sa.Column("triggered_by", sa.Text),
    _one_of("status", "submitted", "skipped", "missed", "retrying", "failed"),
)
sa.Table(
    "delivery_tries",
    TABLES,
    sa.Column("delivery_id", sa.Text, sa.ForeignKey("deliveries.delivery_id"), primary_key=True),
    sa.Column("attempt", sa.Integer, primary_key=True),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("status_code", sa.Integer),
    sa.Column("error", sa.Text),
    _one_of("outcome", "delivered", "retry", "dead"),
)
sa.Table(
    "run_memory_evidence",
    TABLES,
    sa.Column(
        "run_id",
        sa.Text,
        sa.ForeignKey("run_memories.run_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("request", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
)
sa.Table(
    "run_memory_scopes",
    TABLES,
    sa.Column("scope_key", sa.Text, primary_key=True),
    sa.Column("recorded_at_ms", sa.BigInteger, primary_key=True),
    sa.Column(
        "run_id",
        sa.Text,
        sa.ForeignKey("run_memories.run_id", ondelete="CASCADE"),
        primary_key=True,
    ),
)
sa.Table(
    "run_captures",
    TABLES,
    sa.Column(
        "run_id",
        sa.Text,
        sa.ForeignKey(
            "run_memories.run_id", name="fk_run_captures_run_id_run_memories", ondelete="CASCADE"
        ),
        primary_key=True,
    ),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("found", sa.Integer, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("reason", sa.Text),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
    _one_of("state", "off", "pending", "completed", "skipped", "failed", "given_up"),
)
sa.Table(
    "chains",
    TABLES,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("place", sa.BigInteger, nullable=False),
    sa.Column("link", sa.Text, nullable=False),
    sa.Column("base_place", sa.BigInteger, nullable=False),
    sa.Column("base_link", sa.Text, nullable=False),
    sa.Column("unchained", sa.BigInteger, nullable=False),
)
sa.Table(
    "channels",
    TABLES,
    sa.Column("channel_id", sa.Text, primary_key=True),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("search", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("message_count", sa.Integer, nullable=False),
    sa.Column("last_message_id", sa.Text),
    sa.Column("last_message_preview", sa.Text),
    sa.Column("sequence", sa.Integer, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
)
sa.Table(
    "channel_members",
    TABLES,
    sa.Column(
        "channel_id",
        sa.Text,
        sa.ForeignKey("channels.channel_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("member_id", sa.Text, primary_key=True),
    sa.Column("member_kind", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.session_id")),
    sa.Column("actor_id", sa.Text),
    sa.Column("display_name", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("joined_at_ms", sa.BigInteger, nullable=False),
    _one_of("member_kind", "session", "human_actor"),
    sa.UniqueConstraint("channel_id", "actor_id"),
    sa.UniqueConstraint("channel_id", "session_id"),
)
sa.Table(
    "channel_messages",
    TABLES,
    sa.Column("message_id", sa.Text, primary_key=True),
    sa.Column(
        "channel_id",
        sa.Text,
        sa.ForeignKey("channels.channel_id", ondelete="CASCADE"),
        nullable=False,
    ),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("root_id", sa.Text, nullable=False),
    sa.Column("sender_session_id", sa.Text),
    sa.Column("source_run_id", sa.Text, unique=True),
    sa.Column("search", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
)
sa.Table(
    "channel_reactions",
    TABLES,
    sa.Column(
        "message_id",
        sa.Text,
        sa.ForeignKey("channel_messages.message_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("actor_id", sa.Text, primary_key=True),
    sa.Column("emoji", sa.Text, primary_key=True),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
)
sa.Table(
    "channel_threads",
    TABLES,
    sa.Column("thread_root_message_id", sa.Text, primary_key=True),
    sa.Column(
        "channel_id",
        sa.Text,
        sa.ForeignKey("channels.channel_id", ondelete="CASCADE"),
        nullable=False,
    ),
    sa.Column("topic_kind", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("dedupe_key", sa.Text),
    sa.Column("wish_message_id", sa.Text),
    sa.Column("due_at_ms", sa.BigInteger),
    sa.Column("failures", sa.Integer, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
    _one_of("status", "proposed", "active", "reviewing", "completed", "superseded"),
    _one_of("topic_kind", "human", "autonomous_root", "summary"),
)
sa.Table(
    "channel_leases",
    TABLES,
    sa.Column("turn_id", sa.Text, primary_key=True),
    sa.Column(
        "channel_id",
        sa.Text,
        sa.ForeignKey("channels.channel_id", ondelete="CASCADE"),
        nullable=False,
    ),
    sa.Column("thread_root_message_id", sa.Text, nullable=False),
    sa.Column("holder_session_id", sa.Text, nullable=False),
    sa.Column("active_run_id", sa.Text, unique=True),
    sa.Column("expires_at_ms", sa.BigInteger, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("output", sa.Text),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
)
sa.Table(
    "channel_stimuli",
    TABLES,
    sa.Column("stimulus_id", sa.Text, primary_key=True),
    sa.Column(
        "channel_id",
        sa.Text,
        sa.ForeignKey("channels.channel_id", ondelete="CASCADE"),
        nullable=False,
    ),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("due_at_ms", sa.BigInteger),
    sa.Column("dedupe_key", sa.Text),
    sa.Column("progress_key", sa.Text),
    sa.Column("call_digest", sa.Text, unique=True),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
    _one_of("status", "pending", "claimed", "dispatched", "coalesced", "superseded", "cancelled"),
)
sa.Table(
    "channel_events",
    TABLES,
    sa.Column(
        "channel_id",
        sa.Text,
        sa.ForeignKey("channels.channel_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("sequence", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
    sa.Column("data", sa.Text, nullable=False),
    _one_of("name", "message", "reaction", "member", "lease"),
)
sa.Table(
    "asset_references",
    TABLES,
    sa.Column("asset_id", sa.Text, sa.ForeignKey("assets.asset_id"), primary_key=True),
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("ref_id", sa.Text, primary_key=True),
    _one_of("kind", "run", "schedule", "channel"),
)
sa.Table(
    "asset_owners",
    TABLES,
    sa.Column("owner_id", sa.Text, primary_key=True),
    sa.Column(
        "asset_id", sa.Text, sa.ForeignKey("assets.asset_id", ondelete="CASCADE"), primary_key=True
    ),
)
sa.Table(
    "channel_bridges",
    TABLES,
    sa.Column("bridge_id", sa.Text, primary_key=True),
    sa.Column(
        "channel_id",
        sa.Text,
        sa.ForeignKey("channels.channel_id", ondelete="CASCADE"),
        nullable=False,
    ),
    sa.Column("connector", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("credentials", sa.Text, nullable=False),
    sa.Column("due_at_ms", sa.BigInteger),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
    _one_of("connector", "webhook", "slack", "telegram", "discord", "matrix", "email"),
)
sa.Table(
    "bridge_links",
    TABLES,
    sa.Column(
        "bridge_id",
        sa.Text,
        sa.ForeignKey("channel_bridges.bridge_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("external_id", sa.Text, primary_key=True),
    sa.Column("message_id", sa.Text, nullable=False),
)
sa.Table(
    "bridge_deliveries",
    TABLES,
    sa.Column("delivery_id", sa.Text, primary_key=True),
    sa.Column(
        "bridge_id",
        sa.Text,
        sa.ForeignKey("channel_bridges.bridge_id", ondelete="CASCADE"),
        nullable=False,
    ),
    sa.Column("message_id", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("due_at_ms", sa.BigInteger),
    sa.Column("last_error", sa.Text),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    _one_of("status", "pending", "delivered", "dead", "refused"),
)
sa.Table(
    "second_approvals",
    TABLES,
    sa.Column("approval_id", sa.Text, primary_key=True),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("operation", sa.Text, nullable=False),
    sa.Column("values", sa.Text, nullable=False),
    sa.Column("body", sa.Text),
    sa.Column("first_by", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("expires_at_ms", sa.BigInteger, nullable=False),
    sa.Column("fingerprint", sa.Text, unique=True, nullable=False),
    sa.Column("proposed_by", sa.Text),
)
sa.Table(
    "unlearns",
    TABLES,
    sa.Column("unlearn_id", sa.Text, primary_key=True),
    sa.Column("mode", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("step", sa.Text, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
    sa.Column("target", sa.Text, nullable=False),
    sa.Column("reason", sa.Text),
    sa.Column("error", sa.Text),
    sa.Column("receipt", sa.Text),
    sa.Column("work", sa.Text),
    _one_of("mode", "revoke", "erase"),
    _one_of("status", "pending", "running", "done", "failed"),
)
sa.Table(
    "unlearn_jobs",
    TABLES,
    sa.Column("job_id", sa.Text, primary_key=True),
    sa.Column("due_at_ms", sa.BigInteger, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("claim", sa.Text),
    sa.Column("again_at_ms", sa.BigInteger),
    sa.Column("needs_model", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("error", sa.Text),
)
sa.Table(
    "unlearn_key",
    TABLES,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("secret", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
)
sa.Table(
    "project_tasks",
    TABLES,
    sa.Column("project_id", sa.Text, sa.ForeignKey("projects.project_id"), primary_key=True),
    sa.Column("project_task_id", SORTED, primary_key=True),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("assignee_member_id", sa.Text),
    sa.Column("latest_run_id", sa.Text),
    sa.Column("call_digest", sa.Text, unique=True),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
    _one_of("status", "pending", "in_progress", "blocked", "completed", "failed", "cancelled"),
)
sa.Table(
    "playbook_versions",
    TABLES,
    sa.Column("playbook_id", SORTED, primary_key=True),
    sa.Column("version", sa.Text, primary_key=True),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("search", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
    _one_of("status", "draft", "verified", "canary", "active", "revoked"),
)
sa.Table(
    "flows",
    TABLES,
    sa.Column("flow_id", SORTED, primary_key=True),
    sa.Column("playbook_id", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.session_id"), nullable=False),
    sa.Column("run_id", sa.Text, unique=True, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
)
sa.Table(
    "skill_roots",
    TABLES,
    sa.Column("root_id", sa.Text, primary_key=True),
    sa.Column("path", sa.Text, nullable=False),
    sa.Column("owner_id", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.UniqueConstraint("owner_id", "path"),
)
sa.Table(
    "signing_keys",
    TABLES,
    sa.Column("key_id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, unique=True, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("public_key", sa.Text, nullable=False),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    _one_of("kind", "own", "trusted"),
)
sa.Table(
    "session_bindings",
    TABLES,
    sa.Column("binding_key", SORTED, primary_key=True),
    sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.session_id"), nullable=False),
    sa.Column("bound_by", sa.Text, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
)
sa.Table(
    "background_tasks",
    TABLES,
    sa.Column("task_id", sa.Text, primary_key=True),
    sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.session_id"), nullable=False),
    sa.Column("run_id", sa.Text, sa.ForeignKey("runs.run_id"), nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("needs_notice", sa.Boolean, nullable=False),
    sa.Column("holder", sa.Text, nullable=False),
    sa.Column("lease_until_ms", sa.BigInteger, nullable=False),
    sa.Column("created_at_ms", sa.BigInteger, nullable=False),
    sa.Column("ended_at_ms", sa.BigInteger),
    sa.Column("body", sa.Text, nullable=False),
    _one_of("status", "in_progress", "completed", "failed", "cancelled"),
)
sa.Table(
    "background_output",
    TABLES,
    sa.Column(
        "task_id",
        sa.Text,
        sa.ForeignKey("background_tasks.task_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("start", sa.Integer, primary_key=True),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
)
# In the order in which the steps made them: between two that cost the same, SQLite takes the newer.
INDEXES = """
    CREATE INDEX ix_assets_newest ON assets (created_at_ms, asset_id);
    CREATE INDEX ix_assets_sha256 ON assets (sha256);
    CREATE INDEX ix_audit_actor ON audit (actor);
    CREATE INDEX ix_audit_resource ON audit (resource);
    CREATE INDEX ix_capture_jobs_due ON capture_jobs (needs_model, due_at_ms, job_id);
    CREATE INDEX ix_learning_candidates_tally
        ON learning_candidates (capture_path, rule_name, state, is_automatic, is_expired);
    CREATE UNIQUE INDEX uq_learning_candidates_proposal
        ON learning_candidates (source_run_id, scope_key, kind, key_digest) WHERE origin = 'daemon';
    CREATE UNIQUE INDEX uq_learning_candidates_summary ON learning_candidates (source_run_id)
        WHERE kind = 'run_summary';
    CREATE INDEX ix_learning_candidates_decided ON learning_candidates (decided_at_ms, candidate_id)
        WHERE decided_at_ms IS NOT NULL;
    CREATE INDEX ix_learning_candidates_expiring
        ON learning_candidates (expires_at_ms, candidate_id)
        WHERE is_open AND expires_at_ms IS NOT NULL;
    CREATE INDEX ix_learning_candidates_state ON learning_candidates (state, candidate_id);
    CREATE INDEX ix_learning_candidates_open ON learning_candidates (candidate_id) WHERE is_open;
    CREATE INDEX ix_learning_candidates_key
        ON learning_candidates (key_digest, scope_key, kind, state);
    CREATE INDEX ix_learning_candidates_scope ON learning_candidates (scope_key, candidate_id);
    CREATE INDEX ix_learning_uses_newest
        ON learning_uses (learning_id, at_ms, run_id, learning_version);
    CREATE INDEX ix_learnings_contradicting
        ON learnings (subject_digest, kind, published_at_ms, learning_id)
        WHERE is_active AND subject_digest IS NOT NULL;
    CREATE INDEX ix_learnings_key ON learnings (key_digest, scope_key, kind) WHERE is_live;
    CREATE INDEX ix_learnings_newest ON learnings (scope_key, published_at_ms, learning_id)
        WHERE is_live;
    CREATE INDEX ix_learnings_replacing ON learnings (supersedes) WHERE supersedes IS NOT NULL;
    CREATE INDEX ix_learnings_scope ON learnings (scope_key, learning_id);
    CREATE INDEX ix_learnings_status ON learnings (status, learning_id);
    CREATE INDEX ix_learnings_taken_back ON learnings (key_digest, scope_key, kind)
        WHERE is_taken_back;
    CREATE INDEX ix_learnings_subject ON learnings (subject_digest, scope_key, kind)
        WHERE is_live AND subject_digest IS NOT NULL;
    CREATE INDEX ix_responses_created_at_ms ON responses (created_at_ms);
    CREATE INDEX ix_review_jobs_due ON review_jobs (needs_model, due_at_ms, job_id);
    CREATE UNIQUE INDEX uq_rollouts_live ON rollouts (source_learning_id) WHERE status <> 'revoked';
    CREATE UNIQUE INDEX uq_rollouts_live_name ON rollouts (folded_name) WHERE status <> 'revoked';
    CREATE INDEX ix_rollouts_source ON rollouts (source_learning_id, skill_name);
    CREATE INDEX ix_rollouts_status ON rollouts (status, skill_name);
    CREATE INDEX ix_rollouts_flagged ON rollouts (updated_at_ms, skill_name) WHERE is_flagged;
    CREATE INDEX ix_skill_listing_days_day ON skill_listing_days (day);
    CREATE INDEX ix_skill_trash_newest ON skill_trash (deleted_at_ms, trash_name);
    CREATE INDEX ix_skill_trash_owner ON skill_trash (owner_id, deleted_at_ms, trash_name);
    CREATE INDEX ix_skills_name ON skills (sort_name, slug);
    CREATE INDEX ix_skills_origin ON skills (origin);
    CREATE INDEX ix_skills_owner_id ON skills (owner_id);
    CREATE INDEX ix_skills_visibility ON skills (visibility);
    CREATE INDEX ix_term_entries_length ON term_entries (kind, length);
    CREATE INDEX ix_agent_files_written ON agent_files (agent_id, name, created_at_ms, version);
    CREATE INDEX ix_file_proposals_agent ON file_proposals (agent_id, proposal_id);
    CREATE INDEX ix_file_proposals_waiting ON file_proposals (agent_id, state, name);
    CREATE INDEX ix_file_proposals_file
        ON file_proposals (agent_id, name, created_at_ms, proposal_id);
    CREATE INDEX ix_project_sessions_session_id ON project_sessions (session_id);
    CREATE INDEX ix_rollout_events_skill ON rollout_events (skill_name, number);
    CREATE INDEX ix_rollout_events_watched ON rollout_events (skill_name, number)
        WHERE event IN ('promote', 'rollback', 'release');
    CREATE INDEX ix_rollout_evidence_counted
        ON rollout_evidence (
            skill_name, attempt, fingerprint, kind, proof, success, root_session_id
        );
    CREATE INDEX ix_rollout_evidence_newest
        ON rollout_evidence (skill_name, attempt, kind, recorded_at_ms, evidence_id);
    CREATE INDEX ix_rollout_outcomes_used
        ON rollout_outcomes (skill_name, fingerprint, stage, used_at_ms, run_id);
    CREATE INDEX ix_rollout_trials_skill ON rollout_trials (skill_name, trial_id);
    CREATE INDEX ix_rollout_trials_pending ON rollout_trials (trial_id) WHERE state = 'pending';
    CREATE INDEX ix_rollout_trials_under_way ON rollout_trials (skill_name, trial_id)
        WHERE state = 'pending';
    CREATE UNIQUE INDEX uq_rollout_trials_run ON rollout_trials (run_id);
    CREATE INDEX ix_sessions_agent_id ON sessions (agent_id);
    CREATE INDEX ix_sessions_newest ON sessions (created_at_ms, session_id);
    CREATE INDEX ix_sessions_parent_session_id ON sessions (parent_session_id);
    CREATE INDEX ix_sessions_persona_id ON sessions (persona_id);
    CREATE INDEX ix_skill_agent_grants_agent_id ON skill_agent_grants (agent_id);
    CREATE INDEX ix_skill_user_grants_user_id ON skill_user_grants (user_id);
    CREATE INDEX ix_skill_uses_skill ON skill_uses (skill_id, version);
    CREATE INDEX ix_skill_uses_run ON skill_uses (run_id);
    CREATE INDEX ix_skill_uses_newest ON skill_uses (at_ms);
    CREATE INDEX ix_skill_uses_promoted ON skill_uses (at_ms, run_id) WHERE fingerprint IS NOT NULL;
    CREATE INDEX ix_skill_versions_trash_name ON skill_versions (trash_name);
    CREATE INDEX ix_skill_versions_made_by
        ON skill_versions (agent_id, created_at_ms, number, skill_id) WHERE agent_id IS NOT NULL;
    CREATE INDEX ix_journal_run ON journal (run_id, "offset");
    CREATE INDEX ix_journal_checkpoints ON journal (session_id, "offset") WHERE kind = 'checkpoint';
    CREATE INDEX ix_journal_tool_results ON journal (session_id, "offset")
        WHERE kind = 'tool_result';
    CREATE INDEX ix_journal_nudges ON journal (agent_id, at_ms, sequence) WHERE kind = 'nudge';
    CREATE INDEX ix_messages_session ON messages (session_id, created_at_ms, message_id);
    CREATE INDEX ix_messages_agent ON messages (to_agent_id, created_at_ms, message_id);
    CREATE INDEX ix_messages_run_id ON messages (run_id);
    CREATE INDEX ix_messages_undelivered ON messages (session_id)
        WHERE status IN ('pending', 'delivering');
    CREATE INDEX ix_messages_due ON messages (due_at_ms) WHERE due_at_ms IS NOT NULL;
    CREATE INDEX ix_messages_delivering ON messages (session_id) WHERE status = 'delivering';
    CREATE UNIQUE INDEX uq_rollout_replay_cases_without ON rollout_replay_cases (without_run_id);
    CREATE UNIQUE INDEX uq_rollout_replay_cases_with ON rollout_replay_cases (with_run_id);
    CREATE INDEX ix_rollout_snapshots_active ON rollout_snapshots (skill_name, attempt, number)
        WHERE status = 'active';
    CREATE INDEX ix_runs_newest ON runs (submitted_at_ms, run_id);
    CREATE INDEX ix_runs_status ON runs (status, submitted_at_ms, run_id);
    CREATE INDEX ix_runs_session ON runs (session_id, submitted_at_ms, run_id);
    CREATE INDEX ix_runs_unfinished ON runs (session_id, accepted_offset)
        WHERE finished_at_ms IS NULL;
    CREATE INDEX ix_runs_brings_others_in ON runs (session_id, accepted_offset)
        WHERE brings_others_in;
    CREATE INDEX ix_runs_agent ON runs (agent_id, submitted_at_ms, run_id);
    CREATE INDEX ix_runs_skill_fingerprint ON runs (skill_fingerprint, submitted_at_ms, run_id)
        WHERE skill_fingerprint IS NOT NULL;
    CREATE INDEX ix_schedules_newest ON schedules (created_at_ms, schedule_id);
    CREATE INDEX ix_schedules_owner ON schedules (owner_id, status);
    CREATE INDEX ix_schedules_target_session_id ON schedules (target_session_id);
    CREATE INDEX ix_schedules_due ON schedules (due_at_ms) WHERE due_at_ms IS NOT NULL;
    CREATE INDEX ix_sidechains_run_id ON sidechains (run_id);
    CREATE INDEX ix_artifacts_run_id ON artifacts (run_id);
    CREATE INDEX ix_debug_requests_run_id ON debug_requests (run_id);
    CREATE INDEX ix_deliveries_due ON deliveries (due_at_ms) WHERE due_at_ms IS NOT NULL;
    CREATE INDEX ix_requests_due ON requests (expires_at_ms)
        WHERE state = 'pending' AND expires_at_ms IS NOT NULL;
    CREATE INDEX ix_requests_all ON requests (kind, created_at_ms, request_id);
    CREATE INDEX ix_requests_listed ON requests (kind, state, created_at_ms, request_id);
    CREATE UNIQUE INDEX ix_requests_open_offer ON requests (session_id, user_id)
        WHERE kind = 'offer' AND state = 'pending';
    CREATE INDEX ix_requests_offers ON requests (session_id, user_id, created_at_ms, request_id)
        WHERE kind = 'offer';
    CREATE INDEX ix_requests_offered_by ON requests (agent_id, created_at_ms, request_id)
        WHERE kind = 'offer';
    CREATE INDEX ix_run_memories_session ON run_memories (session_id, recorded_at_ms, run_id);
    CREATE INDEX ix_run_memories_oldest ON run_memories (recorded_at_ms, run_id);
    CREATE INDEX ix_run_memories_pending ON run_memories (recorded_at_ms)
        WHERE semantic_capture = 'pending';
    CREATE INDEX ix_schedule_executions_newest ON schedule_executions (schedule_id, number);
    CREATE INDEX ix_run_memory_scopes_run_id ON run_memory_scopes (run_id);
    CREATE INDEX ix_learnings_standing ON learnings (scope_key, published_at_ms, learning_id)
        WHERE is_active AND applies = 'always';
    CREATE INDEX ix_run_captures_given_up ON run_captures (at_ms) WHERE state = 'given_up';
    CREATE INDEX ix_learning_uses_run ON learning_uses (run_id);
    CREATE INDEX ix_audit_place ON audit (place);
    CREATE INDEX ix_skill_versions_place ON skill_versions (place);
    CREATE INDEX ix_skill_versions_drafts ON skill_versions (skill_id, number)
        WHERE state = 'draft';
    CREATE INDEX ix_channel_members_session_id ON channel_members (session_id);
    CREATE UNIQUE INDEX ix_channel_messages_log ON channel_messages (channel_id, position);
    CREATE INDEX ix_channel_messages_thread ON channel_messages (root_id, position);
    CREATE INDEX ix_channel_messages_spoken
        ON channel_messages (channel_id, sender_session_id, position)
        WHERE sender_session_id IS NOT NULL;
    CREATE INDEX ix_channel_threads_channel_id ON channel_threads (channel_id);
    CREATE INDEX ix_channel_threads_due ON channel_threads (due_at_ms) WHERE due_at_ms IS NOT NULL;
    CREATE INDEX ix_channel_leases_channel_id ON channel_leases (channel_id);
    CREATE INDEX ix_channel_leases_thread_root_message_id
        ON channel_leases (thread_root_message_id);
    CREATE INDEX ix_channel_leases_expires_at_ms ON channel_leases (expires_at_ms);
    CREATE INDEX ix_channel_stimuli_newest
        ON channel_stimuli (channel_id, created_at_ms, stimulus_id);
    CREATE INDEX ix_channel_stimuli_due ON channel_stimuli (due_at_ms) WHERE due_at_ms IS NOT NULL;
    CREATE INDEX ix_sessions_owner_id ON sessions (owner_id);
    CREATE INDEX ix_runs_user_id ON runs (user_id);
    CREATE INDEX ix_asset_owners_asset_id ON asset_owners (asset_id);
    CREATE INDEX ix_channel_bridges_channel_id ON channel_bridges (channel_id);
    CREATE INDEX ix_channel_bridges_due ON channel_bridges (due_at_ms) WHERE due_at_ms IS NOT NULL;
    CREATE INDEX ix_bridge_links_message_id ON bridge_links (message_id);
    CREATE INDEX ix_bridge_deliveries_newest
        ON bridge_deliveries (bridge_id, created_at_ms, delivery_id);
    CREATE INDEX ix_bridge_deliveries_due ON bridge_deliveries (due_at_ms)
        WHERE due_at_ms IS NOT NULL;
    CREATE INDEX ix_unlearn_jobs_due ON unlearn_jobs (needs_model, due_at_ms, job_id);
    CREATE INDEX ix_learning_candidates_run ON learning_candidates (source_run_id);
    CREATE INDEX ix_project_tasks_run ON project_tasks (latest_run_id)
        WHERE latest_run_id IS NOT NULL;
    CREATE INDEX ix_flows_newest ON flows (created_at_ms, flow_id);
    CREATE INDEX ix_flows_session ON flows (session_id, created_at_ms);
    CREATE INDEX ix_flows_playbook ON flows (playbook_id, created_at_ms);
    CREATE INDEX ix_session_bindings_session_id ON session_bindings (session_id);
    CREATE INDEX ix_background_tasks_run_id ON background_tasks (run_id);
    CREATE INDEX ix_background_tasks_newest ON background_tasks (created_at_ms, task_id);
    CREATE INDEX ix_background_tasks_session
        ON background_tasks (session_id, created_at_ms, task_id);
    CREATE INDEX ix_background_tasks_running ON background_tasks (session_id)
        WHERE ended_at_ms IS NULL;
    CREATE INDEX ix_background_tasks_untold ON background_tasks (session_id) WHERE needs_notice;
    CREATE INDEX ix_deliveries_task_id ON deliveries (task_id);
    CREATE INDEX ix_learning_candidates_key_rules ON learning_candidates (key_rules);
    CREATE INDEX ix_learnings_key_rules ON learnings (key_rules);
    CREATE INDEX ix_learning_candidates_sensitive ON learning_candidates (candidate_id)
        WHERE sensitivity = 'sensitive' AND kind <> 'run_summary';
    CREATE INDEX ix_learnings_sensitive ON learnings (learning_id)
        WHERE sensitivity = 'sensitive' AND kind <> 'run_summary';
    CREATE INDEX ix_learnings_kind ON learnings (kind, learning_id);
    CREATE INDEX ix_learnings_applies ON learnings (applies, learning_id);
    CREATE INDEX ix_learnings_publish_tier ON learnings (publish_tier, learning_id);
    CREATE INDEX ix_learnings_verification_status ON learnings (verification_status, learning_id);
    CREATE INDEX ix_learnings_policy_decision ON learnings (policy_decision, learning_id);
    CREATE INDEX ix_learning_candidates_applies ON learning_candidates (applies, candidate_id);
    CREATE INDEX ix_messages_status ON messages (to_agent_id, status, created_at_ms, message_id);
    CREATE INDEX ix_playbook_versions_status ON playbook_versions (status, playbook_id);
    CREATE INDEX ix_projects_status ON projects (status, project_id);
    CREATE INDEX ix_requests_run ON requests (run_id, state, created_at_ms, request_id, kind);
    CREATE INDEX ix_requests_session
        ON requests (session_id, state, created_at_ms, request_id, kind);
    CREATE INDEX ix_schedules_status ON schedules (status, created_at_ms, schedule_id);
    CREATE INDEX ix_schedules_session ON schedules (target_session_id, created_at_ms, schedule_id);
    CREATE INDEX ix_tokens_newest ON tokens (created_at_ms, token_id);
    CREATE INDEX ix_artifacts_created_at_ms ON artifacts (created_at_ms);
    CREATE INDEX ix_background_tasks_ended_at_ms ON background_tasks (ended_at_ms);
    CREATE INDEX ix_debug_requests_at_ms ON debug_requests (at_ms);
    CREATE INDEX ix_deliveries_delivered_at_ms ON deliveries (delivered_at_ms);
    CREATE INDEX ix_messages_updated_at_ms ON messages (updated_at_ms);
    CREATE INDEX ix_receipts_created_at_ms ON receipts (created_at_ms);
    CREATE INDEX ix_requests_waiting
        ON requests (kind, created_at_ms, request_id, user_id, state, audience)
        WHERE state = 'pending' AND audience = 'user';
    CREATE INDEX ix_skills_status ON skills (status, sort_name, slug);
    CREATE INDEX ix_learning_candidates_queue
        ON learning_candidates (
            review_rank, candidate_id, expires_at_ms, snoozed_until_ms, is_open, sensitivity
        )
        WHERE is_open;
    CREATE INDEX ix_learning_candidates_snoozed ON learning_candidates (snoozed_until_ms)
        WHERE is_open AND snoozed_until_ms IS NOT NULL;
    CREATE INDEX ix_audit_refused ON audit (number) WHERE outcome = 'refused';
"""
