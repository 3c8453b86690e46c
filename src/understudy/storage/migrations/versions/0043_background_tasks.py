"""shell commands in the background, what they print, and the deliveries of their ends."""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None

STATUSES = ("in_progress", "completed", "failed", "cancelled")
SOME = {
    "running": "ended_at_ms IS NULL",
    "untold": "needs_notice",
}


def upgrade() -> None:
    listed = ", ".join(f"'{status}'" for status in STATUSES)
    op.create_table(
        "background_tasks",
        sa.Column("task_id", sa.Text, nullable=False),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("needs_notice", sa.Boolean, nullable=False),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("lease_until_ms", sa.BigInteger, nullable=False),
        sa.Column("created_at_ms", sa.BigInteger, nullable=False),
        sa.Column("ended_at_ms", sa.BigInteger),
        sa.Column("body", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("task_id", name="pk_background_tasks"),
        sa.CheckConstraint(f"status IN ({listed})", name="status"),
        *(
            sa.ForeignKeyConstraint(
                [f"{one}_id"], [f"{one}s.{one}_id"], name=f"fk_{table}_{one}_id"
            )
            for table, one in (("background_tasks", "session"), ("background_tasks", "run"))
        ),
    )
    op.create_index("ix_background_tasks_run_id", "background_tasks", ["run_id"])
    op.create_index("ix_background_tasks_newest", "background_tasks", ["created_at_ms", "task_id"])
    op.create_index(
        "ix_background_tasks_session",
        "background_tasks",
        ["session_id", "created_at_ms", "task_id"],
    )
    for name, where in SOME.items():
        op.create_index(
            f"ix_background_tasks_{name}",
            "background_tasks",
            ["session_id"],
            sqlite_where=sa.text(where),
            postgresql_where=sa.text(where),
        )
    op.create_table(
        "background_output",
        sa.Column("task_id", sa.Text, nullable=False),
        sa.Column("start", sa.Integer, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("task_id", "start", name="pk_background_output"),
        sa.ForeignKeyConstraint(
            ["task_id"],
            ["background_tasks.task_id"],
            name="fk_background_output_task_id",
            ondelete="CASCADE",
        ),
    )
    op.add_column("deliveries", sa.Column("task_id", sa.Text))
    op.create_index("ix_deliveries_task_id", "deliveries", ["task_id"])
