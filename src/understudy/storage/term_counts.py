"""Counts that take long to make and change little, kept for a minute in this process."""

import time
from collections.abc import Callable, Hashable, Mapping
from typing import Final, Generic, TypeVar

from understudy.retrieval.rarity import COUNT_AGE_S

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MAX_KEPT: Final = 20_000


class Kept(Generic[K, V]):
    """Values by key, each for a limited time."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._values: dict[K, tuple[float, V]] = {}

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """The value, unless it is too old."""
        until, value = self._values.get(key, (0.0, None))
        return value if self._now() < until else None

    def put(self, values: Mapping[K, V]) -> None:
        """Keep values from now on."""
        if len(self._values) + len(values) > MAX_KEPT:
            self._values.clear()
        until = self._now() + COUNT_AGE_S
        self._values.update({key: (until, value) for key, value in values.items()})

    def clear(self) -> None:
        """Keep nothing."""
        self._values.clear()


class TermCounts:
    """What one process remembers of the index of terms."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        # How many entries hold a token.
        self.frequencies: Kept[bytes, int] = Kept(now)
        # How many entries a kind has, and how many terms these have together.
        self.totals: Kept[str, tuple[int, int]] = Kept(now)

    def clear(self) -> None:
        """Count everything anew."""
        self.frequencies.clear()
        self.totals.clear()
