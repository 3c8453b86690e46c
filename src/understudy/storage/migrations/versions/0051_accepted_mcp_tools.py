"""the descriptions of MCP tools that admins have accepted."""

import sqlalchemy as sa
from alembic import op

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "accepted_mcp_tools",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("accepted_by", sa.Text, nullable=False),
        sa.Column("accepted_at_ms", sa.BigInteger, nullable=False),
    )
