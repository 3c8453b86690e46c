"""Posting to a channel of 200 members, 1,000 messages long, and arbitration of 50 candidates.

Prints wall-clock and CPU time: `nice -n 10 .venv/bin/python -m bench.channels --postgres`.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from tests.support.channel_harness import ROOM, ChannelHarness, agent, person
from tests.support.factories import ADMIN, make_agent, make_session
from understudy.channels.posting import NewChannelMessage
from understudy.core.bell import Bell
from understudy.storage.engine import open_engine
from understudy.storage.migrate import migrate
from understudy.storage.unit import Units

MEMBERS, MESSAGES, CANDIDATES, TENTH = 200, 1000, 50, 100


def main(*, postgres: bool = False) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _measure("SQLite", f"sqlite:///{Path(folder) / 'bench.db'}")
    if postgres:
        # The server is the one that tests use; nothing else here needs it.
        from tests.support import postgres as server

        server.begin_test_run()
        try:
            with server.databases(server.server_url()) as make:
                _measure("PostgreSQL", make())
        finally:
            server.end_test_run()


def _measure(name: str, url: str) -> None:
    print(f"{name}: {MEMBERS} members, {MESSAGES} messages, {CANDIDATES} candidates")
    engine = open_engine(url)
    migrate(engine)
    units = Units(engine, enqueue=lambda _, __: None, bell=Bell())
    harness = ChannelHarness(units)
    with units.write() as unit:
        unit.agents.add(make_agent())
        for number in range(CANDIDATES):
            unit.sessions.add(make_session(f"s{number}"))
    people = (person(f"p{number}") for number in range(MEMBERS - CANDIDATES))
    agents = (agent(f"s{number}") for number in range(CANDIDATES))
    harness.service.create(ADMIN, ROOM, "Bench", members=(*people, *agents))
    _post(harness)
    _arbitrate(harness)
    engine.dispose()


def _post(harness: ChannelHarness) -> None:
    wall, cpu = [], []
    for number in range(MESSAGES):
        wanted = NewChannelMessage(content=f"Message {number} for @p7", sender_actor_id="p1")
        began, busy = time.perf_counter(), time.process_time()
        harness.service.post(ADMIN, ROOM, wanted)
        wall.append((time.perf_counter() - began) * 1000)
        cpu.append((time.process_time() - busy) * 1000)
    for name, times in (("wall", wall), ("cpu", cpu)):
        first, last = statistics.median(times[:TENTH]), statistics.median(times[-TENTH:])
        p95 = statistics.quantiles(times, n=20)[-1]
        print(f"post {name}: p95 {p95:.2f} ms, median first {first:.2f}, last {last:.2f} ms")


def _arbitrate(harness: ChannelHarness) -> None:
    wall, cpu, found = [], [], harness.service.next_speakers(ROOM)
    for _ in range(100):
        began, busy = time.perf_counter(), time.process_time()
        found = harness.service.next_speakers(ROOM)
        wall.append((time.perf_counter() - began) * 1000)
        cpu.append((time.process_time() - busy) * 1000)
    for name, times in (("wall", wall), ("cpu", cpu)):
        p95 = statistics.quantiles(times, n=20)[-1]
        median = statistics.median(times)
        print(f"arbitration of {len(found.speakers)} {name}: p95 {p95:.2f} ms, median {median:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgres", action="store_true", help="also on PostgreSQL")
    main(postgres=parser.parse_args().postgres)
