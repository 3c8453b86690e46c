"""When to poll again for a run or a trial that takes a while, and when to connect again."""

import time
from dataclasses import dataclass, field
from typing import Final

from understudy.client.errors import WaitTimeout

FIRST_LOOK_S: Final = 0.05
LAST_LOOK_S: Final = 1.0
# Long enough for a daemon to be restarted in the meantime.
RECONNECT_DELAYS_S: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 4.0, 4.0, 4.0, 4.0)
TERMINAL_STATUSES: Final[frozenset[str]] = frozenset(
    {"completed", "failed", "interrupted", "cancelled"}
)
WAITING_STATUSES: Final[frozenset[str]] = frozenset(
    {"waiting_for_approval", "waiting_for_user_question"}
)
SETTLED_STATUSES: Final = TERMINAL_STATUSES | WAITING_STATUSES


@dataclass(slots=True)
class PollSchedule:
    """Poll intervals with back-off, and an optional timeout."""

    what: str
    timeout_s: float | None
    _pause: float = FIRST_LOOK_S
    _started: float = field(default_factory=time.monotonic)

    def pause(self, state: str) -> float:
        """The seconds until the next poll; raises `WaitTimeout` if that exceeds the timeout."""
        pause, self._pause = self._pause, min(self._pause * 1.5, LAST_LOOK_S)
        if self.timeout_s is not None and time.monotonic() + pause > self._started + self.timeout_s:
            raise WaitTimeout(f"{self.what} is still {state} after {self.timeout_s:g} s")
        return pause
