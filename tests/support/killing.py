"""Processes that are killed at a chosen step of what they do to files, or that all begin at once.

Both fork, so the caller has no threads and no open database.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NoReturn

# Told by whoever does something that is no change of a file, such as a commit.
STEP: Final = "understudy.step"
_CHANGES: Final = frozenset({STEP, "os.mkdir", "os.rename", "os.rmdir", "os.remove"})


def killed_at_every_step(act: Callable[[], None]) -> Iterator[bool]:
    """Do something in one process after another, each killed before one step more than the last.

    Yields after each of them, until one gets to the end; tells whether it did.
    """
    step, is_done = 0, False
    while not is_done:
        step += 1
        is_done = _survives(act, step)
        yield is_done


def in_many_processes(acts: Sequence[Callable[[], None]]) -> None:
    """Do all of it at once, each in a process of its own; raises unless all succeed."""
    children = []
    for act in acts:
        child = os.fork()
        if child == 0:
            _end_with(act)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    if any(codes):
        raise RuntimeError(f"the processes ended with {codes}")


def _survives(act: Callable[[], None], step: int) -> bool:
    child = os.fork()
    if child == 0:
        sys.addaudithook(_Death(step))
        _end_with(act)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in {0, -signal.SIGKILL}:
        raise RuntimeError(f"the process ended with {code}")
    return code == 0


def _end_with(act: Callable[[], None]) -> NoReturn:
    """Do it and be gone, without what a process does at its end otherwise."""
    code = 1
    try:
        act()
        code = 0
    finally:
        if code:
            traceback.print_exc()
        os._exit(code)


class _Death:
    """Comes before the given change."""

    def __init__(self, step: int) -> None:
        self._left = step

    def __call__(self, event: str, details: tuple[Any, ...]) -> None:
        creates = event == "open" and isinstance(details[2], int) and details[2] & os.O_CREAT
        if event in _CHANGES or creates:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
