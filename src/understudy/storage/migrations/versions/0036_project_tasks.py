"""tasks of projects; projects are found by status and name."""

import json

import sqlalchemy as sa
from alembic import op

from understudy.storage.rows import search_text

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

STATUSES = ("pending", "in_progress", "blocked", "completed", "failed", "cancelled")
projects = sa.table(
    "projects", *(sa.column(name) for name in ("project_id", "body", "status", "search"))
)


def upgrade() -> None:
    status = sa.Column("status", sa.Text, nullable=False, server_default="active")
    op.add_column("projects", status)
    op.add_column("projects", sa.Column("search", sa.Text))
    _find_projects()
    listed = ", ".join(f"'{status}'" for status in STATUSES)
    is_c = None if _is_sqlite() else "C"
    op.create_table(
        "project_tasks",
        sa.Column("project_id", sa.Text, nullable=False),
        sa.Column("project_task_id", sa.Text(collation=is_c), nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("assignee_member_id", sa.Text),
        sa.Column("latest_run_id", sa.Text),
        sa.Column("call_digest", sa.Text),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("created_at_ms", sa.BigInteger, nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("project_id", "project_task_id", name="pk_project_tasks"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.project_id"], name="fk_project_tasks_project_id"
        ),
        sa.UniqueConstraint("call_digest", name="uq_project_tasks_call_digest"),
        sa.CheckConstraint(f"status IN ({listed})", name="status"),
    )
    has_run = sa.text("latest_run_id IS NOT NULL")
    op.create_index(
        "ix_project_tasks_run",
        "project_tasks",
        ["latest_run_id"],
        sqlite_where=has_run,
        postgresql_where=has_run,
    )


def _find_projects() -> None:
    """Set status and search text of each project that decodes."""
    connection = op.get_bind()
    for row in connection.execute(sa.select(projects.c.project_id, projects.c.body)).all():
        try:
            body = json.loads(row.body)
            status = str(body.get("status", "active"))
            texts = [str(body.get(name) or "") for name in ("display_name", "description")]
        except (ValueError, RecursionError, AttributeError):
            continue
        found = {"status": status, "search": search_text(row.project_id, *texts)}
        connection.execute(
            sa.update(projects).where(projects.c.project_id == row.project_id).values(found)
        )


def _is_sqlite() -> bool:
    return op.get_bind().dialect.name == "sqlite"
