"""who proposed a change that waits for two people."""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("second_approvals", sa.Column("proposed_by", sa.Text))
