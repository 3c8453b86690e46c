"""which runs were told of something learned, by run."""

from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_index("ix_learning_uses_at", "learning_uses")
    op.create_index("ix_learning_uses_run", "learning_uses", ["run_id"])
