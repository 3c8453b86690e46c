"""runs that wait for people."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("wakes", sa.Integer(), server_default="0", nullable=False))
        batch_op.add_column(
            sa.Column("asleep", sa.Boolean(), server_default=sa.false(), nullable=False)
        )
    op.create_table(
        "requests",
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("call_key", sa.Text(), nullable=False),
        sa.Column("audience", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("resolution", sa.Text(), nullable=True),
        sa.Column("resolved_by", sa.Text(), nullable=True),
        sa.Column("resolved_at_ms", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("kind IN ('approval', 'question')", name=op.f("ck_requests_kind")),
        sa.CheckConstraint("audience IN ('user', 'parent')", name=op.f("ck_requests_audience")),
        sa.CheckConstraint(
            "state IN ('pending', 'allowed', 'denied', 'answered', 'declined', 'expired', "
            "'cancelled')",
            name=op.f("ck_requests_state"),
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name=op.f("fk_requests_run_id")),
        sa.PrimaryKeyConstraint("request_id", name=op.f("pk_requests")),
        sa.UniqueConstraint("call_key", name=op.f("uq_requests_call_key")),
    )
    with op.batch_alter_table("requests", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_requests_session_id"), ["session_id"], unique=False)
        batch_op.create_index("ix_requests_run", ["run_id", "state"], unique=False)
        batch_op.create_index(
            "ix_requests_all", ["kind", "created_at_ms", "request_id"], unique=False
        )
        batch_op.create_index(
            "ix_requests_listed", ["kind", "state", "created_at_ms", "request_id"], unique=False
        )
        batch_op.create_index(
            "ix_requests_due",
            ["expires_at_ms"],
            unique=False,
            sqlite_where=sa.text("state = 'pending' AND expires_at_ms IS NOT NULL"),
            postgresql_where=sa.text("state = 'pending' AND expires_at_ms IS NOT NULL"),
        )
    op.create_table(
        "artifacts",
        sa.Column("artifact_id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("call_key", sa.Text(), nullable=False),
        sa.Column("tool_name", sa.Text(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name=op.f("fk_artifacts_run_id")),
        sa.PrimaryKeyConstraint("artifact_id", name=op.f("pk_artifacts")),
        sa.UniqueConstraint("call_key", name=op.f("uq_artifacts_call_key")),
    )
    with op.batch_alter_table("artifacts", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_artifacts_run_id"), ["run_id"], unique=False)
