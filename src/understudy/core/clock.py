"""Time as integer milliseconds, from one replaceable clock."""

import time
from typing import Final, Protocol

DAY_MS: Final = 24 * 3600 * 1000


class Clock(Protocol):
    """What the domain needs to know about time."""

    def now_ms(self) -> int:
        """Milliseconds since the Unix epoch."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000
