"""Time as integer milliseconds, from one replaceable clock."""

import time
from datetime import UTC, datetime
from typing import Final, Protocol

DAY_MS: Final = 24 * 3600 * 1000


class Clock(Protocol):
    """The clock of the domain."""

    def now_ms(self) -> int:
        """Milliseconds since the Unix epoch."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


def shown_time(at_ms: int) -> str:
    """A timestamp for people to read; one beyond the calendar becomes its last day."""
    try:
        return f"{datetime.fromtimestamp(at_ms / 1000, tz=UTC):%Y-%m-%d %H:%M} UTC"
    except (ValueError, OverflowError, OSError):
        return "9999-12-31"
