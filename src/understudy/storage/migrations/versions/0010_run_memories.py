"""recovered run memory."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "run_memories",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("recorded_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("semantic_capture", sa.Text(), nullable=False),
        sa.Column("stamp", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "semantic_capture IN ('pending', 'completed', 'skipped')",
            name=op.f("ck_run_memories_semantic_capture"),
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name=op.f("fk_run_memories_run_id")),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_run_memories")),
    )
    with op.batch_alter_table("run_memories", schema=None) as batch_op:
        batch_op.create_index(
            "ix_run_memories_session", ["session_id", "recorded_at_ms", "run_id"], unique=False
        )
        batch_op.create_index("ix_run_memories_oldest", ["recorded_at_ms", "run_id"], unique=False)
        batch_op.create_index(
            "ix_run_memories_pending",
            ["recorded_at_ms"],
            unique=False,
            sqlite_where=sa.text("semantic_capture = 'pending'"),
            postgresql_where=sa.text("semantic_capture = 'pending'"),
        )

    op.create_table(
        "run_memory_scopes",
        sa.Column("scope_key", sa.Text(), nullable=False),
        sa.Column("recorded_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["run_memories.run_id"],
            name=op.f("fk_run_memory_scopes_run_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "scope_key", "recorded_at_ms", "run_id", name=op.f("pk_run_memory_scopes")
        ),
    )
    with op.batch_alter_table("run_memory_scopes", schema=None) as batch_op:
        batch_op.create_index(op.f("ix_run_memory_scopes_run_id"), ["run_id"], unique=False)

    op.create_table(
        "run_memory_bodies",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("stamp", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_run_memory_bodies")),
    )
    op.create_table(
        "run_memory_evidence",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["run_memories.run_id"],
            name=op.f("fk_run_memory_evidence_run_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_run_memory_evidence")),
    )
    op.create_table(
        "run_memory_backlog",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.run_id"], name=op.f("fk_run_memory_backlog_run_id")
        ),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_run_memory_backlog")),
    )
