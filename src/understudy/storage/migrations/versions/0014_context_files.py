"""context files of users, and changes to context files that wait for a decision."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "user_context_files",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"],
            ["agents.agent_id"],
            name=op.f("fk_user_context_files_agent_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "agent_id", "user_id", "name", "version", name=op.f("pk_user_context_files")
        ),
    )
    op.create_table(
        "file_proposals",
        sa.Column("proposal_id", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("base_version", sa.Integer(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("decided_by", sa.Text(), nullable=True),
        sa.Column("decided_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("file_version", sa.Integer(), nullable=True),
        sa.CheckConstraint(
            "state IN ('pending', 'approved', 'rejected', 'superseded')",
            name=op.f("ck_file_proposals_state"),
        ),
        sa.ForeignKeyConstraint(
            ["agent_id"],
            ["agents.agent_id"],
            name=op.f("fk_file_proposals_agent_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("proposal_id", name=op.f("pk_file_proposals")),
    )
    with op.batch_alter_table("file_proposals", schema=None) as batch_op:
        batch_op.create_index("ix_file_proposals_agent", ["agent_id", "proposal_id"], unique=False)
        batch_op.create_index(
            "ix_file_proposals_waiting", ["agent_id", "state", "name"], unique=False
        )
        batch_op.create_index(
            "ix_file_proposals_file",
            ["agent_id", "name", "created_at_ms", "proposal_id"],
            unique=False,
        )
