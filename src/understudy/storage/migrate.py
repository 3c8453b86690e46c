"""Bringing a database to the current schema, one daemon at a time."""

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from understudy.storage.postgres import LOCK_SPACE, MIGRATION_LOCK

VERSION_TABLE = "understudy_schema"


def migrate(engine: sa.Engine) -> None:
    """Apply every migration that is missing; on PostgreSQL under a lock shared by all daemons."""
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_lock(LOCK_SPACE, MIGRATION_LOCK)))
            connection.commit()
        try:
            command.upgrade(alembic_config(connection), "head")
            connection.commit()
        finally:
            if engine.dialect.name == "postgresql":
                connection.rollback()
                connection.execute(
                    sa.select(sa.func.pg_advisory_unlock(LOCK_SPACE, MIGRATION_LOCK))
                )
                connection.commit()


def alembic_config(connection: sa.Connection) -> Config:
    """The configuration of the migrations that ship with the package."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    return config
