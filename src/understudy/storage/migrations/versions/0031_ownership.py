"""whose sessions, runs and assets they are, to be looked up by their owner."""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_sessions_owner_id", "sessions", ["owner_id"])
    op.create_index("ix_runs_user_id", "runs", ["user_id"])
    op.create_table(
        "asset_owners",
        sa.Column("owner_id", sa.Text, nullable=False),
        sa.Column("asset_id", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("owner_id", "asset_id", name="pk_asset_owners"),
        sa.ForeignKeyConstraint(
            ["asset_id"],
            ["assets.asset_id"],
            name="fk_asset_owners_asset_id",
            ondelete="CASCADE",
        ),
    )
    op.create_index("ix_asset_owners_asset_id", "asset_owners", ["asset_id"])
    op.execute(
        "INSERT INTO asset_owners (owner_id, asset_id) SELECT owner_id, asset_id FROM assets"
    )
