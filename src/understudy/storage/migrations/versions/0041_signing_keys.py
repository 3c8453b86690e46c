"""signing keys; who signed a version of a skill."""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "signing_keys",
        sa.Column("key_id", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("public_key", sa.Text, nullable=False),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.Column("created_at_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("key_id", name="pk_signing_keys"),
        sa.UniqueConstraint("name", name="uq_signing_keys_name"),
        sa.CheckConstraint("kind IN ('own', 'trusted')", name="kind"),
    )
    op.add_column("skill_versions", sa.Column("signature", sa.Text))
