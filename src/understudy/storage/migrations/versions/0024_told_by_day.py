"""which runs were told of something learned, by time."""

from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_learning_uses_at", "learning_uses", ["at_ms", "run_id"])
