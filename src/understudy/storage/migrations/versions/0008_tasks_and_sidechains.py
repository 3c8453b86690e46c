"""tasks of a session and sidechains."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "tasks",
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("call_digest", sa.Text(), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "status IN ('pending', 'in_progress', 'blocked', 'completed', 'failed', 'cancelled')",
            name=op.f("ck_tasks_status"),
        ),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.session_id"], name=op.f("fk_tasks_session_id")
        ),
        sa.PrimaryKeyConstraint("task_id", name=op.f("pk_tasks")),
        sa.UniqueConstraint("call_digest", name=op.f("uq_tasks_call_digest")),
        sa.UniqueConstraint("session_id", "number", name=op.f("uq_tasks_session_id_number")),
    )
    op.create_table(
        "sidechains",
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("first_run_id", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=True),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.session_id"], name=op.f("fk_sidechains_session_id")
        ),
        sa.PrimaryKeyConstraint("session_id", name=op.f("pk_sidechains")),
    )
    with op.batch_alter_table("sidechains", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_sidechains_run_id"), ["run_id"], unique=False)
    op.create_table(
        "signals",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("kind IN ('look', 'stop')", name=op.f("ck_signals_kind")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_signals")),
        sqlite_autoincrement=True,
    )
