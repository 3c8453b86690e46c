"""the index of a user's unfinished runs: how many are in flight, and which is next."""

import sqlalchemy as sa
from alembic import op

revision = "0054"
down_revision = "0053"
branch_labels = None
depends_on = None

UNFINISHED = sa.text("finished_at_ms IS NULL")


def upgrade() -> None:
    op.create_index(
        "ix_runs_unfinished_of_user",
        "runs",
        ["user_id", "status", "submitted_at_ms", "run_id"],
        sqlite_where=UNFINISHED,
        postgresql_where=UNFINISHED,
    )
