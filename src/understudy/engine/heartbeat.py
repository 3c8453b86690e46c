"""The sign of life of a daemon on PostgreSQL: an advisory lock, held on a connection of its own.

The lock is named after the executor id, and a row in `daemons` tells the others to look for it. The
server ends a connection that is silent for too long, so a process that is stopped loses its lock
like one that has died.
"""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
import structlog

log = structlog.get_logger()

BEAT_EVERY_S: Final = 0.5
# The server ends a heartbeat's connection that is silent for so long: six beats.
SILENCE_MS: Final = 3000
# The longest wait before a lost lock is asked for again: less than others take to be sure.
AGAIN_S: Final = 1.0
# A peer whose machine vanished is noticed by the server within about ten seconds.
KEEPALIVE: Final = "-c tcp_keepalives_idle=4 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3"


def lock_number(executor_id: str) -> int:
    """The advisory lock number of an executor."""
    digest = hashlib.sha256(executor_id.encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def connect(url: str, *, silence_ms: int) -> "psycopg.Connection":
    """A connection for locks of executors, which the server ends when this process falls silent."""
    options = f"{KEEPALIVE} -c idle_session_timeout={silence_ms:d}"
    return psycopg.connect(url, autocommit=True, connect_timeout=10, options=options)


def register(connection: "psycopg.Connection", executor_id: str) -> None:
    """Have the other daemons look for this executor."""
    query = "INSERT INTO daemons (executor_id) VALUES (%s) ON CONFLICT DO NOTHING"
    connection.execute(query, (executor_id,))


@contextmanager
def try_lock(connection: "psycopg.Connection", executor_id: str) -> Iterator[bool]:
    """Hold the lock of an executor; yields False if it is alive and holds it itself."""
    number = (lock_number(executor_id),)
    held = connection.execute("SELECT pg_try_advisory_lock(%s)", number).fetchone() == (True,)
    try:
        yield held
    finally:
        if held:
            connection.execute("SELECT pg_advisory_unlock(%s)", number)


class Heartbeat:
    """Holds this daemon's lock and registers it; connects again when the lock is lost."""

    def __init__(self, url: str, executor_id: str) -> None:
        self._url = url
        self._executor_id = executor_id
        self._number = (lock_number(executor_id),)
        self._stopping = threading.Event()
        self._held = threading.Event()
        self._thread = threading.Thread(target=self._hold, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Acquire the lock; returns once it is held."""
        self._thread.start()
        if not self._held.wait(timeout=15):
            raise TimeoutError("the database did not grant this daemon's lock")

    def stop(self) -> None:
        """Release the lock; others then take over what this daemon has left."""
        self._stopping.set()
        self._thread.join(timeout=5)

    def _hold(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            try:
                with connect(self._url, silence_ms=SILENCE_MS) as connection:
                    connection.execute("SELECT pg_advisory_lock(%s)", self._number)
                    # Those who took over while the lock was free have removed the row.
                    register(connection, self._executor_id)
                    self._held.set()
                    failures = 0
                    while not self._stopping.wait(BEAT_EVERY_S):
                        connection.execute("SELECT 1")
            except psycopg.Error as problem:
                log.warning("heartbeat.lost", reason=type(problem).__name__)
                # No wait the first time: until the lock is held again, others may take us for dead.
                self._stopping.wait(min(failures, AGAIN_S))
                failures += 1
