"""how the capture of a run ended, and why nothing was learned from it."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

STATES = ("off", "pending", "completed", "skipped", "failed", "given_up")


def upgrade() -> None:
    listed = ", ".join(f"'{state}'" for state in STATES)
    op.create_table(
        "run_captures",
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("found", sa.Integer, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("run_id", name="pk_run_captures"),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["run_memories.run_id"],
            name="fk_run_captures_run_id_run_memories",
            ondelete="CASCADE",
        ),
        sa.CheckConstraint(f"state IN ({listed})", name="state"),
    )
    given_up = sa.text("state = 'given_up'")
    op.create_index(
        "ix_run_captures_given_up",
        "run_captures",
        ["at_ms"],
        sqlite_where=given_up,
        postgresql_where=given_up,
    )
