"""folders whose skills an operator is offered."""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "skill_roots",
        sa.Column("root_id", sa.Text, nullable=False),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("owner_id", sa.Text, nullable=False),
        sa.Column("created_at_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("root_id", name="pk_skill_roots"),
        sa.UniqueConstraint("owner_id", "path", name="uq_skill_roots_owner_id_path"),
    )
