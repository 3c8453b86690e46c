"""Callers without a valid token: one audit entry per address and minute, the rest is counted."""

from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from understudy.core.clock import Clock

MINUTE_MS: Final = 60_000
# Addresses with a counter of their own; all others share one.
MAX_ADDRESSES: Final = 1_000
OTHERS: Final = "other addresses"


@dataclass(frozen=True, slots=True)
class StrangerCounts:
    """The number of refusals of each address in the current minute."""

    clock: Clock
    _seen: dict[str, tuple[int, int]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def refused(self, address: str) -> str | None:
        """Count a refusal; return the audit detail, or None if this minute has its entry."""
        minute = self.clock.now_ms() // MINUTE_MS
        with self._lock:
            if address not in self._seen and len(self._seen) >= MAX_ADDRESSES:
                self._forget_before(minute)
            known = address in self._seen or len(self._seen) < MAX_ADDRESSES
            name = address if known else OTHERS
            last, number = self._seen.get(name, (-1, 0))
            is_new = last != minute
            self._seen[name] = (minute, 1 if is_new else number + 1)
        if not is_new:
            return None
        more = f", {number - 1} more before" if number > 1 else ""
        return f"from {name}{more}"

    def number(self, address: str) -> int:
        """The number of refusals of an address in this minute."""
        minute = self.clock.now_ms() // MINUTE_MS
        last, number = self._seen.get(address, (-1, 0))
        return number if last == minute else 0

    def _forget_before(self, minute: int) -> None:
        for address in [each for each, (last, _) in self._seen.items() if last < minute]:
            del self._seen[address]
