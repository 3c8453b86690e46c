"""schedules."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "schedules",
        sa.Column("schedule_id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("acting_admin", sa.Text(), nullable=True),
        sa.Column("target_session_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("ended_reason", sa.Text(), nullable=True),
        sa.Column("cadence", sa.Text(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("overlap_policy", sa.Text(), nullable=False),
        sa.Column("misfire_policy", sa.Text(), nullable=False),
        sa.Column("max_executions", sa.Integer(), nullable=True),
        sa.Column("executions", sa.Integer(), nullable=False),
        sa.Column("next_fire_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("due_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("last_fired_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("retrying_id", sa.Text(), nullable=True),
        sa.Column("retries", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "status IN ('active', 'paused', 'completed', 'canceled')",
            name=op.f("ck_schedules_status"),
        ),
        sa.CheckConstraint(
            "overlap_policy IN ('skip', 'queue_one', 'parallel')",
            name=op.f("ck_schedules_overlap_policy"),
        ),
        sa.CheckConstraint(
            "misfire_policy IN ('coalesce_once', 'skip_missed')",
            name=op.f("ck_schedules_misfire_policy"),
        ),
        sa.ForeignKeyConstraint(
            ["target_session_id"],
            ["sessions.session_id"],
            name=op.f("fk_schedules_target_session_id"),
        ),
        sa.PrimaryKeyConstraint("schedule_id", name=op.f("pk_schedules")),
    )
    with op.batch_alter_table("schedules", schema=None) as batch_op:
        batch_op.create_index("ix_schedules_newest", ["created_at_ms", "schedule_id"], unique=False)
        batch_op.create_index("ix_schedules_owner", ["owner_id", "status"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_schedules_target_session_id"), ["target_session_id"], unique=False
        )
        batch_op.create_index(
            "ix_schedules_due",
            ["due_at_ms"],
            unique=False,
            sqlite_where=sa.text("due_at_ms IS NOT NULL"),
            postgresql_where=sa.text("due_at_ms IS NOT NULL"),
        )

    op.create_table(
        "schedule_executions",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("execution_id", sa.Text(), nullable=False),
        sa.Column("schedule_id", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("scheduled_for_ms", sa.BigInteger(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("triggered_by", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "status IN ('submitted', 'skipped', 'missed', 'retrying', 'failed')",
            name=op.f("ck_schedule_executions_status"),
        ),
        sa.ForeignKeyConstraint(
            ["schedule_id"],
            ["schedules.schedule_id"],
            name=op.f("fk_schedule_executions_schedule_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_schedule_executions")),
        sa.UniqueConstraint("execution_id", name=op.f("uq_schedule_executions_execution_id")),
    )
    with op.batch_alter_table("schedule_executions", schema=None) as batch_op:
        batch_op.create_index(
            "ix_schedule_executions_newest", ["schedule_id", "number"], unique=False
        )
