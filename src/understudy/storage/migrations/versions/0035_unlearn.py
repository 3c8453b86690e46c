"""unlearnings, tombstones of skill versions, and journal events that no later prompt has."""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

MODES = ("revoke", "erase")
STATUSES = ("pending", "running", "done", "failed")


def upgrade() -> None:
    op.create_table(
        "unlearns",
        sa.Column("unlearn_id", sa.Text, nullable=False),
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
        sa.PrimaryKeyConstraint("unlearn_id", name="pk_unlearns"),
        sa.CheckConstraint(_in("mode", MODES), name="mode"),
        sa.CheckConstraint(_in("status", STATUSES), name="status"),
    )
    op.create_table(
        "unlearn_jobs",
        sa.Column("job_id", sa.Text, nullable=False),
        sa.Column("due_at_ms", sa.BigInteger, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("claim", sa.Text),
        sa.Column("again_at_ms", sa.BigInteger),
        sa.Column("needs_model", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("error", sa.Text),
        sa.PrimaryKeyConstraint("job_id", name="pk_unlearn_jobs"),
    )
    op.create_index("ix_unlearn_jobs_due", "unlearn_jobs", ["needs_model", "due_at_ms", "job_id"])
    op.create_table(
        "unlearn_key",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("secret", sa.Text, nullable=False),
        sa.Column("created_at_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_unlearn_key"),
    )
    op.add_column("skill_versions", sa.Column("erased_at_ms", sa.BigInteger))
    op.add_column("journal", sa.Column("withdrawn_by", sa.Text))
    op.create_index("ix_learning_candidates_run", "learning_candidates", ["source_run_id"])


def _in(column: str, values: tuple[str, ...]) -> str:
    return f"{column} IN ({', '.join(map(repr, values))})"
