"""Removes remains of deleted rows that a byte search of the database would find."""

import time
from typing import Final

import sqlalchemy as sa
import structlog

from understudy.core.errors import coded_error
from understudy.storage.engine import is_overwriting, mark_overwriting
from understudy.storage.schema import metadata

log = structlog.get_logger()

# A checkpoint needs a moment without readers.
TRIES: Final = 40
PAUSE_S: Final = 0.05
MERGE: Final = sa.text("INSERT INTO term_tokens (term_tokens) VALUES ('optimize')")


def compact(database: sa.Engine) -> None:
    """Empty the write-ahead log of SQLite, or free the dead rows of PostgreSQL."""
    if database.dialect.name == "sqlite":
        _truncate_log(database)
    else:
        _vacuum(database)


def _truncate_log(database: sa.Engine) -> None:
    with database.connect() as connection, connection.begin():
        # Until segments are merged, they hold the tokens of deleted entries.
        connection.execute(MERGE)
    with database.connect() as connection:
        if not is_overwriting(connection):
            # Free pages of a file from before `secure_delete` still hold deleted content.
            connection.exec_driver_sql("VACUUM")
            mark_overwriting(connection)
    for _ in range(TRIES):
        with database.connect() as connection:
            busy, *_ = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
        if not busy:
            return
        time.sleep(PAUSE_S)
    raise coded_error("unlearn/log_in_use")


def _vacuum(database: sa.Engine) -> None:
    with database.connect() as plain:
        connection = plain.execution_options(isolation_level="AUTOCOMMIT")
        names = [table.name for table in metadata.sorted_tables]
        try:
            connection.exec_driver_sql(f"VACUUM {', '.join(names)}, term_tokens")
        except sa.exc.DBAPIError as problem:
            # The account lacks the privilege; autovacuum comes in time.
            log.warning("unlearn.not_vacuumed", reason=type(problem.orig).__name__)
