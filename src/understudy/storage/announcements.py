"""Tells the other daemons on a PostgreSQL database what this one has committed, and hears them.

Not within the transactions: a commit with a notification waits for all others that have one. One
thread sends what was committed meanwhile in one notification, on the connection that listens. What
is lost on the way, as with a daemon that dies, is found by those who look at the database now and
then. A new revision is announced by the transaction itself: see `PostgresDialect`.
"""

import json
import os
import select
import threading
import time
from collections.abc import Collection, Iterator
from typing import Any, Final

import psycopg
import structlog

from understudy.core.bell import COMMITS, EVENTS, Bell
from understudy.storage.postgres import KEEPALIVES, TABLES_CHANNEL
from understudy.storage.revision_cache import RevisionCache

log = structlog.get_logger()

CHANNEL: Final = "understudy_commits"
EVERY_S: Final = 0.02
# PostgreSQL takes less than 8,000 bytes.
MAX_BYTES: Final = 7_900
AGAIN_S: Final = 1.0
_NOTIFY: Final = "SELECT pg_notify(%s, payload) FROM unnest(%s::text[]) AS payload"


class Announcements:
    """The connection to the other daemons, and its thread: bell topics, sent and heard."""

    def __init__(self, url: str, bell: Bell, cache: RevisionCache) -> None:
        self._url = url
        self._bell = bell
        self._cache = cache
        cache.switch(is_on=False)
        # Topics to send, in the order in which they were told.
        self._told: dict[str, None] = {}
        self._telling = threading.Lock()
        self._stopping = threading.Event()
        self._woken, self._wake = os.pipe()
        self._is_open = True
        self._thread = threading.Thread(target=self._connect, name="announcements", daemon=True)

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()

    def tell(self, topics: Collection[str]) -> None:
        """Have the other daemons ring these topics; called after a commit, from any thread."""
        with self._telling:
            is_first = not self._told
            self._told.update(dict.fromkeys(topics))
            if is_first and self._is_open:
                os.write(self._wake, b"x")

    def stop(self) -> None:
        """Send what is left, stop listening and wait for the thread."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        os.write(self._wake, b"x")
        self._thread.join(timeout=5)
        with self._telling:
            self._is_open = False
            os.close(self._wake)
            os.close(self._woken)

    def _connect(self) -> None:
        while not self._stopping.is_set():
            try:
                with psycopg.connect(
                    self._url, autocommit=True, connect_timeout=10, **KEEPALIVES
                ) as connection:
                    self._exchange(connection)
            except psycopg.Error as problem:
                log.warning("announcements.lost", reason=type(problem).__name__)
                self._stopping.wait(AGAIN_S)
            finally:
                self._cache.switch(is_on=False)

    def _exchange(self, connection: "psycopg.Connection[Any]") -> None:
        for channel in (CHANNEL, TABLES_CHANNEL):
            connection.execute(f"LISTEN {channel}")
        self._cache.switch(is_on=True)
        # Whatever was announced before.
        self._bell.ring(EVENTS, COMMITS)
        look = select.poll()
        look.register(connection.fileno(), select.POLLIN)
        look.register(self._woken, select.POLLIN)
        sent_at = 0.0
        while True:
            # Asked before: what is told until then is sent.
            is_stopping = self._stopping.is_set()
            if self._told:
                time.sleep(max(0.0, sent_at + EVERY_S - time.monotonic()))
                self._send(connection)
                sent_at = time.monotonic()
            self._receive(connection)
            if is_stopping:
                return
            if any(ready == self._woken for ready, _ in look.poll()):
                os.read(self._woken, 64)

    def _send(self, connection: "psycopg.Connection[Any]") -> None:
        with self._telling:
            topics, self._told = self._told, {}
        try:
            connection.execute(_NOTIFY, (CHANNEL, list(payloads(topics))))
        except psycopg.Error:
            with self._telling:
                self._told = topics | self._told
            raise

    def _receive(self, connection: "psycopg.Connection[Any]") -> None:
        own = connection.info.backend_pid
        for notice in connection.notifies(timeout=0):
            if notice.channel == TABLES_CHANNEL:
                self._cache.changed()
            elif notice.pid != own:
                self._bell.ring(*topics_in(notice.payload))


def payloads(topics: Collection[str]) -> Iterator[str]:
    """The topics as JSON arrays, each small enough for a notification."""
    some: list[str] = []
    size = 2
    for topic in topics:
        length = len(json.dumps(topic)) + 2
        if length > MAX_BYTES:
            continue
        if size + length > MAX_BYTES:
            yield json.dumps(some)
            some, size = [], 2
        some.append(topic)
        size += length
    if some:
        yield json.dumps(some)


def topics_in(payload: str) -> tuple[str, ...]:
    """The topics of a payload; none if it is another's."""
    try:
        topics = json.loads(payload)
    except (ValueError, RecursionError):
        return ()
    return tuple(map(str, topics)) if isinstance(topics, list) else ()
