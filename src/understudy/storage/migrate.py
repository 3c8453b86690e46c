"""Migrates a database to the current schema, one daemon at a time."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from understudy.core.errors import coded_error
from understudy.storage.feed import forget_other_server
from understudy.storage.postgres import MIGRATION_LOCK, hold_lock

if TYPE_CHECKING:
    from alembic.config import Config

VERSION_TABLE = "understudy_schema"
# The first version of PostgreSQL with `idle_session_timeout`.
OLDEST_SERVER: Final = (14,)
MIGRATIONS: Final = Path(__file__).parent / "migrations"


def migrate(engine: sa.Engine) -> None:
    """Apply every migration that is missing; on PostgreSQL under a lock shared by all daemons.

    All are applied or none. A database whose revision has no migration here is left as it is:
    `Unavailable`.
    """
    is_shared = engine.dialect.name == "postgresql"
    if is_shared:
        _check_server(engine)
    lock = hold_lock(engine, MIGRATION_LOCK) if is_shared else engine.connect()
    with lock as connection:
        if not _is_current(connection):
            _upgrade(connection)
        if is_shared:
            forget_other_server(connection)
        connection.commit()


def _upgrade(connection: sa.Connection) -> None:
    # Imported when there is something to do, which at most starts there is not.
    from alembic import command

    if connection.dialect.name == "sqlite":
        # The driver begins no transaction before DDL.
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    command.upgrade(alembic_config(connection), "head")


def _check_server(engine: sa.Engine) -> None:
    """Raise `Unavailable` if the server is too old to end the connections of stopped daemons."""
    with engine.connect() as connection:
        major = (connection.dialect.server_version_info or OLDEST_SERVER)[0]
    if (major,) < OLDEST_SERVER:
        raise coded_error("storage/server_too_old", version=major, needed=OLDEST_SERVER[0])


def _is_current(connection: sa.Connection) -> bool:
    """Whether the last migration was applied; `Unavailable` if what was applied is not known."""
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return False
    table = sa.table(VERSION_TABLE, sa.column("version_num"))
    applied: str = connection.execute(sa.select(table.c.version_num)).scalar_one()
    # Each file begins with its number.
    files = (MIGRATIONS / "versions").glob("[0-9]*.py")
    known = sorted(file.name.partition("_")[0] for file in files)
    if applied not in known:
        raise coded_error("storage/schema_not_supported", detail=_way_out(applied, known))
    return applied == known[-1]


def _way_out(applied: str, known: list[str]) -> str:
    """What to do about a schema that has no migration here."""
    if applied < known[0]:
        return (
            f"its schema '{applied}' is that of an Understudy before commit 41f7bf00, whose "
            f"'{known[0]}' is the oldest that this version upgrades; start it once with commit "
            '41f7bf00, then with this version, as "Upgrade" in docs/howto/operate.md says'
        )
    return (
        f"its schema '{applied}' is newer than '{known[-1]}', the newest that this version "
        "knows; start it with the version of Understudy that it was last used with"
    )


def alembic_config(connection: sa.Connection) -> "Config":
    """The configuration of the migrations that ship with the package."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config
