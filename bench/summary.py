"""One table: what a run, a start and an idle daemon cost on SQLite, against its limits."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Final

import psutil

from bench.baseline import loop_cpu_seconds, route_config
from bench.idle import count_idle_minute
from bench.report import heading, percentile
from bench.runs import LONG_RUN, cpu_seconds, make_sessions, model_process, run_all
from bench.statements import SHORT_RUN, count_short_runs
from tests.api.live import live_daemon, settings_at
from tests.support.daemon import DaemonProcess
from understudy.testing.fake_model import FakeModel

# Name, unit, value before this was measured at every change, aim, and whether more is better.
ROWS: Final[Sequence[tuple[str, str, float | None, float | None, bool]]] = (
    ("statements of a short run", "", 115, 90, False),
    ("commits of a short run", "", 11, 14, False),
    ("transactions of a short run", "", 29, None, False),
    ("transactions of an idle minute", "", 900, 130, False),
    ("CPU of a short run", "ms", 45, 45, False),
    ("CPU of 11 model and 10 tool calls", "ms", 100, None, False),
    ("that, against the bare loop", "x", 4.7, None, False),
    ("short runs per second, 1 session", "/s", 16, None, True),
    ("short runs per second, 8 sessions", "/s", 17, 20, True),
    ("short runs per second, 32 sessions", "/s", 12, None, True),
    ("submit to first provider request, p50", "ms", 36, 30, False),
    ("idle CPU", "% core", 3, 1.5, False),
    ("idle memory", "MiB", 242, 180, False),
    ("start to ready, empty home", "s", 2, 1.6, False),
    ("CPU of `understudy --help`", "s", 0.56, 0.15, False),
    ("CPU of a command", "s", 0.7, 0.35, False),
)


def main(*, quick: bool = False) -> bool:
    """Measure and print; quick takes the least of fewer rounds."""
    rounds = 2 if quick else 5
    found = [*_counts(), *_daemon(rounds), *_commands(rounds)]
    heading("SQLite, one daemon (the best of several rounds)")
    print(f"  {'':<58} {'before':>8} {'now':>8} {'limit':>8}")
    met = True
    for (name, unit, before, aim, is_more), value in zip(ROWS, found, strict=True):
        is_met = aim is None or (value >= aim if is_more else value <= aim)
        met &= is_met
        told = "" if aim is None else f"{'>=' if is_more else '<='} {aim:g}"
        mark = "" if is_met else "  MISSED"
        print(f"  {name:<58} {before or 0:>8g} {value:>8.2f} {told:>8} {unit}{mark}")
    return met


def _counts() -> Iterator[float]:
    with tempfile.TemporaryDirectory() as folder, live_daemon(Path(folder)) as live:
        runs = count_short_runs(live, runs=5)
    yield median(len(work.statements) for work in runs)
    yield median(work.commits for work in runs)
    yield median(work.begins for work in runs)
    with tempfile.TemporaryDirectory() as folder:
        yield count_idle_minute(settings_at(Path(folder))).begins


def _daemon(rounds: int) -> Iterator[float]:
    with tempfile.TemporaryDirectory() as folder, model_process() as model_url:
        home, config = Path(folder) / "home", route_config(model_url)
        began = time.monotonic()
        with DaemonProcess(home, config=config, by_command_line=True) as daemon:
            started = time.monotonic() - began
            (home / "workspace" / "note.txt").write_text("hello\n")
            process = psutil.Process(daemon.pid)
            with daemon.client() as client:
                run_all(client, make_sessions(client, "warm", 3), SHORT_RUN, 6)

                def cost(text: str, runs: int) -> float:
                    names = make_sessions(client, "cpu", runs)
                    before = cpu_seconds(process)
                    for name in names:
                        # Looking costs the daemon CPU as well, so look seldom.
                        run_all(client, [name], text, 1, look_every_s=0.3)
                    return (cpu_seconds(process) - before) / runs

                def speed(sessions: int) -> float:
                    runs = min(16 * sessions, 64)
                    names = make_sessions(client, f"t{sessions}", sessions)
                    return runs / run_all(client, names, SHORT_RUN, runs)

                yield 1000 * _least(rounds, lambda: cost(SHORT_RUN, 5))
                bare = _least(2, lambda: _bare(model_url))
                long = _least(rounds, lambda: cost(LONG_RUN, 2))
                yield 1000 * long
                yield long / bare
                for sessions in (1, 8, 32):
                    yield max(speed(sessions) for _ in range(rounds))
            yield _latency(home.with_name("latency"), runs=10)
            time.sleep(1)
            yield 100 * _least(2, lambda: _idle_cpu(process, seconds=5))
            yield process.memory_info().rss / 2**20
        yield started


def _bare(model_url: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        return loop_cpu_seconds(Path(folder), model_url, LONG_RUN, runs=4)[0]


def _latency(home: Path, *, runs: int) -> float:
    waits = []
    with (
        FakeModel() as fake,
        DaemonProcess(home, config=route_config(fake.url), by_command_line=True) as daemon,
        daemon.client() as client,
    ):
        (session,) = make_sessions(client, "latency", 1)
        for number in range(runs + 1):
            began = time.time_ns() // 1_000_000
            run_all(client, [session], "hello", 1)
            if number:
                waits.append(float(fake.requests[-1].arrived_at_ms - began))
    return percentile(waits, 50)


def _idle_cpu(process: psutil.Process, *, seconds: int) -> float:
    before = cpu_seconds(process)
    time.sleep(seconds)
    return (cpu_seconds(process) - before) / seconds


def _commands(rounds: int) -> Iterator[float]:
    program = Path(sys.executable).with_name("understudy")
    for arguments in (["--help"], ["status", "--url", "http://127.0.0.1:9"]):
        yield _least(rounds, lambda arguments=arguments: _cpu_of([str(program), *arguments]))


def _cpu_of(command: list[str]) -> float:
    before = psutil.Process().cpu_times()
    subprocess.run(command, capture_output=True, check=False)
    after = psutil.Process().cpu_times()
    return float(
        after.children_user + after.children_system - before.children_user - before.children_system
    )


def _least(rounds: int, measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(rounds))
