"""What daemons on one PostgreSQL database tell each other about their commits."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import psycopg
import pytest

from tests.contract.conftest import UnitsOnDatabase
from tests.support.daemon import wait_for
from understudy.core.bell import COMMITS, EVENTS, TABLE, Bell
from understudy.storage.announcements import CHANNEL, MAX_BYTES, Announcements, payloads, topics_in
from understudy.storage.revision_cache import RevisionCache
from understudy.storage.unit import Units

OpenDaemon = Callable[[], tuple[Announcements, Bell]]


@pytest.fixture
def open_daemon(database: UnitsOnDatabase) -> Iterator[OpenDaemon]:
    """Opens the announcements of one more daemon; those that a test has not stopped are stopped."""
    if database.engine.dialect.name == "sqlite":
        pytest.skip("one daemon at a time")
    with ExitStack() as opened:
        loop = asyncio.new_event_loop()
        opened.callback(loop.close)

        def start() -> tuple[Announcements, Bell]:
            bell, cache = Bell(), RevisionCache()
            bell.attach(loop)
            daemon = Announcements(database.url, bell, cache)
            daemon.start()
            opened.callback(daemon.stop)
            wait_for(lambda: cache.is_on and bell.count(EVENTS), what="it to listen")
            return daemon, bell

        yield start


def heard(bell: Bell, topic: str, rings: int = 1) -> None:
    wait_for(lambda: bell.count(topic) >= rings, what=f"{rings} rings of {topic}")


def test_the_others_hear_of_a_commit_and_the_daemon_itself_does_not(
    open_daemon: OpenDaemon, database: UnitsOnDatabase
) -> None:
    (first, own), (second, other) = open_daemon(), open_daemon()
    units = Units(database.engine, enqueue=lambda *_: None, bell=Bell(), announce=first.tell)

    with units.write() as unit:
        unit.responses.claim("k", "f", 1)
    with units.write():
        pass
    heard(other, TABLE.format("responses"))
    second.tell(["last"])
    heard(own, "last")

    assert (
        other.count(COMMITS) == 2
    )  # when it began to listen, and the commit that changed something
    assert own.count(TABLE.format("responses")) == 0


def test_what_was_told_before_the_stop_is_sent(open_daemon: OpenDaemon) -> None:
    (first, _), (_, bell) = open_daemon(), open_daemon()

    for number in range(500):
        first.tell([f"session:s{number}"])
    first.stop()
    first.tell(["too late"])

    for number in range(500):
        heard(bell, f"session:s{number}")


def test_a_lost_connection_is_made_again_and_what_waited_is_sent(
    open_daemon: OpenDaemon, database: UnitsOnDatabase
) -> None:
    (first, own), (_, bell) = open_daemon(), open_daemon()
    ours = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE %s"
    with psycopg.connect(database.url, autocommit=True) as admin:
        listening = admin.execute(ours, ("LISTEN%",)).fetchall()
        assert len(listening) == 2
        for pid in listening:
            admin.execute("SELECT pg_terminate_backend(%s)", pid)
    first.tell(["session:s1"])

    # Whatever was missed meanwhile is looked for, and what was told then is sent.
    heard(own, EVENTS, 2)
    heard(bell, EVENTS, 2)
    first.tell(["session:s2"])
    heard(bell, "session:s2")


def test_a_notification_of_somebody_else_harms_nothing(
    open_daemon: OpenDaemon, database: UnitsOnDatabase
) -> None:
    (first, _), (_, bell) = open_daemon(), open_daemon()
    with psycopg.connect(database.url, autocommit=True) as other:
        for payload in ("", "{", "[" * 4000, '{"a": 1}', "[1, null]", "7"):
            other.execute("SELECT pg_notify(%s, %s)", (CHANNEL, payload))
    first.tell(["session:s1"])
    heard(bell, "session:s1")


@pytest.mark.one_database
def test_payloads_stay_within_the_limit_and_leave_no_topic_out() -> None:
    topics = [f"session:{number}-é中" * 3 for number in range(2000)]

    sent = list(payloads(topics))

    assert all(len(payload.encode()) <= MAX_BYTES for payload in sent)
    assert [topic for payload in sent for topic in topics_in(payload)] == topics
    assert list(payloads(["x" * 8000, "y"])) == [json.dumps(["y"])]
