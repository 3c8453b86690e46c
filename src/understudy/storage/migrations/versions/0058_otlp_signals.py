"""otlp_signals: what telemetry told of traces that are no turns yet."""

import sqlalchemy as sa
from alembic import op

revision = "0058"
down_revision = "0057"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "otlp_signals",
        sa.Column("user_id", sa.Text, nullable=False),
        sa.Column("trace", sa.Text, nullable=False),
        sa.Column("told_id", sa.Text, nullable=False),
        sa.Column("ended_ns", sa.BigInteger, nullable=False),
        sa.Column("closes", sa.Boolean, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "trace", "told_id", name=op.f("pk_otlp_signals")),
    )
