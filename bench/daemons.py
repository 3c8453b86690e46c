"""One daemon and two on one PostgreSQL: runs per second, and which locks their backends wait for.

The baseline is the same code in the same minutes with one lock over all journals, taken by a trigger
until the commit.
"""

import json
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

import psutil
import psycopg

from bench.baseline import route_config
from bench.report import figure, heading
from bench.runs import cpu_seconds, make_sessions, model_process, run_all
from tests.support import postgres
from tests.support.daemon import DaemonProcess

SESSIONS: Final = 16
# A call that is in the audit.
WRITING_RUN: Final = "plan: " + json.dumps(
    {"tools": [["write_file", {"path": "note.txt", "content": "x"}]], "final": "ok"}
)
LOOK_EVERY_S: Final = 0.05
WAITING: Final = """
    SELECT wait_event, count(*) FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND datname = current_database() GROUP BY 1
"""
LOCK_JOURNALS: Final = """
    CREATE FUNCTION lock_journals() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$;
    CREATE TRIGGER lock_journals BEFORE INSERT ON journal
        FOR EACH STATEMENT EXECUTE FUNCTION lock_journals()
"""
FREE_JOURNALS: Final = "DROP TRIGGER lock_journals ON journal; DROP FUNCTION lock_journals()"


@dataclass(slots=True)
class Load:
    """What was measured while some daemons worked."""

    runs_per_s: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    looks: int = 0
    waiting: Counter[str] = field(default_factory=Counter)

    def average(self, kind: str | None = None) -> float:
        """How many backends waited on average, for locks of a kind or of any."""
        waited = self.waiting.total() if kind is None else self.waiting[kind]
        return waited / max(self.looks, 1)


def main(*, quick: bool = False) -> None:
    """Measure in turns, so that all variants have the same minutes."""
    rounds, runs = (2, 4 * SESSIONS) if quick else (4, 8 * SESSIONS)
    loads = {(count, locked): Load() for count in (1, 2) for locked in (True, False)}
    postgres.begin_test_run()
    try:
        with (
            postgres.databases(postgres.server_url()) as make,
            model_process() as model_url,
            _daemons(url := make(), model_url) as daemons,
        ):
            _work(daemons, 2 * SESSIONS)
            for _ in range(rounds):
                for (count, locked), load in loads.items():
                    with _lock(url, locked=locked):
                        _measure(daemons[:count], url, load, runs)
    finally:
        postgres.end_test_run()
    for count in (1, 2):
        _report(count, loads[count, False], loads[count, True])


@contextmanager
def _daemons(url: str, model_url: str) -> Iterator[list[DaemonProcess]]:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        homes = [Path(folder) / name for name in ("one", "two")]
        yield [_daemon(stack, home, url, model_url) for home in homes]


def _daemon(stack: ExitStack, home: Path, url: str, model_url: str) -> DaemonProcess:
    config = route_config(model_url)
    daemon = DaemonProcess(home, database_url=url, config=config, by_command_line=True)
    stack.enter_context(daemon)
    return daemon


@contextmanager
def _lock(url: str, *, locked: bool) -> Iterator[None]:
    if not locked:
        yield
        return
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(LOCK_JOURNALS)
        yield
        connection.execute(FREE_JOURNALS)


def _measure(daemons: Sequence[DaemonProcess], url: str, load: Load, runs: int) -> None:
    processes = [psutil.Process(daemon.pid) for daemon in daemons]
    before = sum(map(cpu_seconds, processes))
    with _looking(url, load):
        seconds = _work(daemons, runs)
    load.runs_per_s.append(runs / seconds)
    load.cpu_ms.append((sum(map(cpu_seconds, processes)) - before) / runs * 1000)


def _work(daemons: Sequence[DaemonProcess], runs: int) -> float:
    """Share the runs among the daemons; seconds until the last has ended."""
    share = len(daemons)

    def work(daemon: DaemonProcess) -> float:
        with daemon.client() as client:
            names = make_sessions(client, f"d{daemon.port}", SESSIONS // share)
            return run_all(client, names, WRITING_RUN, runs // share, look_every_s=0.2)

    with ThreadPoolExecutor(share) as pool:
        return max(pool.map(work, daemons))


@contextmanager
def _looking(url: str, load: Load) -> Iterator[None]:
    is_over = threading.Event()

    def look() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            while not is_over.wait(LOOK_EVERY_S):
                load.waiting.update(dict(connection.execute(WAITING).fetchall()))
                load.looks += 1

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _report(count: int, load: Load, baseline: Load) -> None:
    heading(f"{count} daemon{'s' * (count > 1)} on PostgreSQL (no fsync), {SESSIONS} sessions")
    rate, base = median(load.runs_per_s), median(baseline.runs_per_s)
    figure("runs per second", rate, "runs/s", baseline=base)
    print(f"    rounds: {_rounded(load.runs_per_s)}; baseline: {_rounded(baseline.runs_per_s)}")
    figure("CPU per run", median(load.cpu_ms), "ms", baseline=median(baseline.cpu_ms))
    waiting = f"backends waiting for a lock, average of {load.looks} looks"
    figure(waiting, load.average(), "", baseline=baseline.average(), at_most=1)
    for kind in sorted(load.waiting | baseline.waiting):
        print(f"    {kind}: {load.average(kind):.2f}; baseline: {baseline.average(kind):.2f}")


def _rounded(values: Sequence[float]) -> str:
    return " ".join(f"{value:.1f}" for value in values)
