"""Several daemons on one PostgreSQL: a heartbeat lock for each, and takeover from dead ones.

A daemon holds an advisory lock named after its executor id for as long as it lives. An executor
that has work in flight while its lock is free is dead.
"""

import asyncio
import hashlib
import threading
from collections.abc import Iterable
from typing import Final

import psycopg
import structlog

from understudy.engine.durable import DurableEngine

log = structlog.get_logger()

LOOK_EVERY_S: Final = 1.0
BEAT_EVERY_S: Final = 0.5
# The longest wait before a lost lock is asked for again: less than others take to be sure.
AGAIN_S: Final = 1.0
# A free lock may belong to a daemon that only lost its connection.
LOOKS_TO_BE_SURE: Final = 3
# A peer whose machine vanished is noticed by the server within about ten seconds.
KEEPALIVE: Final = "-c tcp_keepalives_idle=4 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3"


def lock_number(executor_id: str) -> int:
    """The advisory lock number of an executor."""
    digest = hashlib.sha256(executor_id.encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def free_locks(url: str, executor_ids: Iterable[str]) -> tuple[str, ...]:
    """The executors whose lock nobody holds: they are dead, or about to connect again."""
    with psycopg.connect(url, autocommit=True, connect_timeout=10) as connection:
        return tuple(name for name in sorted(executor_ids) if _is_free(connection, name))


def _is_free(connection: "psycopg.Connection", executor_id: str) -> bool:
    number = lock_number(executor_id)
    row = connection.execute("SELECT pg_try_advisory_lock(%s)", (number,)).fetchone()
    if row is None or not row[0]:
        return False
    connection.execute("SELECT pg_advisory_unlock(%s)", (number,))
    return True


class Heartbeat:
    """Holds this daemon's advisory lock on a connection of its own; reconnects when it is lost."""

    def __init__(self, url: str, executor_id: str) -> None:
        self._url = url
        self._number = lock_number(executor_id)
        self._stopping = threading.Event()
        self._held = threading.Event()
        self._thread = threading.Thread(target=self._hold, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Acquire the lock; returns once it is held."""
        self._thread.start()
        if not self._held.wait(timeout=15):
            raise TimeoutError("the database did not grant this daemon's lock")

    def stop(self) -> None:
        """Release the lock."""
        self._stopping.set()
        self._thread.join(timeout=5)

    def _hold(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            try:
                with psycopg.connect(
                    self._url, autocommit=True, connect_timeout=10, options=KEEPALIVE
                ) as connection:
                    connection.execute("SELECT pg_advisory_lock(%s)", (self._number,))
                    self._held.set()
                    failures = 0
                    while not self._stopping.wait(BEAT_EVERY_S):
                        connection.execute("SELECT 1")
            except psycopg.Error as problem:
                log.warning("heartbeat.lost", reason=type(problem).__name__)
                # No wait the first time: until the lock is held again, others may take us for dead.
                self._stopping.wait(min(failures, AGAIN_S))
                failures += 1


class Reaper:
    """Polls once a second for executors that died with work in flight."""

    def __init__(self, url: str, engine: DurableEngine) -> None:
        self._url = url
        self._engine = engine
        self._free_looks: dict[str, int] = {}

    async def run(self) -> None:
        """Poll for ever."""
        while True:
            await asyncio.to_thread(self.look)
            await asyncio.sleep(LOOK_EVERY_S)

    def look(self) -> tuple[str, ...]:
        """Take over from every executor that is certainly dead; returns their ids."""
        others = self._engine.pending_executors() - {self._engine.executor_id}
        free = free_locks(self._url, others) if others else ()
        self._free_looks = {name: self._free_looks.get(name, 0) + 1 for name in free}
        dead = tuple(name for name, looks in self._free_looks.items() if looks >= LOOKS_TO_BE_SURE)
        for executor_id in dead:
            log.warning("executor.taken_over", executor_id=executor_id)
            self._engine.take_over(executor_id)
        return dead
