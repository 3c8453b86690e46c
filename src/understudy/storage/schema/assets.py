"""Assets, references to them, and their bytes where these live in the database."""

import sqlalchemy as sa

from understudy.assets.model import ReferenceKind
from understudy.storage.rows import Ms
from understudy.storage.schema.metadata import metadata, one_of

assets = sa.Table(
    "assets",
    metadata,
    sa.Column("asset_id", sa.Text, primary_key=True),
    sa.Column("file_name", sa.Text, nullable=False),
    sa.Column("media_type", sa.Text, nullable=False),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("sha256", sa.Text, nullable=False, index=True),
    sa.Column("owner_id", sa.Text, nullable=False),
    sa.Column("created_at_ms", Ms, nullable=False),
    sa.UniqueConstraint("media_type", "sha256"),
    sa.Index("ix_assets_newest", "created_at_ms", "asset_id"),
)

asset_references = sa.Table(
    "asset_references",
    metadata,
    sa.Column("asset_id", sa.Text, sa.ForeignKey("assets.asset_id"), primary_key=True),
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("ref_id", sa.Text, primary_key=True),
    one_of("kind", ReferenceKind),
)

# The owners of an asset: every user who uploaded its content, each with a name and time of their own.
asset_owners = sa.Table(
    "asset_owners",
    metadata,
    sa.Column("owner_id", sa.Text, primary_key=True),
    sa.Column(
        "asset_id",
        sa.Text,
        sa.ForeignKey("assets.asset_id", ondelete="CASCADE"),
        primary_key=True,
        index=True,
    ),
    sa.Column("file_name", sa.Text),
    sa.Column("created_at_ms", Ms),
)

# No foreign key: with the embedded database the bytes are files, and this table is empty.
asset_blobs = sa.Table(
    "asset_blobs",
    metadata,
    sa.Column("sha256", sa.Text, primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
