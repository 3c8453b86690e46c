"""the file name and the time of each owner's upload of an asset."""

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("asset_owners", sa.Column("file_name", sa.Text))
    op.add_column("asset_owners", sa.Column("created_at_ms", sa.BigInteger))
    # The names that later owners gave were not kept; the first owner's is not theirs to know.
    op.execute(
        "UPDATE asset_owners SET"
        " file_name = (SELECT CASE WHEN assets.owner_id = asset_owners.owner_id"
        " THEN assets.file_name ELSE assets.asset_id END"
        " FROM assets WHERE assets.asset_id = asset_owners.asset_id),"
        " created_at_ms = (SELECT assets.created_at_ms"
        " FROM assets WHERE assets.asset_id = asset_owners.asset_id)"
    )
