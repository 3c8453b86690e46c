"""the reason for each version of a context file."""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None

TABLES = ("agent_files", "user_context_files")


def upgrade() -> None:
    for table in TABLES:
        op.add_column(table, sa.Column("reason", sa.Text))
