"""the daemon that holds an idempotency key while its request is in flight."""

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("responses", sa.Column("holder", sa.Text))
