"""What durability costs: latency, CPU per run, journal growth, throughput, memory."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import psutil

from bench.baseline import loop_cpu_seconds, route_config
from bench.report import figure, heading, percentile
from bench.statements import SHORT_RUN
from tests.support import postgres
from tests.support.daemon import TERMINAL, DaemonProcess
from tests.support.postgres_server import free_port
from understudy.core.bell import Bell
from understudy.core.clock import SystemClock
from understudy.sessions.journal import EventKind, NewEvent
from understudy.storage.engine import open_engine
from understudy.storage.migrate import migrate
from understudy.storage.unit import Units
from understudy.testing.fake_model import FakeModel

TOOL_CALLS = 10
LONG_RUN = "plan: " + json.dumps(
    {"tools": [["read_file", {"path": "note.txt"}]] * TOOL_CALLS, "final": "done"}
)


def main(*, quick: bool = False) -> None:
    """Measure everything on both databases."""
    scale = 1 if quick else 10
    postgres.begin_test_run()
    try:
        with postgres.databases(postgres.server_url()) as make, model_process() as model_url:
            cpu = _bare_loop(model_url, runs=5 * scale)
            for kind in ("SQLite", "PostgreSQL"):
                url = None if kind == "SQLite" else make()
                _daemon(kind, url, model_url, cpu, scale)
                _journal(kind, make() if url else None, scale)
    finally:
        postgres.end_test_run()


def _bare_loop(model_url: str, *, runs: int) -> float:
    heading("The loop alone: no engine, no database (baseline)")
    with tempfile.TemporaryDirectory() as folder:
        cpu, wall = loop_cpu_seconds(Path(folder), model_url, LONG_RUN, runs=runs)
    figure("CPU of a run of 11 model and 10 tool calls", cpu * 1000, "ms")
    figure("wall time of it", wall * 1000, "ms")
    return cpu


def _daemon(kind: str, url: str | None, model_url: str, bare_cpu: float, scale: int) -> None:
    heading(f"The daemon on {kind}")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        with DaemonProcess(
            home, database_url=url, config=route_config(model_url), by_command_line=True
        ) as daemon:
            (home / "workspace" / "note.txt").write_text("hello\n")
            _idle(daemon)
            cpu_per_run(daemon, bare_cpu, runs=3 * scale, is_sqlite=url is None)
            for sessions in (1, 8, 32):
                _throughput(daemon, sessions=sessions, runs=max(sessions, 8 * scale))
        with (
            FakeModel() as fake,
            DaemonProcess(
                home.with_name("latency"),
                database_url=url,
                config=route_config(fake.url),
                by_command_line=True,
            ) as daemon,
        ):
            _latency(daemon, fake, runs=5 * scale)


def _idle(daemon: DaemonProcess) -> None:
    process = psutil.Process(daemon.pid)
    time.sleep(1)
    before, seconds = cpu_seconds(process), 3
    time.sleep(seconds)
    figure("idle CPU", (cpu_seconds(process) - before) / seconds * 100, "% core")
    figure("idle memory (resident)", process.memory_info().rss / 2**20, "MiB")


def cpu_per_run(daemon: DaemonProcess, bare: float, *, runs: int, is_sqlite: bool) -> None:
    process = psutil.Process(daemon.pid)
    with daemon.client() as client:
        run_all(client, make_sessions(client, "warm", 3), LONG_RUN, 3)
        # A session each: earlier turns would make the later requests longer.
        names = make_sessions(client, "cpu", runs)
        before = cpu_seconds(process)
        for name in names:
            # Looking costs the daemon CPU as well, so look seldom.
            run_all(client, [name], LONG_RUN, 1, look_every_s=0.3)
        spent = (cpu_seconds(process) - before) / runs
    figure(
        "CPU of a run of 11 model and 10 tool calls",
        spent * 1000,
        "ms",
        baseline=bare * 1000,
        at_most=100 if is_sqlite else None,
    )


def _throughput(daemon: DaemonProcess, *, sessions: int, runs: int) -> None:
    with daemon.client() as client:
        names = make_sessions(client, f"t{sessions}", sessions)
        seconds = run_all(client, names, SHORT_RUN, runs)
    figure(f"runs per second, {sessions} sessions", runs / seconds, "runs/s")


def _latency(daemon: DaemonProcess, fake: FakeModel, *, runs: int) -> None:
    waits = []
    with daemon.client() as client:
        (session,) = make_sessions(client, "latency", 1)
        for number in range(runs + 1):
            began = time.time_ns() // 1_000_000
            run_all(client, [session], "hello", 1)
            if number:
                waits.append(float(fake.requests[-1].arrived_at_ms - began))
    figure("submit to first provider request, p50", percentile(waits, 50), "ms", at_most=150)
    figure("submit to first provider request, p95", percentile(waits, 95), "ms")


def _journal(kind: str, url: str | None, scale: int) -> None:
    heading(f"The journal on {kind}: cost of one more event in a session that has many")
    with tempfile.TemporaryDirectory() as folder:
        engine = open_engine(url or f"sqlite:///{folder}/journal.db")
        migrate(engine)
        units = Units(engine, enqueue=lambda *_: None, bell=Bell())
        make_session(units)
        _fill(units, 1_000)
        small = _append_cost(units, count=100 * scale)
        _fill(units, 100_000)
        large = _append_cost(units, count=100 * scale)
        engine.dispose()
    figure("per event at 1,000 events", small * 1000, "ms")
    figure("per event at 100,000 events", large * 1000, "ms", baseline=small * 1000)
    figure("growth", large / small, "x", at_most=1.2)


def make_session(units: Units) -> None:
    """A session to write to."""
    from understudy.agents.service import AgentService
    from understudy.core.principal import DAEMON
    from understudy.sessions.creation import NewSession
    from understudy.sessions.service import SessionService

    AgentService(units, SystemClock()).ensure_built_in()
    SessionService(units, SystemClock(), lambda _: True).create(DAEMON, NewSession(session_id="s"))


def _fill(units: Units, length: int) -> None:
    with units.read() as unit:
        session = unit.sessions.get("s")
    missing = length - (session.journal_length if session else 0)
    while missing > 0:
        batch = min(missing, 1000)
        with units.write() as unit:
            unit.journal.append("s", [_event() for _ in range(batch)], at_ms=0)
        missing -= batch


def _append_cost(units: Units, *, count: int) -> float:
    """Seconds of CPU per event, each in a transaction of its own; the best of nine rounds."""
    rounds = []
    for _ in range(9):
        before = time.process_time()
        for _ in range(count):
            with units.write() as unit:
                unit.journal.append("s", [_event()], at_ms=0)
        rounds.append((time.process_time() - before) / count)
    return min(rounds)


_numbers = iter(range(10**9))


def _event() -> NewEvent:
    data = {"step": 1, "text": "x" * 200}
    return NewEvent(kind=EventKind.MESSAGE, run_id="run", key=f"k{next(_numbers)}", data=data)


def make_sessions(client: httpx2.Client, prefix: str, count: int) -> list[str]:
    """So many new sessions."""
    names = [f"{prefix}-{number}-{time.time_ns()}" for number in range(count)]
    for name in names:
        client.post("/v1/sessions", json={"session_id": name}).raise_for_status()
    return names


def run_all(
    client: httpx2.Client, sessions: list[str], text: str, runs: int, *, look_every_s: float = 0.05
) -> float:
    """Submit runs round-robin and wait for the last of each session; seconds until the last end."""
    began = time.time()
    last: dict[str, str] = {}
    for number in range(runs):
        session = sessions[number % len(sessions)]
        answer = client.post(f"/v1/sessions/{session}/runs", json={"content": text})
        last[session] = answer.raise_for_status().json()["run_id"]
    time.sleep(look_every_s)
    ended_at_ms = 0
    for run_id in last.values():
        while (view := _view(client, run_id))["status"] not in TERMINAL:
            time.sleep(look_every_s)
        assert view["status"] == "completed", view
        ended_at_ms = max(ended_at_ms, view["finished_at_ms"])
    # By the daemon's clock, which is ours: the pauses between looks do not count.
    return ended_at_ms / 1000 - began


def _view(client: httpx2.Client, run_id: str) -> dict[str, Any]:
    view: dict[str, Any] = client.get(f"/v1/runs/{run_id}").raise_for_status().json()
    return view


def cpu_seconds(process: psutil.Process) -> float:
    """The CPU that a process has used."""
    times = process.cpu_times()
    return float(times.user + times.system)


@contextmanager
def model_process() -> Iterator[str]:
    """The fake model as a process of its own, so that its CPU is not counted."""
    port = free_port()
    command = [sys.executable, "-m", "understudy.testing.fake_model", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()
