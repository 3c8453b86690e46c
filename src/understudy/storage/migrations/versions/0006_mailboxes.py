"""mailboxes."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "messages",
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("to_agent_id", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("hops", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("due_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("call_digest", sa.Text(), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "status IN ('pending', 'delivering', 'acked', 'dead')",
            name=op.f("ck_messages_status"),
        ),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.session_id"], name=op.f("fk_messages_session_id")
        ),
        sa.PrimaryKeyConstraint("message_id", name=op.f("pk_messages")),
        sa.UniqueConstraint("call_digest", name=op.f("uq_messages_call_digest")),
    )
    with op.batch_alter_table("messages", schema=None) as batch_op:
        batch_op.create_index(
            "ix_messages_session", ["session_id", "created_at_ms", "message_id"], unique=False
        )
        batch_op.create_index(
            "ix_messages_agent", ["to_agent_id", "created_at_ms", "message_id"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_messages_run_id"), ["run_id"], unique=False)
        batch_op.create_index(
            "ix_messages_undelivered",
            ["session_id"],
            unique=False,
            sqlite_where=sa.text("status IN ('pending', 'delivering')"),
            postgresql_where=sa.text("status IN ('pending', 'delivering')"),
        )
        batch_op.create_index(
            "ix_messages_due",
            ["due_at_ms"],
            unique=False,
            sqlite_where=sa.text("due_at_ms IS NOT NULL"),
            postgresql_where=sa.text("due_at_ms IS NOT NULL"),
        )
        batch_op.create_index(
            "ix_messages_delivering",
            ["session_id"],
            unique=False,
            sqlite_where=sa.text("status = 'delivering'"),
            postgresql_where=sa.text("status = 'delivering'"),
        )
