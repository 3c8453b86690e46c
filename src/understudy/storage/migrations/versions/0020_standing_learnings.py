"""learnings that apply to every task."""

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    connection = op.get_bind()
    for table in ("learning_candidates", "learnings"):
        connection.exec_driver_sql(
            f"ALTER TABLE {table} ADD COLUMN applies TEXT NOT NULL DEFAULT 'when_relevant' "
            f"CONSTRAINT ck_{table}_applies CHECK (applies IN ('when_relevant', 'always'))"
        )
    connection.exec_driver_sql(
        "CREATE INDEX ix_learnings_standing ON learnings (scope_key, published_at_ms, learning_id) "
        "WHERE is_active AND applies = 'always'"
    )
