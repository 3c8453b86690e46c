"""audit entries that have a digest and no link yet."""

import sqlalchemy as sa
from alembic import op

revision = "0056"
down_revision = "0055"
branch_labels = None
depends_on = None

UNSEALED = sa.text("place IS NULL AND content_digest IS NOT NULL")


def upgrade() -> None:
    op.create_index(
        "ix_audit_unsealed",
        "audit",
        ["number"],
        sqlite_where=UNSEALED,
        postgresql_where=UNSEALED,
    )
