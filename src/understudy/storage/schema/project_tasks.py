"""The tasks of projects."""

import sqlalchemy as sa

from understudy.sessions.tasks import TaskStatus
from understudy.storage.rows import Json, Ms, Sorted
from understudy.storage.schema.metadata import metadata, one_of, some_of

project_tasks = sa.Table(
    "project_tasks",
    metadata,
    sa.Column("project_id", sa.Text, sa.ForeignKey("projects.project_id"), primary_key=True),
    sa.Column("project_task_id", Sorted, primary_key=True),
    # While a run works on the task, the status comes from that run.
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("assignee_member_id", sa.Text),
    # No foreign key: the run may be deleted one day.
    sa.Column("latest_run_id", sa.Text),
    # The run that wrote it; no foreign key, as above.
    sa.Column("created_by_run_id", sa.Text),
    # A digest of the tool call that made it: a repeat of the call makes no second one.
    sa.Column("call_digest", sa.Text, unique=True),
    sa.Column("body", Json, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
    one_of("status", TaskStatus),
    # Queried at the end of every run.
    some_of("ix_project_tasks_run", "latest_run_id", where=sa.text("latest_run_id IS NOT NULL")),
    some_of(
        "ix_project_tasks_created_by",
        "created_by_run_id",
        where=sa.text("created_by_run_id IS NOT NULL"),
    ),
)
