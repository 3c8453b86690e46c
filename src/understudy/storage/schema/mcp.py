"""MCP servers that belong to one session."""

import sqlalchemy as sa

from understudy.storage.columns import Json
from understudy.storage.schema.metadata import metadata

session_mcp_servers = sa.Table(
    "session_mcp_servers",
    metadata,
    sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.session_id"), primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("body", Json, nullable=False),
)
