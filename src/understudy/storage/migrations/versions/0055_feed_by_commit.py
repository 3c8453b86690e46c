"""journal.tx and sessions.journal_tx: the feed of all sessions goes by commit."""

import sqlalchemy as sa
from alembic import op

revision = "0055"
down_revision = "0054"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table, column in (("sessions", "journal_tx"), ("journal", "tx")):
        number = sa.Column(column, sa.BigInteger(), server_default="0", nullable=False)
        op.add_column(table, number)
    where = sa.text("tx > 0")
    op.create_index("ix_journal_feed", "journal", ["tx", "sequence"], sqlite_where=where)
