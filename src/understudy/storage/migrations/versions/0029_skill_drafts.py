"""versions of skills wait for a person, and carry the mark of untrusted text."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    false = sa.false()
    op.add_column("skills", sa.Column("is_draft", sa.Boolean, nullable=False, server_default=false))
    # The constraint is in the same statement, because SQLite cannot add one to an existing table.
    op.get_bind().exec_driver_sql(
        "ALTER TABLE skill_versions ADD COLUMN state TEXT NOT NULL DEFAULT 'served' "
        "CONSTRAINT ck_skill_versions_state CHECK (state IN ('served', 'draft', 'rejected'))"
    )
    for column in (
        sa.Column("derived_from_untrusted", sa.Boolean, nullable=False, server_default=false),
        sa.Column("untrusted_path", sa.Text, nullable=False, server_default="[]"),
        sa.Column("decided_by", sa.Text),
        sa.Column("decided_at_ms", sa.BigInteger),
    ):
        op.add_column("skill_versions", column)
    drafts = sa.text("state = 'draft'")
    op.create_index(
        "ix_skill_versions_drafts",
        "skill_versions",
        ["skill_id", "number"],
        sqlite_where=drafts,
        postgresql_where=drafts,
    )
