"""channels: rosters, logs, leases, stimuli; assets that a channel keeps."""

from pathlib import Path

from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

# SQLite cannot change a constraint, so the table is created anew.
REFERENCES = {
    "sqlite": """
        ALTER TABLE asset_references RENAME TO asset_references_before;
        CREATE TABLE asset_references (
            asset_id TEXT NOT NULL,
            kind TEXT NOT NULL,
            ref_id TEXT NOT NULL,
            CONSTRAINT pk_asset_references PRIMARY KEY (asset_id, kind, ref_id),
            CONSTRAINT ck_asset_references_kind CHECK (kind IN ('run', 'schedule', 'channel')),
            CONSTRAINT fk_asset_references_asset_id
                FOREIGN KEY(asset_id) REFERENCES assets (asset_id)
        );
        INSERT INTO asset_references SELECT asset_id, kind, ref_id FROM asset_references_before;
        DROP TABLE asset_references_before;
    """,
    "postgresql": """
        ALTER TABLE asset_references DROP CONSTRAINT ck_asset_references_kind;
        ALTER TABLE asset_references ADD CONSTRAINT ck_asset_references_kind
            CHECK (kind IN ('run', 'schedule', 'channel'));
    """,
}


def upgrade() -> None:
    connection = op.get_bind()
    tables = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    for statement in (tables + REFERENCES[connection.dialect.name]).split(";\n"):
        if statement.strip():
            connection.exec_driver_sql(statement)
