"""Stop signals: how a cancel or interrupt reaches an execution in this process."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from understudy.runs.model import StopRequest

T = TypeVar("T")


class Stopped(Exception):
    """The run was asked to stop, and its work has been cancelled."""

    def __init__(self, how: StopRequest) -> None:
        super().__init__(str(how))
        self.how = how


class RunTakenOver(Exception):
    """Another execution of this run has begun; this one must not write any more."""


@dataclass(slots=True)
class StopSignal:
    """The stop signal of one execution; the first request counts."""

    how: StopRequest | None = None
    is_superseded: bool = False
    # The tasks with guarded work, and whether the stop has cancelled them.
    _guarded: dict[asyncio.Task[Any], bool] = field(default_factory=dict)

    def set(self, how: StopRequest) -> None:
        """Request the stop; a second request changes nothing."""
        if self.how is None:
            self.how = how
            self._cancel()

    def supersede(self) -> None:
        """End the execution silently: a newer execution of the same run has begun."""
        self.is_superseded = True
        self._cancel()

    def _cancel(self) -> None:
        for task, is_cancelled in self._guarded.items():
            # Once: a second cancellation would interrupt how the work ends.
            if not is_cancelled:
                self._guarded[task] = True
                task.cancel()

    def check(self) -> None:
        """Raise `Stopped` if the stop was asked for, `RunTakenOver` if a newer execution has begun."""
        if self.is_superseded:
            raise RunTakenOver
        if self.how is not None:
            raise Stopped(self.how)

    async def guard(self, work: Coroutine[Any, Any, T]) -> T:
        """Await the work; on a stop cancel it, wait until it has ended, then raise.

        The work is part of the calling task, as in `asyncio.timeout`; guards are not nested. If others
        cancel the task, that goes on, whatever the work makes of it.
        """
        try:
            self.check()
        except (Stopped, RunTakenOver):
            work.close()
            raise
        task = cast("asyncio.Task[Any]", asyncio.current_task())
        before = task.cancelling()
        self._guarded[task] = False
        try:
            return await work
        except asyncio.CancelledError:
            if self._guarded[task] and task.cancelling() <= before + 1:
                self.check()
            raise
        finally:
            if self._guarded.pop(task):
                task.uncancel()
            if task.cancelling() > before:
                raise asyncio.CancelledError


@dataclass(slots=True)
class StopSignals:
    """The stop signals of the runs that this process executes."""

    _signals: dict[str, StopSignal] = field(default_factory=dict)
    _loop: asyncio.AbstractEventLoop | None = None

    def open(self, run_id: str) -> StopSignal:
        """The signal of a new execution; an older execution of the same run ends."""
        self._loop = asyncio.get_running_loop()
        older = self._signals.get(run_id)
        if older is not None:
            older.supersede()
        signal = self._signals[run_id] = StopSignal()
        return signal

    def close(self, run_id: str, signal: StopSignal) -> bool:
        """Forget an execution that has ended; returns False if a newer one of the run goes on."""
        is_last = self._signals.get(run_id) is signal
        if is_last:
            del self._signals[run_id]
        return is_last

    def active(self) -> tuple[str, ...]:
        """The runs that this process executes."""
        return tuple(self._signals)

    def request(self, run_id: str, how: StopRequest) -> None:
        """Ask a run of this process to stop; may be called from any thread."""
        signal = self._signals.get(run_id)
        if signal is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(signal.set, how)


async def watch_stop_requests(
    signals: StopSignals,
    look: Callable[[tuple[str, ...]], dict[str, StopRequest]],
    *,
    every_s: float,
) -> None:
    """Poll the database for stop requests of other processes, and signal the runs of this one."""
    while True:
        await asyncio.sleep(every_s)
        active = signals.active()
        if active:
            for run_id, how in (await asyncio.to_thread(look, active)).items():
                signals.request(run_id, how)
