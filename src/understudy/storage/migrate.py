"""Migrates a database to the current schema, one daemon at a time."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from understudy.core.errors import coded_error
from understudy.storage.engine import mark_overwriting
from understudy.storage.postgres import MIGRATION_LOCK, hold_lock

if TYPE_CHECKING:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

VERSION_TABLE = "understudy_schema"
# The first version of PostgreSQL with `idle_session_timeout`.
OLDEST_SERVER: Final = (14,)
MIGRATIONS: Final = Path(__file__).parent / "migrations"
# Written by `scripts/reference`; a test compares it with the migrations.
SQLITE_SCHEMA: Final = MIGRATIONS / "sqlite_schema.sql"


def migrate(engine: sa.Engine) -> None:
    """Apply every migration that is missing; on PostgreSQL under a lock shared by all daemons.

    A database whose revision has no migration here is left as it is: `Unavailable`.
    """
    is_shared = engine.dialect.name == "postgresql"
    if is_shared:
        _check_server(engine)
    lock = hold_lock(engine, MIGRATION_LOCK) if is_shared else engine.connect()
    with lock as connection:
        if not is_shared and not sa.inspect(connection).get_table_names():
            _create_schema(connection)
        if _is_current(connection):
            return
        # Imported when there is something to do, which at most starts there is not.
        from alembic import command
        from alembic.script import ScriptDirectory

        config = alembic_config(connection)
        _check_revision(connection, ScriptDirectory.from_config(config))
        command.upgrade(config, "head")
        connection.commit()


def _check_server(engine: sa.Engine) -> None:
    """Raise `Unavailable` if the server is too old to end the connections of stopped daemons."""
    with engine.connect() as connection:
        major = (connection.dialect.server_version_info or OLDEST_SERVER)[0]
    if (major,) < OLDEST_SERVER:
        raise coded_error("storage/server_too_old", version=major, needed=OLDEST_SERVER[0])


def _create_schema(connection: sa.Connection) -> None:
    """Give an empty SQLite file what all migrations would make of it, in one transaction.

    Not from the metadata: indexes must keep the order of the migrations, as SQLite takes the newer
    one of two that cost the same.
    """
    connection.exec_driver_sql("BEGIN IMMEDIATE")
    for statement in SQLITE_SCHEMA.read_text(encoding="utf-8").split(";\n")[:-1]:
        connection.exec_driver_sql(statement)
    mark_overwriting(connection)
    connection.commit()


def _is_current(connection: sa.Connection) -> bool:
    """Whether the last migration was applied; its file begins with its number."""
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return False
    table = sa.table(VERSION_TABLE, sa.column("version_num"))
    applied = connection.execute(sa.select(table.c.version_num)).scalars().all()
    newest = max(file.name for file in (MIGRATIONS / "versions").glob("[0-9]*.py"))
    return [*applied] == [newest.partition("_")[0]]


def _check_revision(connection: sa.Connection, scripts: "ScriptDirectory") -> None:
    """Raise `Unavailable` unless the database is empty or its revision has a migration."""
    from alembic.migration import MigrationContext

    options = {"version_table": VERSION_TABLE}
    revision = MigrationContext.configure(connection, opts=options).get_current_revision()
    known = [script.revision for script in scripts.walk_revisions()]
    if revision is None or revision in known:
        return
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


def alembic_config(connection: sa.Connection) -> "Config":
    """The configuration of the migrations that ship with the package."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config
