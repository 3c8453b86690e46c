"""learning plane."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

RUNS = sa.table(
    "runs",
    sa.column("kind", sa.Text),
    sa.column("wanted", sa.Text),
    sa.column("brings_others_in", sa.Boolean),
)
TYPED = (
    "input",
    "scheduled_input",
    "goal_continuation",
    "approval_resume",
    "user_question_resume",
)
# The beginning of what was asked, where nothing says that somebody passed it on.
OWN = (
    '%"source_plugin":"daemon","source_kind":"api","actor_id":"api-user"%',
    '%"source_plugin":"schedules","source_kind":"schedule","actor_id":"api-user"%',
)


def upgrade() -> None:
    _mark_runs()
    op.create_table(
        "capture_jobs",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("due_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("claim", sa.Text(), nullable=True),
        sa.Column("again_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("needs_model", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_capture_jobs")),
    )
    with op.batch_alter_table("capture_jobs", schema=None) as batch_op:
        batch_op.create_index(
            "ix_capture_jobs_due", ["needs_model", "due_at_ms", "job_id"], unique=False
        )

    op.create_table(
        "learning_candidates",
        sa.Column("candidate_id", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("scope_key", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("sensitivity", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("is_open", sa.Boolean(), nullable=False),
        sa.Column("capture_path", sa.Text(), nullable=False),
        sa.Column("source_run_id", sa.Text(), nullable=True),
        sa.Column("key_digest", sa.Text(), nullable=False),
        sa.Column("rule_name", sa.Text(), nullable=True),
        sa.Column("rule_folded", sa.Text(), nullable=True),
        sa.Column("is_automatic", sa.Boolean(), nullable=False),
        sa.Column("is_expired", sa.Boolean(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("decided_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("search", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "capture_path IN ('api', 'run_summary', 'labels', 'model')",
            name=op.f("ck_learning_candidates_capture_path"),
        ),
        sa.CheckConstraint(
            "kind IN ('run_summary', 'fact', 'preference', 'decision', 'procedure')",
            name=op.f("ck_learning_candidates_kind"),
        ),
        sa.CheckConstraint(
            "origin IN ('api', 'daemon')", name=op.f("ck_learning_candidates_origin")
        ),
        sa.CheckConstraint(
            "sensitivity IN ('scoped', 'sensitive')",
            name=op.f("ck_learning_candidates_sensitivity"),
        ),
        sa.CheckConstraint(
            "state IN ('pending', 'escalated', 'published', 'rejected')",
            name=op.f("ck_learning_candidates_state"),
        ),
        sa.PrimaryKeyConstraint("candidate_id", name=op.f("pk_learning_candidates")),
    )
    with op.batch_alter_table("learning_candidates", schema=None) as batch_op:
        batch_op.create_index(
            "ix_learning_candidates_decided",
            ["decided_at_ms", "candidate_id"],
            unique=False,
            sqlite_where=sa.text("decided_at_ms IS NOT NULL"),
            postgresql_where=sa.text("decided_at_ms IS NOT NULL"),
        )
        batch_op.create_index(
            "ix_learning_candidates_expiring",
            ["expires_at_ms", "candidate_id"],
            unique=False,
            sqlite_where=sa.text("is_open AND expires_at_ms IS NOT NULL"),
            postgresql_where=sa.text("is_open AND expires_at_ms IS NOT NULL"),
        )
        batch_op.create_index(
            "ix_learning_candidates_key", ["key_digest", "scope_key", "kind", "state"], unique=False
        )
        batch_op.create_index(
            "ix_learning_candidates_open",
            ["candidate_id"],
            unique=False,
            sqlite_where=sa.text("is_open"),
            postgresql_where=sa.text("is_open"),
        )
        batch_op.create_index(
            "ix_learning_candidates_scope", ["scope_key", "candidate_id"], unique=False
        )
        batch_op.create_index(
            "ix_learning_candidates_state", ["state", "candidate_id"], unique=False
        )
        batch_op.create_index(
            "ix_learning_candidates_tally",
            ["capture_path", "rule_name", "state", "is_automatic", "is_expired"],
            unique=False,
        )
        batch_op.create_index(
            "uq_learning_candidates_proposal",
            ["source_run_id", "scope_key", "kind", "key_digest"],
            unique=True,
            sqlite_where=sa.text("origin = 'daemon'"),
            postgresql_where=sa.text("origin = 'daemon'"),
        )
        batch_op.create_index(
            "uq_learning_candidates_summary",
            ["source_run_id"],
            unique=True,
            sqlite_where=sa.text("kind = 'run_summary'"),
            postgresql_where=sa.text("kind = 'run_summary'"),
        )

    op.create_table(
        "learning_reviews",
        sa.Column("candidate_id", sa.Text(), nullable=False),
        sa.Column("policy_digest", sa.Text(), nullable=False),
        sa.Column("reviewed_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("candidate_id", "policy_digest", name=op.f("pk_learning_reviews")),
    )
    op.create_table(
        "learning_uses",
        sa.Column("learning_id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("learning_version", sa.Integer(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "learning_id", "run_id", "learning_version", name=op.f("pk_learning_uses")
        ),
    )
    with op.batch_alter_table("learning_uses", schema=None) as batch_op:
        batch_op.create_index(
            "ix_learning_uses_newest",
            ["learning_id", "at_ms", "run_id", "learning_version"],
            unique=False,
        )

    op.create_table(
        "learnings",
        sa.Column("learning_id", sa.Text(), nullable=False),
        sa.Column("scope_key", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("sensitivity", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("is_live", sa.Boolean(), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("is_taken_back", sa.Boolean(), nullable=False),
        sa.Column("publish_tier", sa.Text(), nullable=False),
        sa.Column("verification_status", sa.Text(), nullable=False),
        sa.Column("policy_decision", sa.Text(), nullable=True),
        sa.Column("actor_folded", sa.Text(), nullable=True),
        sa.Column("key_digest", sa.Text(), nullable=False),
        sa.Column("subject_digest", sa.Text(), nullable=True),
        sa.Column("source_candidate_id", sa.Text(), nullable=True),
        sa.Column("supersedes", sa.Text(), nullable=True),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("published_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("search", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "kind IN ('run_summary', 'fact', 'preference', 'decision', 'procedure')",
            name=op.f("ck_learnings_kind"),
        ),
        sa.CheckConstraint(
            "policy_decision IN ('manual', 'automatic', 'escalated')",
            name=op.f("ck_learnings_policy_decision"),
        ),
        sa.CheckConstraint(
            "publish_tier IN ('provisional', 'active')", name=op.f("ck_learnings_publish_tier")
        ),
        sa.CheckConstraint(
            "sensitivity IN ('scoped', 'sensitive')", name=op.f("ck_learnings_sensitivity")
        ),
        sa.CheckConstraint(
            "status IN ('provisional', 'active', 'superseded', 'revoked')",
            name=op.f("ck_learnings_status"),
        ),
        sa.CheckConstraint(
            "verification_status IN ('unverified', 'pending', 'verified', 'failed')",
            name=op.f("ck_learnings_verification_status"),
        ),
        sa.PrimaryKeyConstraint("learning_id", name=op.f("pk_learnings")),
        sa.UniqueConstraint("source_candidate_id", name=op.f("uq_learnings_source_candidate_id")),
    )
    with op.batch_alter_table("learnings", schema=None) as batch_op:
        batch_op.create_index(
            "ix_learnings_contradicting",
            ["subject_digest", "kind", "published_at_ms", "learning_id"],
            unique=False,
            sqlite_where=sa.text("is_active AND subject_digest IS NOT NULL"),
            postgresql_where=sa.text("is_active AND subject_digest IS NOT NULL"),
        )
        batch_op.create_index(
            "ix_learnings_key",
            ["key_digest", "scope_key", "kind"],
            unique=False,
            sqlite_where=sa.text("is_live"),
            postgresql_where=sa.text("is_live"),
        )
        batch_op.create_index(
            "ix_learnings_newest",
            ["scope_key", "published_at_ms", "learning_id"],
            unique=False,
            sqlite_where=sa.text("is_live"),
            postgresql_where=sa.text("is_live"),
        )
        batch_op.create_index(
            "ix_learnings_replacing",
            ["supersedes"],
            unique=False,
            sqlite_where=sa.text("supersedes IS NOT NULL"),
            postgresql_where=sa.text("supersedes IS NOT NULL"),
        )
        batch_op.create_index("ix_learnings_scope", ["scope_key", "learning_id"], unique=False)
        batch_op.create_index("ix_learnings_status", ["status", "learning_id"], unique=False)
        batch_op.create_index(
            "ix_learnings_taken_back",
            ["key_digest", "scope_key", "kind"],
            unique=False,
            sqlite_where=sa.text("is_taken_back"),
            postgresql_where=sa.text("is_taken_back"),
        )
        batch_op.create_index(
            "ix_learnings_subject",
            ["subject_digest", "scope_key", "kind"],
            unique=False,
            sqlite_where=sa.text("is_live AND subject_digest IS NOT NULL"),
            postgresql_where=sa.text("is_live AND subject_digest IS NOT NULL"),
        )

    op.create_table(
        "review_jobs",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("due_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("claim", sa.Text(), nullable=True),
        sa.Column("again_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("needs_model", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_review_jobs")),
    )
    with op.batch_alter_table("review_jobs", schema=None) as batch_op:
        batch_op.create_index(
            "ix_review_jobs_due", ["needs_model", "due_at_ms", "job_id"], unique=False
        )


def _mark_runs() -> None:
    """Note which runs brought in more than a person's words; in doubt they did."""
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("brings_others_in", sa.Boolean(), server_default=sa.false(), nullable=False)
        )
    is_own = sa.and_(
        RUNS.c.kind.in_(TYPED),
        sa.or_(*(RUNS.c.wanted.like(own) for own in OWN)),
        RUNS.c.wanted.not_like('%"type":"asset%'),
    )
    op.execute(sa.update(RUNS).where(sa.not_(is_own)).values(brings_others_in=sa.true()))
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.create_index(
            "ix_runs_brings_others_in",
            ["session_id", "accepted_offset"],
            unique=False,
            sqlite_where=sa.text("brings_others_in"),
            postgresql_where=sa.text("brings_others_in"),
        )
    with op.batch_alter_table("journal", schema=None) as batch_op:
        batch_op.create_index(
            "ix_journal_tool_results",
            ["session_id", "offset"],
            unique=False,
            sqlite_where=sa.text("kind = 'tool_result'"),
            postgresql_where=sa.text("kind = 'tool_result'"),
        )
