"""Versions of playbooks, and flows."""

import sqlalchemy as sa

from understudy.playbooks.model import ReleaseStatus
from understudy.storage.rows import Json, Ms, Sorted
from understudy.storage.schema.metadata import metadata, one_of

playbook_versions = sa.Table(
    "playbook_versions",
    metadata,
    sa.Column("playbook_id", Sorted, primary_key=True),
    sa.Column("version", sa.Text, primary_key=True),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    # The folded text that queries search.
    sa.Column("search", sa.Text, nullable=False),
    # The manifest and its author; never changes.
    sa.Column("body", Json, nullable=False),
    # Release state beyond the status.
    sa.Column("state", Json, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
    one_of("status", ReleaseStatus),
    sa.Index("ix_playbook_versions_status", "status", "playbook_id"),
)

flows = sa.Table(
    "flows",
    metadata,
    sa.Column("flow_id", Sorted, primary_key=True),
    sa.Column("playbook_id", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.session_id"), nullable=False),
    # No foreign key: the run may be deleted one day.
    sa.Column("run_id", sa.Text, nullable=False, unique=True),
    sa.Column("body", Json, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
    sa.Index("ix_flows_newest", "created_at_ms", "flow_id"),
    sa.Index("ix_flows_session", "session_id", "created_at_ms"),
    sa.Index("ix_flows_playbook", "playbook_id", "created_at_ms"),
)
