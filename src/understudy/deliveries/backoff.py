"""How long to wait before a target is tried again, and when to give up."""

from typing import Final

# Seconds after the first try, the second, and so on: four times as long each time, an hour at most.
WAITS_S: Final = (1, 4, 16, 64, 256, 1024, 3600)
MAX_ATTEMPTS: Final = len(WAITS_S) + 1
# A target may ask for days; it is asked again all the same.
LONGEST_RETRY_AFTER_S: Final = 3600.0


def wait_ms(attempt: int, *, jitter: float, retry_after_s: float = 0.0) -> int | None:
    """Milliseconds to wait after this try, from 1; None when it was the last one.

    `jitter` is a random number from 0 to 1: half of the wait depends on it, so that many deliveries
    that failed together do not come back together.
    """
    if attempt >= MAX_ATTEMPTS:
        return None
    ours = WAITS_S[max(attempt, 1) - 1] * (0.5 + jitter / 2)
    return round(1000 * max(ours, min(retry_after_s, LONGEST_RETRY_AFTER_S)))
