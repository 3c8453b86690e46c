"""changes that one person approved and that wait for another."""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "second_approvals",
        sa.Column("approval_id", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("operation", sa.Text, nullable=False),
        sa.Column("values", sa.Text, nullable=False),
        sa.Column("body", sa.Text),
        sa.Column("first_by", sa.Text, nullable=False),
        sa.Column("created_at_ms", sa.BigInteger, nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("approval_id", name="pk_second_approvals"),
        sa.UniqueConstraint("fingerprint", name="uq_second_approvals_fingerprint"),
    )
