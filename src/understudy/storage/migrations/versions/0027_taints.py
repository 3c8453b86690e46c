"""whose text a run has read, and what was written from it."""

import sqlalchemy as sa
from alembic import op

from understudy.storage.rows import Json

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("taints", Json))
    # The answers of tools that earlier versions did not record.
    op.execute(
        "UPDATE runs SET brings_others_in = true, taints = '{\"tool_result\": []}'"
        " WHERE run_id IN (SELECT run_id FROM journal WHERE kind = 'tool_result')"
    )
    for table in ("agent_files", "user_context_files"):
        op.add_column(table, sa.Column("reviewed_by", sa.Text))
    for table in ("agent_files", "user_context_files", "file_proposals"):
        column = sa.Column("untrusted_sources", Json, nullable=False, server_default="[]")
        op.add_column(table, column)
    op.add_column("file_proposals", sa.Column("user_id", sa.Text))
