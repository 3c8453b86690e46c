"""What an idle daemon asks of its database, on an event loop whose time passes at once; its CPU."""

import asyncio
import selectors
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, Final, TypeVar, TypeVarTuple, Unpack

import psutil

from bench.report import figure, heading
from bench.statements import Work, counted
from tests.support import postgres
from tests.support.daemon import DaemonProcess
from understudy.daemon.wiring import Daemon
from understudy.settings import Flags, Settings, load_settings
from understudy.testing.clock import FrozenClock

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

TRANSACTIONS_AIM: Final = 130
# The looks at the start, and those that the daemon takes for the work that it finds then.
WARM_UP_S: Final = 120
WAIT_S: Final = 0.002
CPU_AIM_PERCENT: Final = 1.5
# In its first minute the durable engine looks for schedules once a second more.
SETTLED_S: Final = 65


class HastySelector(selectors.DefaultSelector):
    """Waits for nothing but threads: when none is at work, time passes instead."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FrozenClock()
        self.started_ms = self.clock.ms
        self.passed_s = 0.0
        # How many threads do something for the loop.
        self.threads = 0

    def select(self, timeout: float | None = None) -> Any:
        """What is ready now; if nothing is, the time after it would be."""
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None or self.threads:
            return super().select(WAIT_S)
        self.passed_s += timeout
        self.clock.ms = self.started_ms + round(self.passed_s * 1000)
        return ready


class HastyLoop(asyncio.SelectorEventLoop):
    """An event loop on which nobody sleeps in earnest."""

    def __init__(self) -> None:
        self.hasty = HastySelector()
        super().__init__(self.hasty)

    def time(self) -> float:
        """The time that has passed, waited or not."""
        return self.hasty.passed_s

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Let a thread do it; until it has, no time passes."""
        self.hasty.threads += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._done)
        return future

    def _done(self, _: object) -> None:
        self.hasty.threads -= 1


def count_idle_minute(settings: Settings) -> Work:
    """What the tasks of a daemon do in a minute without work, a while after its start."""
    with asyncio.Runner(loop_factory=HastyLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, HastyLoop)
        return runner.run(_idle(Daemon(settings, clock=loop.hasty.clock)))


async def _idle(daemon: Daemon) -> Work:
    daemon.migrate()
    await daemon.start()
    try:
        await asyncio.sleep(WARM_UP_S)
        # The durable engine's threads live by the clock of the machine, which hardly moves.
        with counted() as work:
            await asyncio.sleep(60)
    finally:
        await daemon.stop()
    return work


def main(*, quick: bool = False) -> bool:
    """Count on SQLite; most looks of the engine's own threads, three a second, are not among them."""
    heading("A minute of an idle daemon on SQLite")
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(Flags(home=Path(folder)), {})
        settings.workspace.mkdir(parents=True, exist_ok=True)
        work = count_idle_minute(settings)
    figure("statements", len(work.statements), "")
    met = figure("transactions", work.begins, "", at_most=TRANSACTIONS_AIM)
    heading("CPU of an idle daemon, a minute after its start")
    postgres.begin_test_run()
    try:
        with postgres.databases(postgres.server_url()) as make:
            for name, url in (("SQLite", None), ("PostgreSQL", make())):
                percent = _cpu_percent(url, seconds=15 if quick else 60)
                met &= figure(name, percent, "% core", at_most=CPU_AIM_PERCENT)
    finally:
        postgres.end_test_run()
    return met


def _cpu_percent(url: str | None, *, seconds: int) -> float:
    with (
        tempfile.TemporaryDirectory() as folder,
        DaemonProcess(Path(folder) / "home", database_url=url, by_command_line=True) as daemon,
    ):
        time.sleep(SETTLED_S)
        process = psutil.Process(daemon.pid)
        before = process.cpu_times()
        time.sleep(seconds)
        after = process.cpu_times()
        return (after.user + after.system - before.user - before.system) / seconds * 100
