"""the run whose agent wrote a project task."""

import sqlalchemy as sa
from alembic import op

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None

BY_RUN = sa.text("created_by_run_id IS NOT NULL")


def upgrade() -> None:
    op.add_column("project_tasks", sa.Column("created_by_run_id", sa.Text))
    op.create_index(
        "ix_project_tasks_created_by",
        "project_tasks",
        ["created_by_run_id"],
        sqlite_where=BY_RUN,
        postgresql_where=BY_RUN,
    )
