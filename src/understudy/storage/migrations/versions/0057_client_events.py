"""client_events: the events of clients whose turn goes on; tokens of the role `client`."""

import sqlalchemy as sa
from alembic import op

revision = "0057"
down_revision = "0056"
branch_labels = None
depends_on = None


ROLES = "role IN ('client', 'viewer', 'operator', 'admin')"


def upgrade() -> None:
    op.create_table(
        "client_events",
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("session_id", "number", name=op.f("pk_client_events")),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["sessions.session_id"],
            name=op.f("fk_client_events_session_id_sessions"),
        ),
    )
    with op.batch_alter_table("tokens") as tokens:
        # SQLite copies the table, without its checks.
        if op.get_bind().dialect.name == "postgresql":
            tokens.drop_constraint(op.f("ck_tokens_role"), type_="check")
        tokens.create_check_constraint(op.f("ck_tokens_role"), ROLES)
