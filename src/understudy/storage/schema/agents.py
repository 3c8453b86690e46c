"""Agents, their context files, users' copies, and proposals for them."""

import sqlalchemy as sa

from understudy.agents.model import AgentType
from understudy.evolution.proposals import ProposalState
from understudy.storage.rows import Json, Ms
from understudy.storage.schema.metadata import metadata, one_of

agents = sa.Table(
    "agents",
    metadata,
    sa.Column("agent_id", sa.Text, primary_key=True),
    sa.Column("display_name", sa.Text, nullable=False),
    sa.Column("agent_type", sa.Text, nullable=False),
    sa.Column("route", sa.Text),
    sa.Column("max_tool_iterations", sa.Integer, nullable=False),
    sa.Column("other_config", Json, nullable=False),
    sa.Column("permissions", Json, nullable=False),
    sa.Column("owner_id", sa.Text),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("updated_at_ms", Ms, nullable=False),
    one_of("agent_type", AgentType),
)

agent_files = sa.Table(
    "agent_files",
    metadata,
    sa.Column(
        "agent_id", sa.Text, sa.ForeignKey("agents.agent_id", ondelete="CASCADE"), primary_key=True
    ),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("content", Json, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("reviewed_by", sa.Text),
    sa.Column("untrusted_sources", Json, nullable=False, server_default="[]"),
    sa.Column("reason", Json),
    sa.Index("ix_agent_files_written", "agent_id", "name", "created_at_ms", "version"),
)


user_context_files = sa.Table(
    "user_context_files",
    metadata,
    sa.Column(
        "agent_id", sa.Text, sa.ForeignKey("agents.agent_id", ondelete="CASCADE"), primary_key=True
    ),
    sa.Column("user_id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("content", Json, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("reviewed_by", sa.Text),
    sa.Column("untrusted_sources", Json, nullable=False, server_default="[]"),
    sa.Column("reason", Json),
)

file_proposals = sa.Table(
    "file_proposals",
    metadata,
    sa.Column("proposal_id", sa.Text, primary_key=True),
    sa.Column(
        "agent_id",
        sa.Text,
        sa.ForeignKey("agents.agent_id", ondelete="CASCADE"),
        nullable=False,
    ),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("content", Json, nullable=False),
    # The version that it was based on; 0 for none.
    sa.Column("base_version", sa.Integer, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.Column("decided_by", sa.Text),
    sa.Column("decided_at_ms", Ms),
    sa.Column("reason", Json),
    # The version that the proposal became.
    sa.Column("file_version", sa.Integer),
    # The user whose copy it is for; null for the agent's own file.
    sa.Column("user_id", sa.Text),
    sa.Column("untrusted_sources", Json, nullable=False, server_default="[]"),
    one_of("state", ProposalState),
    sa.Index("ix_file_proposals_agent", "agent_id", "proposal_id"),
    sa.Index("ix_file_proposals_waiting", "agent_id", "state", "name"),
    sa.Index("ix_file_proposals_file", "agent_id", "name", "created_at_ms", "proposal_id"),
)
