"""versions of skills that their owner has, and others get once a person accepts them."""

import sqlalchemy as sa
from alembic import op

revision = "0052"
down_revision = "0051"
branch_labels = None
depends_on = None

OPEN = sa.text("state = 'draft' OR for_owner_only OR grant_to IS NOT NULL")


def upgrade() -> None:
    for column in (
        sa.Column("for_owner_only", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("grant_to", sa.Text),
    ):
        op.add_column("skill_versions", column)
    op.drop_index("ix_skill_versions_drafts", "skill_versions")
    op.create_index(
        "ix_skill_versions_open",
        "skill_versions",
        ["skill_id", "number", "state", "for_owner_only", "grant_to", "trash_name", "run_id"],
        sqlite_where=OPEN,
        postgresql_where=OPEN,
    )
