"""daemons: whose work others take over when they die."""

import sqlalchemy as sa
from alembic import op

revision = "0053"
down_revision = "0052"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "daemons",
        sa.Column("executor_id", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("executor_id", name=op.f("pk_daemons")),
    )
