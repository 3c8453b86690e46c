"""What an operator changes while the daemon runs."""

import sqlalchemy as sa

from understudy.storage.columns import Json, Ms
from understudy.storage.schema.metadata import metadata

runtime_revisions = sa.Table(
    "runtime_revisions",
    metadata,
    sa.Column("revision", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("setting", sa.Text, nullable=False),
    sa.Column("document", Json, nullable=False),
    sa.Column("rollback_of_revision", sa.Integer),
)

tool_switches = sa.Table(
    "tool_switches",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("enabled", sa.Boolean, nullable=False),
)
