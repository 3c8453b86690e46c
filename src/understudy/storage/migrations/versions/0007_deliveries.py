"""deliveries to webhooks, and an index of checkpoints."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("journal", schema=None) as batch_op:
        batch_op.create_index(
            "ix_journal_checkpoints",
            ["session_id", "offset"],
            unique=False,
            sqlite_where=sa.text("kind = 'checkpoint'"),
            postgresql_where=sa.text("kind = 'checkpoint'"),
        )

    op.create_table(
        "deliveries",
        sa.Column("delivery_id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("plugin", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("attempts_before", sa.Integer(), nullable=False),
        sa.Column("due_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("delivered_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "status IN ('pending', 'delivered', 'dead', 'skipped')",
            name=op.f("ck_deliveries_status"),
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name=op.f("fk_deliveries_run_id")),
        sa.PrimaryKeyConstraint("delivery_id", name=op.f("pk_deliveries")),
        sa.UniqueConstraint("run_id", "position", name=op.f("uq_deliveries_run_id_position")),
    )
    with op.batch_alter_table("deliveries", schema=None) as batch_op:
        batch_op.create_index(
            "ix_deliveries_due",
            ["due_at_ms"],
            unique=False,
            sqlite_where=sa.text("due_at_ms IS NOT NULL"),
            postgresql_where=sa.text("due_at_ms IS NOT NULL"),
        )

    op.create_table(
        "delivery_tries",
        sa.Column("delivery_id", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("status_code", sa.Integer(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "outcome IN ('delivered', 'retry', 'dead')", name=op.f("ck_delivery_tries_outcome")
        ),
        sa.ForeignKeyConstraint(
            ["delivery_id"],
            ["deliveries.delivery_id"],
            name=op.f("fk_delivery_tries_delivery_id"),
        ),
        sa.PrimaryKeyConstraint("delivery_id", "attempt", name=op.f("pk_delivery_tries")),
    )
    op.create_table(
        "webhook_secret",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_webhook_secret")),
    )
