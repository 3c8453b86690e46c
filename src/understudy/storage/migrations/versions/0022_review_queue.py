"""candidates have a place in the queue of review, and may be snoozed."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

# As `Candidate.review_rank` says.
RANKS = """
    UPDATE learning_candidates SET review_rank = CASE
        WHEN kind = 'run_summary' THEN 3
        WHEN sensitivity = 'sensitive' THEN 2
        WHEN kind = 'procedure' THEN 1
        ELSE 0 END
"""


def upgrade() -> None:
    rank = sa.Column("review_rank", sa.Integer, nullable=False, server_default="0")
    op.add_column("learning_candidates", sa.Column("snoozed_until_ms", sa.BigInteger))
    op.add_column("learning_candidates", rank)
    op.execute(RANKS)
    is_open = sa.text("is_open")
    op.create_index(
        "ix_learning_candidates_queue",
        "learning_candidates",
        ["review_rank", "candidate_id"],
        sqlite_where=is_open,
        postgresql_where=is_open,
    )
