"""Runs a program to its end, from a thread, with limits and without secrets in its environment."""

import json
import os
import selectors
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from understudy.tools import shell_supervisor
from understudy.tools.processes import ChildProcesses, own_program
from understudy.tools.shell import DEFAULT_PATH, LIMITS, MAX_MEMORY_BYTES, MAX_PROCESSES, PASSED_ON

MAX_OUTPUT_BYTES: Final = 64 * 1024
MAX_FLOOD_BYTES: Final = 16 * 1024 * 1024
# Time for the supervisor to answer after the timeout, and then to exit.
ANSWER_WITHIN_S: Final = 8.0
LEAVE_WITHIN_S: Final = 15.0
LOOK_EVERY_S: Final = 0.2
NO_MORE: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramResult:
    """How a program ended: `exit` with a code, or the limit that stopped it."""

    reason: str
    code: int | None = None
    output: str = ""

    @property
    def is_well(self) -> bool:
        """Whether it exited with code 0."""
        return self.reason == "exit" and self.code == 0


class Programs:
    """Starts programs under a supervisor that ends them with all their descendants."""

    def __init__(self, environment: Mapping[str, str], children: ChildProcesses) -> None:
        self._children = children
        self._stopped = threading.Event()
        self._passed_on = {"PATH": DEFAULT_PATH, "LANG": "C.UTF-8", "TERM": "dumb"} | {
            name: value for name, value in environment.items() if name in PASSED_ON
        }

    @property
    def path(self) -> str:
        """The PATH for programs."""
        return self._passed_on["PATH"]

    def run(
        self,
        argv: Sequence[str],
        *,
        folder: Path,
        timeout_s: float,
        environment: Mapping[str, str] = NO_MORE,
    ) -> ProgramResult:
        """Run a program in a folder, which is its home too; `argv` begins with an absolute path."""
        if self._stopped.is_set():
            return ProgramResult(reason="stopped")
        try:
            process = self._children.start_from_thread(
                *own_program(shell_supervisor),
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env={
                    **self._passed_on,
                    "HOME": str(folder),
                    "TMPDIR": str(folder),
                    **environment,
                },
            )
        except OSError:
            return ProgramResult(reason="not_started")
        try:
            return _account(self._ask(process, argv, timeout_s))
        finally:
            self._leave(process)

    def stop(self) -> None:
        """End the running programs and start no more: the daemon stops."""
        self._stopped.set()

    def _ask(self, process: "subprocess.Popen[bytes]", argv: Sequence[str], within: float) -> bytes:
        """The answer of the supervisor; empty on timeout."""
        assert process.stdin is not None  # noqa: S101 - asked for as a pipe
        assert process.stdout is not None  # noqa: S101
        until = time.monotonic() + within + ANSWER_WITHIN_S
        with suppress(OSError):
            process.stdin.write(json.dumps(_plan(argv, within)).encode() + b"\n")
            process.stdin.flush()
        reply = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while time.monotonic() < until and not self._stopped.is_set():
                if not selector.select(LOOK_EVERY_S):
                    continue
                chunk = os.read(process.stdout.fileno(), MAX_OUTPUT_BYTES)
                if not chunk or len(reply) > 2 * MAX_OUTPUT_BYTES:
                    break
                reply += chunk
        if self._stopped.is_set() and not reply:
            return b'{"reason": "stopped"}'
        return bytes(reply)

    def _leave(self, process: "subprocess.Popen[bytes]") -> None:
        """Close the pipes of the supervisor, on which it ends everything."""
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        try:
            process.wait(LEAVE_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._children.forget(process.pid)


def _plan(argv: Sequence[str], timeout_s: float) -> dict[str, object]:
    return {
        "argv": list(argv),
        "timeout_s": timeout_s,
        "max_output_bytes": MAX_OUTPUT_BYTES,
        "max_flood_bytes": MAX_FLOOD_BYTES,
        "max_memory_bytes": MAX_MEMORY_BYTES,
        "max_processes": MAX_PROCESSES,
        "limits": LIMITS,
    }


def _account(reply: bytes) -> ProgramResult:
    account, _, output = reply.partition(b"\n")
    try:
        told = json.loads(account)
    except ValueError:
        return ProgramResult(reason="timeout")
    return ProgramResult(
        reason=str(told.get("reason")),
        code=told.get("code"),
        output=output.decode(errors="replace"),
    )
