"""Rate limits on what an MCP server sends: per message, per second and per minute."""

import time
from collections.abc import Callable
from typing import Final

MAX_MESSAGE_BYTES: Final = 4 * 1024 * 1024
MAX_BYTES_PER_S: Final = 16 * 1024 * 1024
MAX_LINES_PER_S: Final = 5000
# A lower sustained rate: a slow reader is flooded by less.
MAX_LINES_PER_MINUTE: Final = 60_000


class FloodError(Exception):
    """A server exceeds the rate limit on its output."""

    def __init__(self) -> None:
        super().__init__("it floods us with output")


class IntakeLimit:
    """Rate limits on a server's output, per second and per minute."""

    def __init__(
        self, max_lines: int = MAX_LINES_PER_S, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._max_lines = max_lines
        self._now = now
        self._second = 0
        self._bytes = 0
        self._lines = 0
        self._minute = 0
        self._lines_in_minute = 0

    def take(self, piece: bytes) -> None:
        """Count a chunk; raises `FloodError` over a limit."""
        second = int(self._now())
        if second != self._second:
            self._second, self._bytes, self._lines = second, 0, 0
        if second - self._minute >= 60:
            self._minute, self._lines_in_minute = second, 0
        lines = piece.count(b"\n")
        self._bytes += len(piece)
        self._lines += lines
        self._lines_in_minute += lines
        if self._bytes > MAX_BYTES_PER_S or self._lines > self._max_lines:
            raise FloodError
        if self._lines_in_minute > MAX_LINES_PER_MINUTE:
            raise FloodError
