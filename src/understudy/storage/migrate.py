"""Bringing a database to the current schema, one daemon at a time."""

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from understudy.core.errors import coded_error
from understudy.storage.engine import mark_overwriting
from understudy.storage.postgres import MIGRATION_LOCK, hold_lock

VERSION_TABLE = "understudy_schema"


def migrate(engine: sa.Engine) -> None:
    """Apply every migration that is missing; on PostgreSQL under a lock shared by all daemons.

    A database whose revision has no migration here is left as it is: `Unavailable`.
    """
    is_shared = engine.dialect.name == "postgresql"
    lock = hold_lock(engine, MIGRATION_LOCK) if is_shared else engine.connect()
    with lock as connection:
        config = alembic_config(connection)
        is_new = _check_revision(connection, ScriptDirectory.from_config(config)) is None
        command.upgrade(config, "head")
        connection.commit()
        if is_new and not is_shared:
            mark_overwriting(connection)


def _check_revision(connection: sa.Connection, scripts: ScriptDirectory) -> str | None:
    """The revision of a database, if its migrations are known; None for an empty one."""
    options = {"version_table": VERSION_TABLE}
    revision = MigrationContext.configure(connection, opts=options).get_current_revision()
    known = [script.revision for script in scripts.walk_revisions()]
    if revision is None or revision in known:
        return revision
    if revision < known[-1]:
        detail = (
            f"its schema '{revision}' is older than '{known[-1]}', the oldest that this version "
            "upgrades; start it once with commit 7fde913 of Understudy, then with this version"
        )
    else:
        detail = (
            f"its schema '{revision}' is newer than '{known[0]}', the newest that this version "
            "knows; start it with the version of Understudy that it was last used with"
        )
    raise coded_error("storage/schema_not_supported", detail=detail)


def alembic_config(connection: sa.Connection) -> Config:
    """The configuration of the migrations that ship with the package."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    return config
