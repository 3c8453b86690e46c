"""usage of skills, what is suggested from it, and what runs were told beside their work."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

NUDGES = sa.text("kind = 'nudge'")
MADE_BY_RUNS = sa.text("agent_id IS NOT NULL")
DECIDED = sa.text("decided_at_ms IS NOT NULL")
EXPIRING = sa.text("is_open AND expires_at_ms IS NOT NULL")
OPEN = sa.text("is_open")
BY_DAEMON = sa.text("origin = 'daemon'")
SUMMARY = sa.text("kind = 'run_summary'")


def upgrade() -> None:
    op.create_table(
        "skill_listings",
        sa.Column("ref", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("ref", "version", "run_id", name=op.f("pk_skill_listings")),
    )
    op.create_table(
        "skill_listing_days",
        sa.Column("ref", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("runs", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("ref", "version", "day", name=op.f("pk_skill_listing_days")),
    )
    op.create_table(
        "suggestions",
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("candidate_id", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("rule", "subject", name=op.f("pk_suggestions")),
    )
    op.create_table(
        "suggestion_looks",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_suggestion_looks")),
    )
    with op.batch_alter_table("skill_listing_days", schema=None) as batch_op:
        batch_op.create_index("ix_skill_listing_days_day", ["day"], unique=False)
    with op.batch_alter_table("skill_uses", schema=None) as batch_op:
        batch_op.create_index("ix_skill_uses_run", ["run_id"], unique=False)
        batch_op.create_index("ix_skill_uses_newest", ["at_ms"], unique=False)
    _note_whose_run_it_was()
    # SQLite cannot change a check: the table is made anew, from what 0012 made of it.
    with op.batch_alter_table(
        "learning_candidates", schema=None, copy_from=_candidates()
    ) as batch_op:
        batch_op.drop_constraint(op.f("ck_learning_candidates_capture_path"), type_="check")
        batch_op.create_check_constraint(
            op.f("ck_learning_candidates_capture_path"),
            "capture_path IN ('api', 'run_summary', 'labels', 'model', 'usage')",
        )


def _note_whose_run_it_was() -> None:
    """So that what happened to one agent is found without looking at all of them."""
    for table in ("journal", "skill_versions"):
        with op.batch_alter_table(table, schema=None) as batch_op:
            batch_op.add_column(sa.Column("agent_id", sa.Text(), nullable=True))
    op.execute(
        "UPDATE skill_versions SET agent_id = (SELECT runs.agent_id FROM runs"
        " WHERE runs.run_id = skill_versions.run_id) WHERE run_id IS NOT NULL"
    )
    with op.batch_alter_table("journal", schema=None) as batch_op:
        batch_op.create_index(
            "ix_journal_nudges",
            ["agent_id", "at_ms", "sequence"],
            unique=False,
            sqlite_where=NUDGES,
            postgresql_where=NUDGES,
        )
    with op.batch_alter_table("skill_versions", schema=None) as batch_op:
        batch_op.create_index(
            "ix_skill_versions_made_by",
            ["agent_id", "created_at_ms", "number", "skill_id"],
            unique=False,
            sqlite_where=MADE_BY_RUNS,
            postgresql_where=MADE_BY_RUNS,
        )
    with op.batch_alter_table("agent_files", schema=None) as batch_op:
        batch_op.create_index(
            "ix_agent_files_written",
            ["agent_id", "name", "created_at_ms", "version"],
            unique=False,
        )
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.create_index(
            "ix_runs_agent", ["agent_id", "submitted_at_ms", "run_id"], unique=False
        )


def _candidates() -> sa.Table:
    return sa.Table(
        "learning_candidates",
        sa.MetaData(),
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
        *_checks(),
        *_indexes(),
        sa.PrimaryKeyConstraint("candidate_id", name=op.f("pk_learning_candidates")),
    )


def _checks() -> tuple[sa.CheckConstraint, ...]:
    said = {
        "capture_path": "capture_path IN ('api', 'run_summary', 'labels', 'model')",
        "kind": "kind IN ('run_summary', 'fact', 'preference', 'decision', 'procedure')",
        "origin": "origin IN ('api', 'daemon')",
        "sensitivity": "sensitivity IN ('scoped', 'sensitive')",
        "state": "state IN ('pending', 'escalated', 'published', 'rejected')",
    }
    return tuple(
        sa.CheckConstraint(text, name=op.f(f"ck_learning_candidates_{name}"))
        for name, text in said.items()
    )


def _indexes() -> tuple[sa.Index, ...]:
    tally = ("capture_path", "rule_name", "state", "is_automatic", "is_expired")
    proposal = ("source_run_id", "scope_key", "kind", "key_digest")
    return (
        _index("ix_learning_candidates_decided", "decided_at_ms", "candidate_id", where=DECIDED),
        _index("ix_learning_candidates_expiring", "expires_at_ms", "candidate_id", where=EXPIRING),
        _index("ix_learning_candidates_key", "key_digest", "scope_key", "kind", "state"),
        _index("ix_learning_candidates_open", "candidate_id", where=OPEN),
        _index("ix_learning_candidates_scope", "scope_key", "candidate_id"),
        _index("ix_learning_candidates_state", "state", "candidate_id"),
        _index("ix_learning_candidates_tally", *tally),
        _index("uq_learning_candidates_proposal", *proposal, unique=True, where=BY_DAEMON),
        _index("uq_learning_candidates_summary", "source_run_id", unique=True, where=SUMMARY),
    )


def _index(
    name: str, *columns: str, unique: bool = False, where: sa.TextClause | None = None
) -> sa.Index:
    return sa.Index(name, *columns, unique=unique, sqlite_where=where, postgresql_where=where)
