"""covering indexes for what the inbox and the status count; the few snoozed and refused."""

import sqlalchemy as sa
from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None

OPEN = sa.text("is_open")
SNOOZED = sa.text("is_open AND snoozed_until_ms IS NOT NULL")
REFUSED = sa.text("outcome = 'refused'")
WAITING = sa.text("state = 'pending' AND audience = 'user'")
REQUESTS = ["kind", "created_at_ms", "request_id", "user_id", "state", "audience"]
QUEUE = [
    "review_rank",
    "candidate_id",
    "expires_at_ms",
    "snoozed_until_ms",
    "is_open",
    "sensitivity",
]


def upgrade() -> None:
    _create("requests", "waiting", REQUESTS, where=WAITING)
    op.create_index("ix_skills_status", "skills", ["status", "sort_name", "slug"])
    op.drop_index("ix_learning_candidates_queue", "learning_candidates")
    _create("learning_candidates", "queue", QUEUE, where=OPEN)
    _create("learning_candidates", "snoozed", ["snoozed_until_ms"], where=SNOOZED)
    _create("audit", "refused", ["number"], where=REFUSED)


def _create(table: str, name: str, columns: list[str], *, where: sa.TextClause) -> None:
    op.create_index(
        f"ix_{table}_{name}", table, columns, sqlite_where=where, postgresql_where=where
    )
