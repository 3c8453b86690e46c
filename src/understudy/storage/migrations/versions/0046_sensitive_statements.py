"""indexes of the sensitive statements, which are masked in what viewers read."""

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None

WHERE = sa.text("sensitivity = 'sensitive' AND kind <> 'run_summary'")


def upgrade() -> None:
    for table, column in (("learning_candidates", "candidate_id"), ("learnings", "learning_id")):
        op.create_index(
            f"ix_{table}_sensitive",
            table,
            [column],
            sqlite_where=WHERE,
            postgresql_where=WHERE,
        )
