"""the queue of review is counted from its index alone."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    is_open = sa.text("is_open")
    op.drop_index("ix_learning_candidates_queue", "learning_candidates")
    op.create_index(
        "ix_learning_candidates_queue",
        "learning_candidates",
        ["review_rank", "candidate_id", "expires_at_ms", "snoozed_until_ms"],
        sqlite_where=is_open,
        postgresql_where=is_open,
    )
