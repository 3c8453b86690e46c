"""playbooks by version, and flows."""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

STATUSES = ("draft", "verified", "canary", "active", "revoked")


def upgrade() -> None:
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    by_characters = sa.Text() if is_sqlite else sa.Text(collation="C")
    listed = ", ".join(f"'{status}'" for status in STATUSES)
    op.create_table(
        "playbook_versions",
        sa.Column("playbook_id", by_characters, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("search", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("created_at_ms", sa.BigInteger, nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("playbook_id", "version", name="pk_playbook_versions"),
        sa.CheckConstraint(f"status IN ({listed})", name="status"),
    )
    op.create_table(
        "flows",
        sa.Column("flow_id", by_characters, nullable=False),
        sa.Column("playbook_id", sa.Text, nullable=False),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("created_at_ms", sa.BigInteger, nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("flow_id", name="pk_flows"),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.session_id"], name="fk_flows_session_id"
        ),
        sa.UniqueConstraint("run_id", name="uq_flows_run_id"),
    )
    op.create_index("ix_flows_newest", "flows", ["created_at_ms", "flow_id"])
    op.create_index("ix_flows_session", "flows", ["session_id", "created_at_ms"])
    op.create_index("ix_flows_playbook", "flows", ["playbook_id", "created_at_ms"])
