"""When to try a server again that failed: soon at first, then ever later."""

import time
from collections.abc import Callable
from typing import Final

FIRST_S: Final = 1.0
LONGEST_S: Final = 60.0
# A server that lived this long did well; its next failure counts as the first.
STEADY_S: Final = 60.0


class Backoff:
    """Counts failures in a row."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._failures = 0
        self._until = -1.0

    def failed(self, *, lived_s: float) -> None:
        """It failed after it had lived for so long."""
        if lived_s >= STEADY_S:
            self._failures = 0
        self._failures += 1
        # Beyond a few doublings the longest wait is reached anyway.
        doublings = min(self._failures - 1, 16)
        self._until = self._now() + min(FIRST_S * 2**doublings, LONGEST_S)

    def wait_s(self) -> float:
        """How long until the next try; nothing or less: now."""
        return self._until - self._now() if self._failures else 0.0

    def forget(self) -> None:
        """Begin anew."""
        self._failures = 0
