"""Child processes: those that this process starts, and orphans that the kernel reparents to it."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from asyncio.subprocess import Process, SubprocessStreamProtocol
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from understudy.tools.process_tree import (
    IS_LINUX,
    PR_SET_CHILD_SUBREAPER,
    descendants,
    prctl,
    send,
)

POLL_S: Final = 0.01
KILLED_WITHIN_S: Final = 2.0
END_ORPHANS_WITHIN_S: Final = 5.0
# Rounds without a pause, to win the race against a fork bomb.
ROUNDS: Final = 10
# The path of our own package, not from the environment or a site: no foreign code is loaded.
_ROOT: Final = str(Path(__file__).parents[2])
_LAUNCH: Final = "import sys; sys.path.append(sys.argv.pop(1)); from {0} import main; main()"


def own_program(module: ModuleType, *arguments: str) -> tuple[str, ...]:
    """The command line that runs `main` of one of our modules in a separate process."""
    return sys.executable, "-I", "-S", "-c", _LAUNCH.format(module.__name__), _ROOT, *arguments


@dataclass(frozen=True, slots=True)
class StartedProcess:
    """A started process with its pipes."""

    process: Process
    transport: asyncio.SubprocessTransport

    async def has_ended(self, within_s: float) -> bool:
        """Whether it ends in time. `Process.wait` would wait for its pipes as well."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while self.process.returncode is None:  # noqa: ASYNC110 - nobody tells of it
                    await asyncio.sleep(POLL_S)
        return self.process.returncode is not None

    def signal(self, number: signal.Signals) -> None:
        """Signal the process, unless it is gone."""
        # `send_signal` would poll, and take the exit code from the waiter.
        if self.process.returncode is None:
            send(self.process.pid, number)


class ChildProcesses:
    """The registry of this process's children: all are started here.

    Each supervises its own descendants, and ends them before it ends itself. A descendant that
    kills its supervisor is reparented to this process, and ended here.
    """

    def __init__(self) -> None:
        self._known: set[int] = set()
        self._starting = 0
        # Held from the start of a child until it is registered, so no search takes it for an
        # orphan.
        self._noting = threading.Lock()
        self._adopts = False

    def adopt(self) -> None:
        """Become the subreaper of all descendants; Linux only."""
        if not IS_LINUX:
            return
        # Children from before are not ours to reap.
        self._known.update(descendants())
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        self._adopts = True

    async def start(self, *command: str, limit: int, **options: Any) -> StartedProcess:
        """Start a process in its own session; `limit` bounds a line of its output."""
        loop = asyncio.get_running_loop()
        self._starting += 1
        try:
            transport, protocol = await loop.subprocess_exec(
                lambda: SubprocessStreamProtocol(limit=limit, loop=loop),
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                start_new_session=True,
                **options,
            )
            self._known.add(transport.get_pid())
        finally:
            self._starting -= 1
        return StartedProcess(Process(transport, protocol, loop), transport)

    def start_from_thread(self, *command: str, **options: Any) -> "subprocess.Popen[bytes]":
        """Start a child for a caller that waits in a thread and calls `forget` when it has ended."""
        with self._noting:
            process = subprocess.Popen(  # noqa: S603 - as the caller says, and never by a shell
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
                **options,
            )
            self._known.add(process.pid)
        return process

    def forget(self, pid: int) -> None:
        """Remove an ended child from the registry."""
        self._known.discard(pid)

    async def leave(self, started: StartedProcess, *, within_s: float) -> bool:
        """Let a child end by itself, else kill it; False when a descendant could not be killed."""
        if started.process.stdin is not None:
            started.process.stdin.close()
        # It may have been stopped by its own descendants.
        started.signal(signal.SIGCONT)
        if not await started.has_ended(within_s):
            started.signal(signal.SIGKILL)
            await started.has_ended(KILLED_WITHIN_S)
        # Its descendants may still hold the pipes open.
        started.transport.close()
        code = started.process.returncode
        if code is not None:
            self._known.discard(started.process.pid)
        return (code is not None and code >= 0) or await self.end_orphans()

    async def end_orphans(self) -> bool:
        """Kill every orphan that this process did not start; False if one is left."""
        if not self._adopts:
            return False
        with suppress(TimeoutError):
            async with asyncio.timeout(END_ORPHANS_WITHIN_S):
                while self._starting or self._end_those_found():  # noqa: ASYNC110 - as above
                    await asyncio.sleep(POLL_S)
                return True
        return False

    def _end_those_found(self) -> bool:
        """Kill and reap orphans; returns whether there may be more."""
        for _ in range(ROUNDS):
            with self._noting:
                orphans = list(descendants(without=self._known))
                for pid in orphans:
                    send(pid, signal.SIGKILL)
            if not orphans:
                return False
            for pid in orphans:
                with suppress(ChildProcessError):  # one with a parent of its own
                    os.waitpid(pid, os.WNOHANG)
        return True
