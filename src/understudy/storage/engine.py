"""Opens the database; the dialect of SQLite."""

import sqlite3
import threading
from collections import deque
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final

import sqlalchemy as sa

from understudy.core.errors import coded_error
from understudy.settings import DatabaseConfig
from understudy.storage.postgres import PostgresDialect, open_postgres
from understudy.storage.visible import VisibleConnection

BUSY_TIMEOUT_MS: Final = 30_000
# The pages of the write-ahead log from which a commit copies them to the database file.
CHECKPOINT_PAGES: Final = 1000
# Most writes in a row that make no checkpoint: as many as grow the log by some 15 MB.
MAX_UNCHECKED: Final = 256
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

    SQLite's busy back-off sleeps and retries, so a later writer may overtake, and the lock idles
    meanwhile.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._is_taken = False
        self._waiting: deque[threading.Lock] = deque()

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """Wait for the turn, as long as SQLite's busy timeout, and pass it on at the end."""
        self._take()
        try:
            yield True
        finally:
            self._pass_on()

    @contextmanager
    def turn_if_free(self) -> Iterator[bool]:
        """Take the turn and pass it on at the end; yields False if another writer has it."""
        with self._guard:
            is_mine = not self._is_taken
            self._is_taken = True
        try:
            yield is_mine
        finally:
            if is_mine:
                self._pass_on()

    def _take(self) -> None:
        with self._guard:
            if not self._is_taken:
                self._is_taken = True
                return
            mine = threading.Lock()
            mine.acquire()
            self._waiting.append(mine)
        if mine.acquire(timeout=BUSY_TIMEOUT_MS / 1000):
            return
        with self._guard:
            if mine in self._waiting:
                self._waiting.remove(mine)
                raise coded_error("storage/database_unavailable")
        # The turn was passed on at the moment of the timeout.

    def _pass_on(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_taken = False


class SqliteDialect:
    """How a unit of work begins and locks on SQLite."""

    def __init__(self) -> None:
        self._turns = WriteTurns()
        self.turn = self._turns.turn
        # Writes since the last one that could make a checkpoint.
        self._unchecked = 0

    def turn_if_free(self) -> AbstractContextManager[bool]:
        """The turn, if no writer has it; yields False if one has, or if a checkpoint is due."""
        is_due = self._unchecked >= MAX_UNCHECKED
        return nullcontext(False) if is_due else self._turns.turn_if_free()

    def begin_write(self, connection: sa.Connection, *, waits: bool = True) -> None:
        """Take the write lock before the first read, so that reads stay valid until the commit.

        On the event loop, which must not wait, a lock of another process is an error, and the commit
        makes no checkpoint, which writes to the disk.
        """
        driver: Any = connection.connection.driver_connection
        driver.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES if waits else 0}")
        self._unchecked = 0 if waits else self._unchecked + 1
        if waits:
            connection.execute(_BEGIN)
            return
        driver.execute("PRAGMA busy_timeout=0")
        try:
            connection.execute(_BEGIN)
        finally:
            driver.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")

    def lock_assets(self, connection: VisibleConnection, *, alone: bool) -> None:
        """Nothing to do: there is no other writer."""

    def lock_run_memories(self, connection: VisibleConnection) -> None:
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

    def announce(self, connection: VisibleConnection, tables: Collection[str]) -> None:
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
