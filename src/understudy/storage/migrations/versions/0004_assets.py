"""assets."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "assets",
        sa.Column("asset_id", sa.Text(), nullable=False),
        sa.Column("file_name", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("asset_id", name=op.f("pk_assets")),
        sa.UniqueConstraint("media_type", "sha256", name=op.f("uq_assets_media_type_sha256")),
    )
    with op.batch_alter_table("assets", schema=None) as batch_op:
        batch_op.create_index("ix_assets_newest", ["created_at_ms", "asset_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_assets_sha256"), ["sha256"], unique=False)

    op.create_table(
        "asset_references",
        sa.Column("asset_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("ref_id", sa.Text(), nullable=False),
        sa.CheckConstraint("kind IN ('run', 'schedule')", name=op.f("ck_asset_references_kind")),
        sa.ForeignKeyConstraint(
            ["asset_id"], ["assets.asset_id"], name=op.f("fk_asset_references_asset_id")
        ),
        sa.PrimaryKeyConstraint("asset_id", "kind", "ref_id", name=op.f("pk_asset_references")),
    )
    op.create_table(
        "asset_blobs",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_asset_blobs")),
    )
