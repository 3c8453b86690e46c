"""Opens the database; the dialect of SQLite."""

import sqlite3
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final

import sqlalchemy as sa

from understudy.core.errors import coded_error
from understudy.settings import DatabaseConfig
from understudy.storage.postgres import PostgresDialect, open_postgres
from understudy.storage.visible_connection import VisibleConnection

BUSY_TIMEOUT_MS: Final = 30_000
# The log is cut to this after a checkpoint.
MAX_LOG_BYTES: Final = 16 * 1024 * 1024
_BEGIN: Final = sa.text("BEGIN IMMEDIATE")


def open_sqlite(url: str) -> sa.Engine:
    """An engine on a database file in WAL mode."""
    engine = sa.create_engine(
        url,
        pool_size=16,
        # The connection used last has the pages and statements in its caches.
        pool_use_lifo=True,
        max_overflow=16,
        pool_timeout=60,
        hide_parameters=True,
        connect_args={"check_same_thread": False, "timeout": BUSY_TIMEOUT_MS / 1000},
    )
    sa.event.listen(engine, "connect", _prepare)
    return engine


def _prepare(connection: sqlite3.Connection, _record: Any) -> None:
    # The driver begins a transaction before the first write, and takes the write lock with it.
    connection.isolation_level = "IMMEDIATE"
    for pragma in (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        f"busy_timeout={BUSY_TIMEOUT_MS}",
        "foreign_keys=ON",
        # Deleted content is overwritten, so that an erasure leaves nothing in free pages.
        "secure_delete=ON",
        f"journal_size_limit={MAX_LOG_BYTES}",
    ):
        connection.execute(f"PRAGMA {pragma}")


def mark_overwriting(connection: sa.Connection) -> None:
    """Mark the file: everything ever deleted from it was overwritten."""
    connection.exec_driver_sql("PRAGMA user_version=1")


def is_overwriting(connection: sa.Connection) -> bool:
    """Whether the file has that mark; a file older than `secure_delete` has not."""
    return bool(connection.exec_driver_sql("PRAGMA user_version").scalar())


class WriteTurns:
    """Serialises the writers of this process, first come, first served.

    SQLite's busy back-off sleeps and retries, and a plain lock goes to whichever thread runs first:
    with either, a writer that comes often overtakes the others.
    """

    def __init__(self, timeout_s: float = BUSY_TIMEOUT_MS / 1000) -> None:
        self._timeout_s = timeout_s
        self._guard = threading.Lock()
        # In the order they came; the first is set and writes.
        self._line: deque[threading.Event] = deque()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for the turn, as long as SQLite's busy timeout, and pass it on at the end."""
        mine = threading.Event()
        with self._guard:
            self._line.append(mine)
            self._line[0].set()
        try:
            if not mine.wait(self._timeout_s):
                raise coded_error("storage/database_unavailable")
            yield
        finally:
            with self._guard:
                self._line.remove(mine)
                if self._line:
                    self._line[0].set()


class SqliteDialect:
    """How a unit of work begins and locks on SQLite."""

    def __init__(self) -> None:
        self.turn = WriteTurns().turn

    def begin_write(self, connection: sa.Connection) -> None:
        """Take the write lock before the first read, so that reads stay valid until the commit."""
        connection.execute(_BEGIN)

    def lock_assets(self, connection: VisibleConnection, *, alone: bool) -> None:
        """Nothing to do: there is no other writer."""

    def lock_run_memories(self, connection: VisibleConnection, *, alone: bool) -> None:
        """Nothing to do: there is no other writer."""

    def lock_scope(self, connection: VisibleConnection, scope_key: str) -> None:
        """Nothing to do: there is no other writer."""

    def lock_execution(self, connection: VisibleConnection, run_id: str, *, alone: bool) -> None:
        """Nothing to do: there is no other writer."""

    def lock_slug(self, connection: VisibleConnection, slug: str) -> None:
        """Nothing to do: there is no other writer."""

    def lock_skills(self, connection: VisibleConnection) -> None:
        """Nothing to do: there is no other writer."""

    def contains(self, column: sa.ColumnElement[str], text: str) -> sa.ColumnElement[bool]:
        """SQL condition: `text` is a literal substring of the column."""
        return sa.func.instr(column, text) > 0

    def shielded(self, connection: VisibleConnection) -> AbstractContextManager[object]:
        """Nothing to do: a failed read leaves the transaction intact."""
        return nullcontext()

    def locked(self, query: sa.Select[Any]) -> sa.Select[Any]:
        """Nothing to do: there is no other writer."""
        return query

    def locked_if_free(self, query: sa.Select[Any]) -> sa.Select[Any]:
        """Nothing to do: there is no other writer."""
        return query

    def announce_revision(self, connection: VisibleConnection) -> None:
        """Nothing to do: there is one daemon per database."""


Dialect = SqliteDialect | PostgresDialect


def open_engine(url: str, limits: DatabaseConfig | None = None) -> sa.Engine:
    """An engine for a `sqlite:///…` or `postgresql://…` URL; `limits` are those of PostgreSQL."""
    if url.startswith("sqlite"):
        return open_sqlite(url)
    return open_postgres(url, limits or DatabaseConfig())


def dialect_of(engine: sa.Engine) -> Dialect:
    """The dialect of the engine's database."""
    return SqliteDialect() if engine.dialect.name == "sqlite" else PostgresDialect()
