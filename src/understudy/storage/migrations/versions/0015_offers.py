"""offers: requests that no run waits for, each made to one user."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

OPEN_OFFER = sa.text("kind = 'offer' AND state = 'pending'")
OFFER = sa.text("kind = 'offer'")
DUE = sa.text("state = 'pending' AND expires_at_ms IS NOT NULL")


def upgrade() -> None:
    # SQLite cannot change a check: the table is made anew, from what 0002 made of it.
    with op.batch_alter_table("requests", schema=None, copy_from=_requests()) as batch_op:
        batch_op.add_column(sa.Column("user_id", sa.Text(), nullable=True))
        batch_op.add_column(sa.Column("agent_id", sa.Text(), nullable=True))
        batch_op.drop_constraint(op.f("ck_requests_kind"), type_="check")
        batch_op.create_check_constraint(
            op.f("ck_requests_kind"), "kind IN ('approval', 'question', 'offer')"
        )
    with op.batch_alter_table("requests", schema=None) as batch_op:
        batch_op.create_index(
            "ix_requests_open_offer",
            ["session_id", "user_id"],
            unique=True,
            sqlite_where=OPEN_OFFER,
            postgresql_where=OPEN_OFFER,
        )
        batch_op.create_index(
            "ix_requests_offers",
            ["session_id", "user_id", "created_at_ms", "request_id"],
            unique=False,
            sqlite_where=OFFER,
            postgresql_where=OFFER,
        )
        batch_op.create_index(
            "ix_requests_offered_by",
            ["agent_id", "created_at_ms", "request_id"],
            unique=False,
            sqlite_where=OFFER,
            postgresql_where=OFFER,
        )


def _requests() -> sa.Table:
    return sa.Table(
        "requests",
        sa.MetaData(),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("call_key", sa.Text(), nullable=False),
        sa.Column("audience", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("expires_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("resolution", sa.Text(), nullable=True),
        sa.Column("resolved_by", sa.Text(), nullable=True),
        sa.Column("resolved_at_ms", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("kind IN ('approval', 'question')", name=op.f("ck_requests_kind")),
        sa.CheckConstraint("audience IN ('user', 'parent')", name=op.f("ck_requests_audience")),
        sa.CheckConstraint(
            "state IN ('pending', 'allowed', 'denied', 'answered', 'declined', 'expired', "
            "'cancelled')",
            name=op.f("ck_requests_state"),
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name=op.f("fk_requests_run_id")),
        sa.PrimaryKeyConstraint("request_id", name=op.f("pk_requests")),
        sa.UniqueConstraint("call_key", name=op.f("uq_requests_call_key")),
        sa.Index("ix_requests_session_id", "session_id"),
        sa.Index("ix_requests_run", "run_id", "state"),
        sa.Index("ix_requests_all", "kind", "created_at_ms", "request_id"),
        sa.Index("ix_requests_listed", "kind", "state", "created_at_ms", "request_id"),
        sa.Index("ix_requests_due", "expires_at_ms", sqlite_where=DUE, postgresql_where=DUE),
    )
