"""bridges of channels: the way to and from the world outside."""

from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

TABLES = """
    CREATE TABLE channel_bridges (
        bridge_id TEXT NOT NULL,
        channel_id TEXT NOT NULL,
        connector TEXT NOT NULL,
        body TEXT NOT NULL,
        credentials TEXT NOT NULL,
        due_at_ms BIGINT,
        version INTEGER NOT NULL,
        created_at_ms BIGINT NOT NULL,
        updated_at_ms BIGINT NOT NULL,
        CONSTRAINT pk_channel_bridges PRIMARY KEY (bridge_id),
        CONSTRAINT fk_channel_bridges_channel_id FOREIGN KEY (channel_id)
            REFERENCES channels (channel_id) ON DELETE CASCADE,
        CONSTRAINT ck_channel_bridges_connector CHECK
            (connector IN ('webhook', 'slack', 'telegram', 'discord', 'matrix', 'email'))
    );
    CREATE INDEX ix_channel_bridges_channel_id ON channel_bridges (channel_id);
    CREATE INDEX ix_channel_bridges_due ON channel_bridges (due_at_ms) WHERE due_at_ms IS NOT NULL;
    CREATE TABLE bridge_links (
        bridge_id TEXT NOT NULL,
        external_id TEXT NOT NULL,
        message_id TEXT NOT NULL,
        CONSTRAINT pk_bridge_links PRIMARY KEY (bridge_id, external_id),
        CONSTRAINT fk_bridge_links_bridge_id FOREIGN KEY (bridge_id)
            REFERENCES channel_bridges (bridge_id) ON DELETE CASCADE
    );
    CREATE INDEX ix_bridge_links_message_id ON bridge_links (message_id);
    CREATE TABLE bridge_deliveries (
        delivery_id TEXT NOT NULL,
        bridge_id TEXT NOT NULL,
        message_id TEXT NOT NULL,
        status TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        due_at_ms BIGINT,
        last_error TEXT,
        created_at_ms BIGINT NOT NULL,
        CONSTRAINT pk_bridge_deliveries PRIMARY KEY (delivery_id),
        CONSTRAINT fk_bridge_deliveries_bridge_id FOREIGN KEY (bridge_id)
            REFERENCES channel_bridges (bridge_id) ON DELETE CASCADE,
        CONSTRAINT ck_bridge_deliveries_status CHECK
            (status IN ('pending', 'delivered', 'dead', 'refused'))
    );
    CREATE INDEX ix_bridge_deliveries_newest
        ON bridge_deliveries (bridge_id, created_at_ms, delivery_id);
    CREATE INDEX ix_bridge_deliveries_due
        ON bridge_deliveries (due_at_ms) WHERE due_at_ms IS NOT NULL;
"""


def upgrade() -> None:
    connection = op.get_bind()
    for statement in TABLES.split(";\n"):
        if statement.strip():
            connection.exec_driver_sql(statement)
