"""Bringing a database to the current schema, one daemon at a time."""

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from understudy.storage.postgres import MIGRATION_LOCK, hold_lock

VERSION_TABLE = "understudy_schema"


def migrate(engine: sa.Engine) -> None:
    """Apply every migration that is missing; on PostgreSQL under a lock shared by all daemons."""
    lock = hold_lock(engine, MIGRATION_LOCK) if _is_shared(engine) else engine.connect()
    with lock as connection:
        command.upgrade(alembic_config(connection), "head")
        connection.commit()


def _is_shared(engine: sa.Engine) -> bool:
    return engine.dialect.name == "postgresql"


def alembic_config(connection: sa.Connection) -> Config:
    """The configuration of the migrations that ship with the package."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    return config
