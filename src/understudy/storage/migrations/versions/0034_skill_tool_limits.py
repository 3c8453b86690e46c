"""a use of a skill says which tools the run is held to."""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("allowed_tools", "blocked_tools"):
        column = sa.Column(name, sa.Text, nullable=False, server_default="[]")
        op.add_column("skill_uses", column)
