"""How much work something is, whatever else the machine does."""

import gc
import time
from collections.abc import Callable

TRIES = 3


def effort(work: Callable[[], object]) -> float:
    """The least CPU time in seconds that some work took this thread."""
    return min(_once(work) for _ in range(TRIES))


def takes_under(seconds: float, work: Callable[[], object]) -> bool:
    """Whether some work took this thread less CPU time than so many seconds, at least once."""
    return any(_once(work) < seconds for _ in range(TRIES))


def _once(work: Callable[[], object]) -> float:
    # The garbage of every test before this one is not its work.
    gc.disable()
    try:
        began = time.thread_time()
        work()
        return time.thread_time() - began
    finally:
        gc.enable()
