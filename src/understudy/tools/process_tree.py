"""The process tree below a child: found, stopped and killed. Imports nothing of ours."""

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
# Only the daemon decides when one that watches over others ends.
DEAF_TO = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
PYTHON_IGNORES = (signal.SIGPIPE, signal.SIGXFSZ)
PROC = Path("/proc")
IS_LINUX = sys.platform == "linux"


def prctl(option: int, value: int = 0) -> int:
    """Ask Linux for something about this process; what it answers."""
    return int(ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)) if IS_LINUX else 0


def watch_over() -> None:
    """Become one that watches over others: adopts what they leave, and ends when it is time."""
    sys.excepthook = lambda *_: end_badly()
    for number in DEAF_TO:
        signal.signal(number, signal.SIG_IGN)
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def be_watched() -> None:
    """In a child just forked: have a session of its own, and end with who watches over it."""
    os.setsid()
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for number in (*DEAF_TO, *PYTHON_IGNORES):
        signal.signal(number, signal.SIG_DFL)


def end_badly() -> None:
    """End in a way that tells the daemon to look for what is left."""
    os.kill(os.getpid(), signal.SIGKILL)


class ProcessTree:
    """A child of this process that has a session of its own, and whatever comes of it.

    On Linux those that left the session, or whose parents are gone, are found too, because this
    process adopts them. Elsewhere only the process group is.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.status: int | None = None

    def reap(self) -> bool:
        """Take leave of whoever ended; False when there is nobody left to wait for."""
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
        """Signal everything that can be found."""
        self.signal_group(number)
        for pid in descendants():
            send(pid, number)

    def end(self) -> bool:
        """End everything, and wait until it is gone; False when that takes too long."""
        self.halt()
        until = time.monotonic() + END_WITHIN_S
        is_left = True
        while is_left and time.monotonic() < until:
            self.signal_all(signal.SIGKILL)
            time.sleep(0.005)
            is_left = self.reap()
        return not is_left

    def halt(self) -> None:
        """Stop everything where it is, so that nothing starts another while it is ended."""
        with suppress(OSError, AttributeError):  # a crowd must not keep it from its work
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
        """Signal the child's process group at once, as long as the number is surely its own."""
        is_own = self.status is None or any(map(self.is_in_group, descendants()))
        if is_own or not IS_LINUX:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def is_in_group(self, pid: int) -> bool:
        """Whether a process is in the group that the child began with."""
        try:
            return os.getpgid(pid) == self.pid
        except ProcessLookupError:
            return False


def send(pid: int, number: int) -> None:
    """Signal a process that may be gone already."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def descendants(without: Collection[int] = ()) -> Iterator[int]:
    """Every process below this one, each before its own children are looked for.

    Those in `without` are passed over, with all that is below them.
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
    """When a process began, and in which boot: with its number this names it for ever.

    None where the kernel does not tell, or the process is gone.
    """
    try:
        told = (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
        boot = (PROC / "sys" / "kernel" / "random" / "boot_id").read_text().strip()
    except OSError:
        return None
    # Of the fields after the name: the state comes first, the start as the twentieth.
    return None if told[0] == "Z" else f"{boot}/{told[19]}"


def children_of(pid: int) -> list[int]:
    """The processes that the threads of one started or adopted."""
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
            # The name, in parentheses, may hold anything; state and parent follow it.
            parent = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[1]
            tree.setdefault(int(parent), []).append(int(entry.name))
    return tree
