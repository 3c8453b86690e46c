"""the audit and the versions of skills chained by digest, from here on."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

CHAINED = ("audit", "skill_versions")
START = "0" * 64


def upgrade() -> None:
    chains = op.create_table(
        "chains",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("place", sa.BigInteger, nullable=False),
        sa.Column("link", sa.Text, nullable=False),
        sa.Column("base_place", sa.BigInteger, nullable=False),
        sa.Column("base_link", sa.Text, nullable=False),
        sa.Column("unchained", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_chains"),
    )
    for name in CHAINED:
        op.add_column(name, sa.Column("place", sa.BigInteger))
        op.add_column(name, sa.Column("content_digest", sa.Text))
        op.add_column(name, sa.Column("link", sa.Text))
        op.create_index(f"ix_{name}_place", name, ["place"])
        counted = sa.select(sa.func.count()).select_from(sa.table(name))
        head = {"name": name, "place": 0, "link": START, "base_place": 0, "base_link": START}
        before = op.get_bind().execute(counted).scalar_one()
        op.get_bind().execute(sa.insert(chains).values(**head, unchained=before))
    op.add_column("audit", sa.Column("erased_at_ms", sa.BigInteger))
