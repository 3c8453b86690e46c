"""sessions have active skills, and keys that stand for them."""

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None


def upgrade() -> None:
    is_c = None if op.get_bind().dialect.name == "sqlite" else "C"
    active = sa.Column("active_skills", sa.Text, nullable=False, server_default="[]")
    op.add_column("sessions", active)
    op.create_table(
        "session_bindings",
        sa.Column("binding_key", sa.Text(collation=is_c), nullable=False),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("bound_by", sa.Text, nullable=False),
        sa.Column("created_at_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("binding_key", name="pk_session_bindings"),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.session_id"], name="fk_session_bindings_session_id"
        ),
    )
    op.create_index("ix_session_bindings_session_id", "session_bindings", ["session_id"])
