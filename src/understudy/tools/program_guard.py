"""Runs a program on this process's own pipes, and ends all its descendants; a separate program.

The arguments are the number of a pipe whose other end the daemon holds, then the command line. When
that pipe closes, because the program is to end or the daemon died, everything ends.
"""

import os
import select
import signal
import sys
import time
from contextlib import suppress

from understudy.tools.process_tree import (
    ProcessTree,
    be_watched,
    descendants,
    end_badly,
    watch_over,
)

# Grace period between SIGTERM and SIGKILL.
GRACE_S = 1.0
LOOK_EVERY_S = 0.01
CANNOT_START = 126


def main() -> None:
    """Run the program until it ends or the daemon closes the pipe; returns its exit code."""
    watch_over()
    lifeline, command = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(lifeline, False)
    woken = _wake_when_a_child_ends()
    pid = os.fork()
    if pid == 0:
        _become(command)
    _let_go_of_pipes()
    tree = ProcessTree(pid)
    _watch(tree, lifeline, woken)
    if tree.status is None:
        _ask_to_end(tree)
    if not tree.end():
        end_badly()
    code = os.waitstatus_to_exitcode(tree.status or 0)
    sys.exit(code if code >= 0 else 128 - code)


def _wake_when_a_child_ends() -> int:
    woken, wakes = os.pipe()
    for end in (woken, wakes):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return woken


def _let_go_of_pipes() -> None:
    """Close our copies of the pipes, so that readers notice when the program closes its own."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def _watch(tree: ProcessTree, lifeline: int, woken: int) -> None:
    """Wait until the program has ended, or the daemon closes the pipe."""
    while tree.status is None:
        ready, _, _ = select.select([lifeline, woken], [], [])
        if lifeline in ready:
            return
        with suppress(BlockingIOError):
            os.read(woken, 4096)
        tree.reap()


def _ask_to_end(tree: ProcessTree) -> None:
    """Send SIGTERM to everything, and wait for the grace period."""
    tree.signal_all(signal.SIGTERM)
    until = time.monotonic() + GRACE_S
    while any(descendants()) and time.monotonic() < until:
        time.sleep(LOOK_EVERY_S)
        tree.reap()


def _become(command: list[str]) -> None:
    """Turn this forked process into the program."""
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        be_watched()
        os.execvp(command[0], command)  # noqa: S606 - what the config file says
    except OSError as problem:
        os.write(2, f"cannot be started: {problem.strerror}\n".encode())
    finally:
        os._exit(CANNOT_START)
