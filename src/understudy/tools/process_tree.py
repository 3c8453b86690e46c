"""The process tree below a child: found, stopped and killed. Imports no other module of ours."""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_GET_DUMPABLE = 3
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
HALT_WITHIN_S = 3.0
END_WITHIN_S = 7.0
# Signals that a supervisor ignores: only the daemon decides when it ends.
DEAF_TO = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
PYTHON_IGNORES = (signal.SIGPIPE, signal.SIGXFSZ)
PROC = Path("/proc")
IS_LINUX = sys.platform == "linux"


def prctl(option: int, value: int = 0) -> int:
    """Call `prctl` for this process; returns its result."""
    return int(ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)) if IS_LINUX else 0


def watch_over() -> None:
    """Become a supervisor: adopt orphaned descendants, and ignore signals meant for them."""
    sys.excepthook = lambda *_: end_badly()
    for number in DEAF_TO:
        signal.signal(number, signal.SIG_IGN)
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def be_watched() -> None:
    """In a forked child: start a session, and die with the supervisor."""
    os.setsid()
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for number in (*DEAF_TO, *PYTHON_IGNORES):
        signal.signal(number, signal.SIG_DFL)


def end_badly() -> None:
    """Kill this process, so that the daemon looks for orphans."""
    os.kill(os.getpid(), signal.SIGKILL)


class ProcessTree:
    """A child of this process with its own session, and all its descendants.

    On Linux those that left the session, or whose parents are gone, are found too, because this
    process is their subreaper. Elsewhere only the process group is found.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.status: int | None = None

    def reap(self) -> bool:
        """Reap ended processes; False when there is none left to wait for."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.pid:
                self.status = status

    def signal_all(self, number: int) -> None:
        """Signal every process that can be found."""
        self.signal_group(number)
        for pid in descendants():
            send(pid, number)

    def end(self) -> bool:
        """Kill every process and wait until all are gone; False on timeout."""
        self.halt()
        until = time.monotonic() + END_WITHIN_S
        is_left = True
        while is_left and time.monotonic() < until:
            self.signal_all(signal.SIGKILL)
            time.sleep(0.005)
            is_left = self.reap()
        return not is_left

    def halt(self) -> None:
        """Stop (SIGSTOP) every process, so that none forks while they are killed."""
        with suppress(OSError, AttributeError):  # a fork bomb must not starve this process
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        self.signal_group(signal.SIGSTOP)
        until = time.monotonic() + HALT_WITHIN_S
        halted: set[int] = set()
        known = -1
        while known < len(halted) and time.monotonic() < until:
            known = len(halted)
            for pid in descendants():
                if pid not in halted:
                    send(pid, signal.SIGSTOP)
                    halted.add(pid)

    def signal_group(self, number: int) -> None:
        """Signal the child's process group, as long as the id certainly belongs to it."""
        is_own = self.status is None or any(map(self.is_in_group, descendants()))
        if is_own or not IS_LINUX:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def is_in_group(self, pid: int) -> bool:
        """Whether a process is in the child's original process group."""
        try:
            return os.getpgid(pid) == self.pid
        except ProcessLookupError:
            return False


def send(pid: int, number: int) -> None:
    """Signal a process that may be gone already."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def descendants(without: Collection[int] = ()) -> Iterator[int]:
    """Every process below this one, each before its own children are searched.

    Those in `without` are skipped, with all their descendants.
    """
    own = os.getpid()
    is_listed = (PROC / str(own) / "task" / str(own) / "children").exists()
    by_parent = {} if is_listed else family_tree()
    look = [own]
    while look:
        pid = look.pop()
        for child in children_of(pid) if is_listed else by_parent.get(pid, []):
            if child not in without:
                yield child
                look.append(child)


def birth_of(pid: int) -> str | None:
    """Boot id and start time of a process: with its pid they identify it for ever.

    None where the kernel does not tell, or the process is gone.
    """
    try:
        told = (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
        boot = (PROC / "sys" / "kernel" / "random" / "boot_id").read_text().strip()
    except OSError:
        return None
    # Fields after the name: the state is the first, the start time the twentieth.
    return None if told[0] == "Z" else f"{boot}/{told[19]}"


def children_of(pid: int) -> list[int]:
    """The processes that the threads of a process started or adopted."""
    children: list[int] = []
    with suppress(OSError):
        for thread in (PROC / str(pid) / "task").iterdir():
            children += map(int, (thread / "children").read_bytes().split())
    return children


def family_tree() -> dict[int, list[int]]:
    """The children of every process, for kernels that do not list them."""
    tree: dict[int, list[int]] = {}
    for entry in PROC.iterdir() if IS_LINUX else ():
        with suppress(OSError, ValueError, IndexError):
            # The name, in parentheses, may contain anything; state and parent follow it.
            parent = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[1]
            tree.setdefault(int(parent), []).append(int(entry.name))
    return tree
