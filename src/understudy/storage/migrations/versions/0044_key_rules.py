"""the version of the rules that made each semantic key."""

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None

TABLES = ("learning_candidates", "learnings")


def upgrade() -> None:
    for table in TABLES:
        number = sa.Column("key_rules", sa.Integer, nullable=False, server_default="0")
        op.add_column(table, number)
        op.create_index(f"ix_{table}_key_rules", table, ["key_rules"])
