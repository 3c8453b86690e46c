"""Runs one shell command and ends all its descendants; a separate program.

`understudy.tools.shell` starts it, writes a plan as one line of JSON to its standard input, and
keeps that open: when it closes, because the call was cancelled or the daemon died, everything ends.
The answer on standard output is one line of JSON, then the output of the command. A streamed
command is reported in pieces meanwhile: each is one line of JSON, and where that has a `size`, as
many bytes of output.
"""

import json
import os
import resource
import select
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from understudy.tools.process_tree import (
    IS_LINUX,
    PROC,
    ProcessTree,
    be_watched,
    birth_of,
    descendants,
    end_badly,
    watch_over,
)

LOOK_EVERY_S = 0.05
# Grace period for processes that the command left behind.
GRACE_S = 0.5
CHUNK_BYTES = 64 * 1024


def main() -> None:
    """Execute the plan from standard input, and answer on standard output."""
    watch_over()
    plan = json.loads(sys.stdin.buffer.readline() or "null")
    if plan is None:
        return
    with suppress(OSError):  # root only: other users have a process limit instead
        os.nice(-5)
    command = StreamedCommand(plan) if plan.get("is_streamed") else Command(plan)
    ended, output = command.run()
    # The reader of a cancelled command is gone.
    if ended["reason"] != "cancelled":
        write(ended, output)
    if not command.is_gone:
        end_badly()


def write(told: dict[str, object], output: bytes = b"") -> bool:
    """Write a report to the daemon; False when it is gone."""
    try:
        sys.stdout.buffer.write(json.dumps(told).encode() + b"\n" + output)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        return False
    return True


class HeadAndTail:
    """The head and the tail of the output, within a limit."""

    def __init__(self, limit: int) -> None:
        self.half = limit // 2
        self.head = bytearray()
        self.tail = bytearray()
        self.total = 0

    def add(self, chunk: bytes) -> None:
        """Add output."""
        self.total += len(chunk)
        room = self.half - len(self.head)
        self.head += chunk[:room]
        self.tail += chunk[room:]
        if len(self.tail) > 2 * self.half:
            del self.tail[: -self.half]

    def text(self) -> bytes:
        """The head and the tail of the output, with a note where the middle was left out."""
        tail = bytes(self.tail[-self.half :])
        dropped = self.total - len(self.head) - len(tail)
        note = f"\n[cut: {dropped} bytes left out here]\n".encode() if dropped else b""
        return bytes(self.head) + note + tail


class Command:
    """One command, from its start until none of its processes is left."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.kept = HeadAndTail(plan["max_output_bytes"])
        self.deadline = time.monotonic() + plan["timeout_s"]
        self.output, inner = os.pipe()
        os.set_blocking(self.output, False)
        self.is_open = True
        self.next_look = 0.0
        self.is_gone = False
        pid = os.fork()
        if pid == 0:
            become(plan, inner)
        self.tree = ProcessTree(pid)
        os.close(inner)

    def run(self) -> tuple[dict[str, object], bytes]:
        """Run until it ends or must be ended; returns the report and the output."""
        reason = None
        while reason is None and self.tree.status is None:
            reason = self.wait(LOOK_EVERY_S if self.is_open else LOOK_EVERY_S / 2)
            self.tree.reap()
            reason = reason or self.excess()
        left = 0 if reason else self.settle()
        reason = "processes" if left > self.plan["max_processes"] else reason
        self.is_gone = self.tree.end()
        self.drain()
        return self.account(reason, left), self.rest()

    def rest(self) -> bytes:
        """The output that follows the report."""
        return self.kept.text()

    def wait(self, seconds: float) -> str | None:
        """Read output for some time; `cancelled` when the daemon closed the pipe."""
        sources = [0, self.output] if self.is_open else [0]
        ready, _, _ = select.select(sources, [], [], seconds)
        if self.output in ready:
            self.is_open = self.read()
        return "cancelled" if 0 in ready and not os.read(0, 1) else None

    def read(self) -> bool:
        """Read one chunk of output; False at the end."""
        try:
            chunk = os.read(self.output, CHUNK_BYTES)
        except BlockingIOError:
            return True
        self.keep(chunk)
        return bool(chunk)

    def keep(self, chunk: bytes) -> None:
        """Store a chunk of output."""
        self.kept.add(chunk)

    def excess(self) -> str | None:
        """The limit that was exceeded, if any."""
        now = time.monotonic()
        if now >= self.deadline:
            return "timeout"
        if self.kept.total > self.plan["max_flood_bytes"]:
            return "flood"
        if now < self.next_look:
            return None
        self.next_look = now + LOOK_EVERY_S
        family = list(islice(descendants(), self.plan["max_processes"] + 1))
        if len(family) > self.plan["max_processes"]:
            return "processes"
        if memory_of(family, self.plan["max_memory_bytes"]) > self.plan["max_memory_bytes"]:
            return "memory"
        return None

    def settle(self) -> int:
        """Wait briefly for processes that the command left behind; returns how many remain."""
        until = time.monotonic() + GRACE_S
        most = self.plan["max_processes"]
        while 0 < len(left := list(descendants())) <= most and time.monotonic() < until:
            self.is_open = self.is_open and self.read()
            time.sleep(0.01)
            self.tree.reap()
        return len(left)

    def drain(self) -> None:
        """Read the rest of the pipe."""
        while self.is_open and self.kept.total <= self.plan["max_flood_bytes"]:
            before = self.kept.total
            self.is_open = self.read() and self.kept.total > before

    def account(self, reason: str | None, left: int) -> dict[str, object]:
        """The report on how the command ended."""
        status = self.tree.status
        code = None if status is None else os.waitstatus_to_exitcode(status)
        return {"reason": reason or "exit", "code": code, "left": left}


class StreamedCommand(Command):
    """A command whose output is streamed while it runs, and stored by the reader."""

    def __init__(self, plan: dict[str, Any]) -> None:
        super().__init__(plan)
        self.has_reader = write({"pid": self.tree.pid, "birth": birth_of(self.tree.pid)})

    def keep(self, chunk: bytes) -> None:
        """Stream a chunk of output."""
        self.kept.total += len(chunk)
        if chunk and self.has_reader:
            self.has_reader = write({"size": len(chunk)}, chunk)

    def rest(self) -> bytes:
        """Nothing: it was streamed."""
        return b""


def become(plan: dict[str, Any], output: int) -> None:
    """Turn this forked process into the command."""
    try:
        be_watched()
        silence = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((silence, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        for name, value in plan["limits"].items():
            set_limit(name, value)
        os.nice(10)
        # On memory shortage the kernel kills this process before the daemon.
        with suppress(OSError):
            (PROC / "self" / "oom_score_adj").write_text("500")
        os.execv(plan["argv"][0], plan["argv"])  # noqa: S606 - the first of them is the shell
    finally:
        os._exit(127)


def set_limit(name: str, value: int) -> None:
    """Lower one resource limit, unless it is lower already."""
    number = getattr(resource, name, None)
    if name == "RLIMIT_NPROC":
        # The limit counts all processes of the user, which only Linux reports.
        number = number if IS_LINUX else None
        value += processes_of_user()
    if number is None:
        return
    hard = resource.getrlimit(number)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    with suppress(ValueError, OSError):
        resource.setrlimit(number, (value, value))


def processes_of_user() -> int:
    """The number of threads of this user, which the limit counts as well."""
    count = 0
    for entry in PROC.iterdir() if IS_LINUX else ():
        with suppress(OSError, ValueError):
            if int(entry.name) and entry.stat().st_uid == os.getuid():
                count += sum(1 for _ in (entry / "task").iterdir())
    return count


# Private memory, and shared memory other than mapped files.
COUNTED = ("RssAnon", "RssShmem")
COUNTED_FAIRLY = ("Pss_Anon", "Pss_Shmem")
KIB = 1024


def memory_of(pids: Sequence[int], limit: int) -> int:
    """The memory of some processes; exact only where it exceeds `limit`.

    Shared memory is first counted for each process. Only when that is too much is it divided among
    them, because the kernel then has to walk all of their memory.
    """
    at_most = sum(map(_roughly, pids))
    return at_most if at_most <= limit else sum(map(_fairly, pids))


def _roughly(pid: int) -> int:
    return _sum(pid, "status", COUNTED) or 0


def _fairly(pid: int) -> int:
    found = _sum(pid, "smaps_rollup", COUNTED_FAIRLY)
    return _roughly(pid) if found is None else found


def _sum(pid: int, file: str, names: Sequence[str]) -> int | None:
    """The sum of some fields; None when one is missing, or the process is gone."""
    try:
        lines = (PROC / str(pid) / file).read_text(errors="replace").splitlines()
    except OSError:
        return None
    # Each line begins with a field name of the kernel; only the value may be the process's own.
    told = dict(line.split(":", 1) for line in lines if line.partition(":")[0] in names)
    if len(told) < len(names):
        return None
    return sum(int(value.split()[0]) for value in told.values()) * KIB
